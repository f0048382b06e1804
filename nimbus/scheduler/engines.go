// SPDX-License-Identifier: Apache-2.0

// This file keeps executors of different engines on different slots: a worker
// is one process, and that is a JVM or it is not.

package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Engine names what a worker is; "" is Java.
type Engine string

// split gives the executors of each engine, the engines in the order of their names.
func split(executors []Executor, engines map[Executor]Engine) ([]Engine, [][]Executor) {
	by := map[Engine][]Executor{}
	for _, e := range executors {
		by[engines[e]] = append(by[engines[e]], e)
	}
	names := slices.Sorted(maps.Keys(by))
	groups := make([][]Executor, len(names))
	for i, name := range names {
		groups[i] = by[name]
	}
	return names, groups
}

// shares divides a topology's workers among its engines by their numbers of
// executors, with at least one for each, though that be more than it asked for,
// and no more than an engine can fill. The result depends on nothing else, so
// it stays the same from pass to pass.
func shares(workers int, groups [][]Executor) []int {
	out := make([]int, len(groups))
	if workers <= 0 {
		return out
	}
	for i := range out {
		out[i] = 1
	}
	for left := workers - len(groups); left > 0; left-- {
		// The next worker goes where the workers are fullest.
		best := -1
		for i := range groups {
			if out[i] < len(groups[i]) && (best < 0 || len(groups[i])*out[best] > len(groups[best])*out[i]) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		out[best]++
	}
	return out
}

// spare is how many of the free slots topology i may take: it leaves one to each
// later engine of its topology that has none yet, but one it always may have.
func (p *pass) spare(i int32) int {
	w := &p.topologies[i]
	others := 0
	for k := i + 1; k < w.last; k++ {
		if o := &p.topologies[k]; len(o.used) == 0 && o.unplaced > 0 {
			others++
		}
	}
	if len(w.used) == 0 {
		others = min(others, max(p.free-1, 0))
	}
	return max(p.free-others, 0)
}

// releaseAll takes a topology off all of its slots.
func (p *pass) releaseAll(w *wish) {
	drop := make(map[slotRef]bool, len(w.used))
	for _, s := range w.used {
		drop[s] = true
	}
	p.release(w, drop)
}

// needs says what a topology needs beyond the workers that it asked for, or "".
func (a *asked) needs() string {
	if a.workers <= 0 || len(a.engines) <= a.workers {
		return ""
	}
	names := make([]string, len(a.engines))
	for i, e := range a.engines {
		if names[i] = string(e); e == "" {
			names[i] = "java"
		}
	}
	return fmt.Sprintf("one worker for each of the engines %s, where %d was asked for", strings.Join(names, " and "), a.workers)
}
