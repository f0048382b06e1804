// SPDX-License-Identifier: Apache-2.0

// This file has the rows about the state table: gust's beside Go's map, Java's HashMap and Storm's InMemoryKeyValueState.

package measure

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gust-stream/gust/bench/report"
	"github.com/gust-stream/gust/bench/rig"
)

// How many entries the rows are about.
const (
	leastEntries  = 1_000_000
	mostEntries   = 16_000_000
	speedEntries  = 4_000_000
	memoryEntries = 1_000_000
)

func stateTable() Group {
	size := func(id, title, series, stock, beside string, most float64, target string) report.Row {
		return report.Row{
			ID: id, Title: title, Stock: series + stock, Gust: series + "gust", Beside: beside, Unit: report.PerEntry, Alone: true,
			Factor: most, Target: target,
		}
	}
	const numbers, strings, words = "8-byte keys and values, 1 to 16 million, worst at any fill", "16-byte string keys, 8-byte values, likewise",
		"words of 8 bytes with counters, likewise"
	rows := []report.Row{
		size("state-numbers", numbers, "state-numbers ", "java", "Java HashMap", 22, "at most 22 B"),
		size("state-numbers-go", numbers, "state-numbers ", "go", "Go map", 22, "at most 22 B"),
		size("state-strings", strings, "state-strings ", "java", "Java HashMap", 32, "at most 32 B"),
		size("state-strings-go", strings, "state-strings ", "go", "Go map", 32, "at most 32 B"),
		size("state-words", words+", as bytes", "state-words ", "java", "Java HashMap", 14, "at most 14 B"),
		size("state-words-kryo", words+", in Kryo's coding, as a Java bolt gives them", "state-words-kryo ", "", "", 17, "at most 17 B"),
		{
			ID: "state-in-memory", Title: "1 million keys of 8 to 24 characters, Long values in Kryo's coding: the table beside InMemoryKeyValueState after a commit",
			Stock: "state-in-memory stock", Gust: "state-in-memory gust", Unit: report.PerEntry, Factor: 0.25, Target: "at most 1/4",
		},
		{
			ID: "state-deleted", Title: "the table after 90 % of 4 million 8-byte keys were deleted, beside its peak",
			Stock: "state-deleted peak", Gust: "state-deleted left", Beside: "peak", Unit: report.Bytes, Factor: 0.2, Target: "at most 20 %",
		},
	}
	rows[5].Stock = ""
	for _, kind := range []struct {
		id, title  string
		slow, fast float64
	}{{"numbers", "map[uint64]uint64, 4 million", 0.4, 0.7}, {"strings", "map[string]uint64, 4 million keys of 16 bytes", 1, 1}} {
		for _, o := range []string{"get", "update", "insert"} {
			factor := kind.fast
			if o == "insert" {
				factor = kind.slow
			}
			rows = append(rows, report.Row{
				ID: "state-" + kind.id + "-" + o, Title: o + " beside Go's " + kind.title, Stock: "state-" + kind.id + "-" + o + " go",
				Gust: "state-" + kind.id + "-" + o + " gust", Beside: "Go map", Unit: report.PerSecond, Factor: factor,
				Target: fmt.Sprintf("at least %.1f", factor),
			})
		}
		for _, o := range []struct{ id, as, title string }{
			{"chained", "chained", "get that depends on the one before"},
			{"read", "get", "get by a reader, as in other processes"},
			{"read-chained", "chained", "the same, depending on the one before"},
		} {
			rows = append(rows, report.Row{
				ID: "state-" + kind.id + "-" + o.id, Title: o.title + ", beside Go's " + kind.title, Stock: "state-" + kind.id + "-" + o.as + " go",
				Gust: "state-" + kind.id + "-" + o.id + " gust", Beside: "Go map", Unit: report.PerSecond, Factor: kind.fast,
				Target: fmt.Sprintf("at least %.1f", kind.fast),
			})
		}
	}
	rows = append(rows, report.Row{
		ID: "state-pause-p999", Title: "inserts while the table grows to 4 million 8-byte keys, p99.9", Gust: "state-pause p999", Unit: report.Seconds,
		Factor: 100e-6, Target: "under 0.1 ms",
	}, report.Row{
		ID: "state-pause-longest", Title: "the longest of them, processor time", Gust: "state-pause longest", Unit: report.Seconds,
		Factor: 1e-3, Target: "under 1 ms",
	}, report.Row{
		ID: "state-prepare", Title: "prepare of 10,000 dirty keys of 1 million in the server's store, without copies", Gust: "state-commits prepare",
		Unit: report.Seconds, Factor: 5e-3, Target: "under 5 ms",
	}, report.Row{
		ID: "state-commit", Title: "their commit", Gust: "state-commits commit", Unit: report.Seconds, Factor: 1e-3, Target: "under 1 ms",
	})
	return Group{ID: "state-table", Name: "the state table", Rows: rows, Measure: measureStateTable}
}

