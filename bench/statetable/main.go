// SPDX-License-Identifier: Apache-2.0

// This file reads the command line and does what is asked for.

package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "statetable:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	implementation := flag.String("in", "gust", "gust, go-numbers or go-strings")
	name := flag.String("load", "numbers", "numbers, strings, words, words-kryo or texts-kryo")
	what := flag.String("what", "speed", "sizes, deletes, speed, pauses or commits")
	dir := flag.String("dir", ".", "commits: a folder on the disk for the journal")
	from := flag.Uint64("from", 1_000_000, "sizes: the first number of entries")
	entries := flag.Uint64("entries", 4_000_000, "entries in the end")
	profile := flag.String("profile", "", "write a processor profile to this file")
	flag.Parse()
	if *profile != "" {
		file, err := os.Create(*profile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	if *what == "commits" {
		return commits(*dir, *entries)
	}
	l, err := newLoad(*name)
	if err != nil {
		return err
	}
	h, err := newHolder(*implementation, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	switch *what {
	case "sizes":
		return sizes(h, *from, *entries)
	case "deletes":
		return deletes(h, *entries)
	case "speed":
		return speed(h, *entries)
	case "pauses":
		return pauses(h, *entries)
	}
	return fmt.Errorf("cannot measure %q", *what)
}

// figure is a line of output.
type figure struct {
	Name    string  `json:"name"`
	Entries uint64  `json:"entries"`
	Value   float64 `json:"value"`
}

func show(name string, entries uint64, value float64) error {
	return json.NewEncoder(os.Stdout).Encode(figure{name, entries, value})
}

// sizes shows the bytes at each sixteenth of growth.
func sizes(h holder, from, to uint64) error {
	before, err := memory(h)
	if err != nil {
		return err
	}
	next := from
	for i := range to {
		if err := h.put(i); err != nil {
			return err
		}
		if i+1 != next && i+1 != to {
			continue
		}
		now, err := memory(h)
		if err != nil {
			return err
		}
		if err := show("bytes", i+1, float64(now-before)); err != nil {
			return err
		}
		next += next / 16
	}
	return nil
}

// deletes shows the bytes of all entries, and of the tenth that is left in the end.
func deletes(h holder, entries uint64) error {
	before, err := memory(h)
	if err != nil {
		return err
	}
	for i := range entries {
		if err := h.put(i); err != nil {
			return err
		}
	}
	peak, err := memory(h)
	if err != nil {
		return err
	}
	for i := range entries {
		if i%10 == 0 {
			continue
		}
		if err := h.remove(i); err != nil {
			return err
		}
	}
	left, err := memory(h)
	if err != nil {
		return err
	}
	for i := range entries {
		if _, found, err := h.get(i); err != nil || found != (i%10 == 0) {
			return fmt.Errorf("entry %d: found: %t, %w", i, found, err)
		}
	}
	return errors.Join(show("peak", entries, float64(peak-before)), show("left", entries/10, float64(left-before)))
}

// speed shows operations a second: inserts, then updates and gets of keys in no order. Values are numbers.
func speed(h holder, entries uint64) error {
	began := time.Now()
	for i := range entries {
		if err := h.put(i); err != nil {
			return err
		}
	}
	if err := show("insert", entries, float64(entries)/time.Since(began).Seconds()); err != nil {
		return err
	}
	operations := []operation{
		{"update", func(i uint64) (uint64, bool, error) { return i, true, h.put(i) }, false},
		{"get", h.get, false},
		{"chained", h.get, true},
	}
	if g, ok := h.(*gust); ok {
		operations = append(operations, operation{"read", g.read, false}, operation{"read-chained", g.read, true})
	}
	for _, o := range operations {
		rate, err := o.inNoOrder(entries)
		if err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		if err := show(o.name, entries, rate); err != nil {
			return err
		}
	}
	return nil
}

// operation is something that is done with entries whose value is their number.
type operation struct {
	name string
	do   func(i uint64) (value uint64, found bool, err error)
	// chained operations depend on the one before, so that the processor cannot begin several at once.
	chained bool
}

// times is how often an operation is done.
const times = 4_000_000

// inNoOrder does it with random entries, and says how many times a second.
func (o operation) inNoOrder(entries uint64) (float64, error) {
	do := o.apart
	if o.chained {
		do = o.chain
	}
	began := time.Now()
	err := do(entries)
	return times / time.Since(began).Seconds(), err
}

// apart and chain are two loops, since the compiler makes a dependency of a choice within one.
func (o operation) apart(entries uint64) error {
	x := uint32(1)
	for range times {
		x = x*1664525 + 1013904223
		i := uint64(x) * entries >> 32
		if v, found, err := o.do(i); err != nil || !found || v != i {
			return o.lost(i, v, err)
		}
	}
	return nil
}

func (o operation) chain(entries uint64) error {
	x, link := uint32(1), uint64(0)
	for range times {
		x = x*1664525 + 1013904223
		i := uint64(x)*entries>>32 + link
		v, found, err := o.do(i)
		if err != nil || !found || v != i {
			return o.lost(i, v, err)
		}
		link = v >> 40 // 0, which the processor does not know
	}
	return nil
}

func (o operation) lost(i, v uint64, err error) error {
	return fmt.Errorf("entry %d is not found, or is %d: %w", i, v, err)
}

// pauses shows how long inserts take while the table grows from nothing: the 99.9th percentile by the clock, the longest by processor time.
func pauses(h holder, entries uint64) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	took := make([]int32, entries)
	var longest int64
	for i := range entries {
		cpu, began := threadTime(), time.Now()
		if err := h.put(i); err != nil {
			return err
		}
		took[i] = int32(min(time.Since(began), time.Second))
		longest = max(longest, threadTime()-cpu)
	}
	slices.Sort(took)
	return errors.Join(
		show("p999", entries, float64(took[entries-1-entries/1000])/1e9),
		show("longest", entries, float64(longest)/1e9),
		show("longest by the clock", entries, float64(took[entries-1])/1e9),
	)
}

// threadTime is the processor time of this thread.
func threadTime() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return t.Nano()
}
