// SPDX-License-Identifier: Apache-2.0

// This file reads the command line and runs the groups of rows.

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/gust-stream/gust/bench/measure"
	"github.com/gust-stream/gust/bench/report"
	"github.com/gust-stream/gust/bench/rig"
)

func main() { os.Exit(execute(os.Args[1:])) }

type options struct {
	rows string
	reps int
	long int
	work int
	warm time.Duration
	prof time.Duration
	pend int
	json string
	plot string
	dir  string
	lock string
	side string
	keep bool
	list bool
}

func execute(args []string) int {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.rows, "rows", "", "comma-separated rows or groups of them (--list names both); default all")
	flags.IntVar(&o.reps, "reps", 5, "repetitions of each row on each side")
	flags.IntVar(&o.long, "long-reps", 1, "repetitions of the rows that wait for minutes on stock Storm")
	flags.IntVar(&o.work, "worker-reps", 3, "repetitions of the rows about what workers do, some ten minutes each")
	flags.DurationVar(&o.warm, "warm-up", 20*time.Second, "how long a worker works before it is measured")
	flags.IntVar(&o.pend, "pending", 0, "another topology.max.spout.pending where the rows set one, below 0 none; for tries")
	flags.DurationVar(&o.prof, "profile", 0, "profile gust's workers so long, into .pprof files beside what they write; with --keep")
	flags.StringVar(&o.json, "json", "", "also write every sample to this file, as JSON")
	flags.StringVar(&o.plot, "plot", "", "also draw the bytes of an entry over growth into this file, as SVG (group state-table)")
	flags.StringVar(&o.dir, "dir", "", "folder for all that is written (default a temporary one)")
	flags.StringVar(&o.lock, "lock", "", "hold flock(2) on this file while something is measured, for machines that others use too")
	flags.StringVar(&o.side, "side", "", "measure only this side, stock or gust; for a look at what is slow, since nothing is compared then")
	flags.BoolVar(&o.keep, "keep", false, "keep the folder")
	flags.BoolVar(&o.list, "list", false, "list the rows and end")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

func run(ctx context.Context, o options, out, progress io.Writer) error {
	groups := measure.Groups()
	if o.list {
		for _, g := range groups {
			fmt.Fprintf(out, "%s: %s\n", g.ID, g.Name)
			for _, row := range g.Rows {
				fmt.Fprintf(out, "  %-20s %s (%s)\n", row.ID, row.Title, row.Target)
			}
		}
		return nil
	}
	if o.side != "" && o.side != "stock" && o.side != "gust" {
		return fmt.Errorf("--side takes stock or gust, not %q", o.side)
	}
	wanted, err := choose(groups, o.rows)
	if err != nil {
		return err
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "gust-bench-"); err != nil {
			return fmt.Errorf("make a folder: %w", err)
		}
		if !o.keep {
			defer func() { _ = os.RemoveAll(o.dir) }() // a rest in the temporary folder harms nobody
		}
	}
	lock, err := measure.OpenLock(o.lock)
	if err != nil {
		return err
	}
	began := time.Now()
	m := &measure.Run{
		Wanted: wanted, Reps: o.reps, LongReps: o.long, WorkerReps: o.work, WarmUp: o.warm, Profile: o.prof, Pending: o.pend,
		Side: o.side, Lock: lock, Samples: report.Samples{},
		Say: func(format string, args ...any) {
			fmt.Fprintf(progress, "%7.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
		},
	}
	if err := lock.Hold(ctx, func() (err error) {
		m.Site, err = rig.NewSite(ctx, o.dir)
		return err
	}); err != nil {
		return err
	}
	machine := report.Describe(ctx, m.Site)
	var faults []error
	for _, g := range groups {
		if !m.Wants(g) {
			continue
		}
		m.Say("%s", g.Name)
		if err := g.Measure(ctx, m); err != nil {
			// The other groups are still worth their time.
			m.Say("%s: %v", g.Name, err)
			faults = append(faults, fmt.Errorf("%s: %w", g.Name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	r := report.New(machine, m.Rows(groups), m.Samples, m.Notes, time.Since(began))
	if err := r.Markdown(out); err != nil {
		return err
	}
	if o.plot != "" {
		faults = append(faults, report.WritePlot(o.plot, "Memory of keyed state while it grows", "million entries", "bytes an entry", m.Curves))
	}
	if o.json != "" {
		faults = append(faults, r.WriteJSON(o.json))
	}
	return errors.Join(faults...)
}

// choose gives the ids of the rows that are asked for, by their own ids or by their group's. Where a row and a group share one it is
// the row.
func choose(groups []measure.Group, list string) (map[string]bool, error) {
	wanted, members := map[string]bool{}, map[string][]string{}
	var known []string
	for _, g := range groups {
		for _, row := range g.Rows {
			members[g.ID] = append(members[g.ID], row.ID)
		}
	}
	for _, g := range groups {
		for _, row := range g.Rows {
			known = append(known, row.ID)
			wanted[row.ID] = list == ""
			members[row.ID] = []string{row.ID}
		}
	}
	if list == "" {
		return wanted, nil
	}
	for id := range strings.SplitSeq(list, ",") {
		if members[id] == nil {
			return nil, fmt.Errorf("no row %q; there are %s", id, strings.Join(known, ", "))
		}
		for _, row := range members[id] {
			wanted[row] = true
		}
	}
	return wanted, nil
}