// wantsAny tells whether one of these rows is asked for.
func (r *Run) wantsAny(ids ...string) bool {
	for _, id := range ids {
		if r.Wanted[id] {
			return true
		}
	}
	return false
}

func measureStateTable(ctx context.Context, r *Run) error {
	programs, err := r.Site.NewStatePrograms(ctx)
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context, *Run, *rig.StatePrograms) error{stateSizes, stateInMemory, stateDeleted, stateSpeed, statePauses, stateCommits} {
		if err := step(ctx, r, programs); err != nil {
			return err
		}
	}
	return nil
}

// stateSizes takes the worst bytes of an entry at each sixteenth of growth. That is a matter of counting, so once is enough.
func stateSizes(ctx context.Context, r *Run, p *rig.StatePrograms) error {
	for _, of := range []struct{ load, goMap, java string }{
		{"numbers", "go-numbers", "numbers"}, {"strings", "go-strings", "strings"}, {"words", "", "words"}, {"words-kryo", "", ""},
	} {
		row := "state-" + of.load
		if !r.wantsAny(row, row+"-go") {
			continue
		}
		growth := []string{"--load", of.load, "--what", "sizes", "--from", fmt.Sprint(leastEntries), "--entries", fmt.Sprint(mostEntries)}
		sides := []struct {
			name string
			run  func() ([]rig.Figure, error)
		}{{"gust", func() ([]rig.Figure, error) { return p.Go(ctx, append(growth, "--in", "gust")...) }}}
		if of.goMap != "" {
			sides = append(sides, struct {
				name string
				run  func() ([]rig.Figure, error)
			}{"go", func() ([]rig.Figure, error) { return p.Go(ctx, append(growth, "--in", of.goMap)...) }})
		}
		if of.java != "" {
			sides = append(sides, struct {
				name string
				run  func() ([]rig.Figure, error)
			}{"java", func() ([]rig.Figure, error) {
				return p.Java(ctx, "4g", of.java, fmt.Sprint(leastEntries), fmt.Sprint(mostEntries))
			}})
		}
		for _, side := range sides {
			if err := r.stateSize(row, side.name, side.run); err != nil {
				return err
			}
		}
	}
	return nil
}

// stateSize runs one side of a load and keeps its curve.
func (r *Run) stateSize(row, side string, run func() ([]rig.Figure, error)) error {
	var figures []rig.Figure
	if err := r.Lock.Hold(context.Background(), func() (err error) {
		figures, err = run()
		return err
	}); err != nil {
		return fmt.Errorf("%s of %s: %w", row, side, err)
	}
	curve, worst := report.Curve{Name: row[len("state-"):] + ", " + sideTitles[side]}, 0.0
	for _, f := range figures {
		if f.Name == "bytes" {
			each := f.Value / float64(f.Entries)
			worst = max(worst, each)
			curve.Points = append(curve.Points, [2]float64{float64(f.Entries) / 1e6, each})
		}
	}
	if len(curve.Points) == 0 {
		return fmt.Errorf("%s of %s: no figures", row, side)
	}
	r.Samples.Add(row+" "+side, worst)
	r.Curves = append(r.Curves, curve)
	r.Say("%s: %s: at most %.1f bytes an entry", row, side, worst)
	return nil
}

// sideTitles are names for the plot.
var sideTitles = map[string]string{"gust": "gust", "go": "Go map", "java": "Java HashMap"}

// value is the figure of a name, or an error.
func value(figures []rig.Figure, name string) (float64, error) {
	for _, f := range figures {
		if f.Name == name {
			return f.Value, nil
		}
	}
	return 0, fmt.Errorf("no figure %q", name)
}

