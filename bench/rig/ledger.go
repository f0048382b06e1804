// SPDX-License-Identifier: Apache-2.0

// This file reads what tasks of measured topologies write down.

package rig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Ledger is what one incarnation of a task wrote.
type Ledger struct {
	File   string
	PID    int // of the worker
	Opened time.Time
	Marks  []Mark // in order of time
	Times  []Times
	Failed int // tuples
}

// Mark says how many there were by then.
type Mark struct {
	At    time.Time
	Count int64
}

// Times are how long tuples took that were acked before At and after the Times before it.
type Times struct {
	At   time.Time
	Took []time.Duration
}

// Ledgers reads what the incarnations of a component's tasks have written, in no order. Component "" is a topology that writes into
// one folder.
func (c *Cluster) Ledgers(topology, component string) ([]Ledger, error) {
	files, err := filepath.Glob(filepath.Join(c.Out(), topology, component, "*.tsv"))
	if err != nil {
		return nil, fmt.Errorf("list ledgers: %w", err)
	}
	var ledgers []Ledger
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read ledger: %w", err)
		}
		l, err := parseLedger(string(text))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		if l.PID, err = pidOf(file); err != nil {
			return nil, err
		}
		l.File = file
		ledgers = append(ledgers, l)
	}
	return ledgers, nil
}

// pidOf takes the worker's pid from a file name, TASK.PID-RANDOM.tsv.
func pidOf(file string) (int, error) {
	_, rest, _ := strings.Cut(filepath.Base(file), ".")
	pid, _, _ := strings.Cut(rest, "-")
	n, err := strconv.Atoi(pid)
	if err != nil {
		return 0, fmt.Errorf("read ledger: no pid in the name %s: %w", file, err)
	}
	return n, nil
}

// parseLedger reads lines "open NS", "acked NS COUNT", "took NS US,US,..." and "failed NS", NS being nanoseconds since 1970 and US
// microseconds; a last line without its end is one that is still being written.
func parseLedger(text string) (Ledger, error) {
	var l Ledger
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		if err := l.take(strings.Split(strings.TrimSuffix(line, "\n"), "\t")); err != nil {
			return l, fmt.Errorf("odd line %.100q: %w", line, err)
		}
	}
	return l, nil
}

func (l *Ledger) take(cells []string) error {
	if len(cells) < 2 {
		return errors.New("too short")
	}
	ns, err := strconv.ParseInt(cells[1], 10, 64)
	if err != nil {
		return err
	}
	at := time.Unix(0, ns)
	switch what := cells[0]; {
	case what == "open":
		l.Opened = at
	case what == "failed":
		l.Failed++
	case what == "acked" && len(cells) == 3:
		n, err := strconv.ParseInt(cells[2], 10, 64)
		if err != nil {
			return err
		}
		l.Marks = append(l.Marks, Mark{at, n})
	case what == "took" && len(cells) == 3:
		times := Times{At: at}
		for cell := range strings.SplitSeq(cells[2], ",") {
			n, err := strconv.ParseInt(cell, 10, 64)
			if err != nil {
				return err
			}
			times.Took = append(times.Took, time.Duration(n)*time.Microsecond)
		}
		l.Times = append(l.Times, times)
	default:
		return errors.New("not known")
	}
	return nil
}

// Rate is how many a second there were between the first and the last mark in a span of time.
func (l Ledger) Rate(from, to time.Time) (float64, error) {
	var first, last Mark
	for _, m := range l.Marks {
		if m.At.Before(from) || m.At.After(to) {
			continue
		}
		if first.At.IsZero() {
			first = m
		}
		last = m
	}
	if !last.At.After(first.At) {
		return 0, fmt.Errorf("%s has not two marks in %s", l.File, to.Sub(from))
	}
	return float64(last.Count-first.Count) / last.At.Sub(first.At).Seconds(), nil
}

// TookIn is how long the tuples of a span of time took.
func (l Ledger) TookIn(from, to time.Time) []time.Duration {
	var all []time.Duration
	for _, t := range l.Times {
		if t.At.After(from) && !t.At.After(to) {
			all = append(all, t.Took...)
		}
	}
	return all
}