// stateInMemory compares with the state that Storm has without Redis.
func stateInMemory(ctx context.Context, r *Run, p *rig.StatePrograms) error {
	if !r.Wanted["state-in-memory"] {
		return nil
	}
	return r.Lock.Hold(ctx, func() error {
		entries := fmt.Sprint(memoryEntries)
		gust, err := p.Go(ctx, "--load", "texts-kryo", "--what", "sizes", "--from", entries, "--entries", entries)
		if err != nil {
			return err
		}
		stock, err := p.Java(ctx, "1g", "in-memory", "0", entries, filepath.Join(r.Site.Stock, "lib-worker", "*"))
		if err != nil {
			return err
		}
		ours, err := value(gust, "bytes")
		if err != nil {
			return err
		}
		theirs, err := value(stock, "committed bytes")
		if err != nil {
			return err
		}
		before, err := value(stock, "put bytes")
		if err != nil {
			return err
		}
		resident, err := value(stock, "committed pss")
		if err != nil {
			return err
		}
		r.Samples.Add("state-in-memory stock", theirs/memoryEntries)
		r.Samples.Add("state-in-memory gust", ours/memoryEntries)
		r.note("state-in-memory", "InMemoryKeyValueState took %.0f bytes a key before the commit; its figures are heap in use after a collection, the JVM's "+
			"PSS grew by %.0f bytes a key. The table's are PSS and all of the arena; the worker that uses it is not counted", before/memoryEntries, resident/memoryEntries)
		r.Say("state-in-memory: stock %.1f, gust %.1f bytes a key", theirs/memoryEntries, ours/memoryEntries)
		return nil
	})
}

func stateDeleted(ctx context.Context, r *Run, p *rig.StatePrograms) error {
	if !r.Wanted["state-deleted"] {
		return nil
	}
	return r.Lock.Hold(ctx, func() error {
		figures, err := p.Go(ctx, "--what", "deletes", "--entries", fmt.Sprint(speedEntries))
		if err != nil {
			return err
		}
		for _, name := range []string{"peak", "left"} {
			v, err := value(figures, name)
			if err != nil {
				return err
			}
			r.Samples.Add("state-deleted "+name, v)
			r.Say("state-deleted: %s %.1f MB", name, v/1e6)
		}
		return nil
	})
}

// stateSpeed compares operations, the two sides in turns.
func stateSpeed(ctx context.Context, r *Run, p *rig.StatePrograms) error {
	for _, load := range []string{"numbers", "strings"} {
		row := "state-" + load + "-"
		if !r.wantsAny(row+"get", row+"update", row+"insert", row+"chained", row+"read", row+"read-chained") {
			continue
		}
		for rep := range r.Reps {
			for _, side := range []struct{ name, in string }{{"go", "go-" + load}, {"gust", "gust"}} {
				if err := r.Lock.Hold(ctx, func() error {
					figures, err := p.Go(ctx, "--load", load, "--in", side.in, "--entries", fmt.Sprint(speedEntries))
					for _, f := range figures {
						r.Samples.Add(row+f.Name+" "+side.name, f.Value)
						r.Say("run %d: %s%s: %s: %.2f million/s", rep+1, row, f.Name, side.name, f.Value/1e6)
					}
					return err
				}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// stateCommits times checkpoints; each is a sample. The journal is where the bench writes: on a disk, one should hope.
func stateCommits(ctx context.Context, r *Run, p *rig.StatePrograms) error {
	if !r.wantsAny("state-prepare", "state-commit") {
		return nil
	}
	return r.Lock.Hold(ctx, func() error {
		dir := filepath.Join(r.Site.Dir, "journal")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make a folder: %w", err)
		}
		figures, err := p.Go(ctx, "--what", "commits", "--entries", fmt.Sprint(memoryEntries), "--dir", dir)
		for _, f := range figures {
			r.Samples.Add("state-commits "+f.Name, f.Value)
		}
		for _, name := range []string{"prepare", "commit"} {
			r.Say("%s of 10,000 keys: median %.2f ms", name, report.Median(r.Samples["state-commits "+name])*1000)
		}
		return err
	})
}

func statePauses(ctx context.Context, r *Run, p *rig.StatePrograms) error {
	if !r.wantsAny("state-pause-p999", "state-pause-longest") {
		return nil
	}
	for rep := range r.Reps {
		if err := r.Lock.Hold(ctx, func() error {
			figures, err := p.Go(ctx, "--what", "pauses", "--entries", fmt.Sprint(speedEntries))
			for _, f := range figures {
				r.Samples.Add("state-pause "+f.Name, f.Value)
				r.Say("run %d: pause %s: %.0f us", rep+1, f.Name, f.Value*1e6)
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
