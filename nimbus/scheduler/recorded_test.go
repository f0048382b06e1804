// SPDX-License-Identifier: Apache-2.0

// This file replays Storm's recorded answers, and checks properties on generated clusters.

package scheduler_test

import (
	"bufio"
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gust-stream/gust/nimbus/scheduler"
	"github.com/gust-stream/gust/nimbus/scheduler/schedulertest"
)

// TestRecordedAnswersOfStorm reads what compat-tests/scheduler wrote with -record.
func TestRecordedAnswersOfStorm(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/storm-2.8.3.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	n := 0
	for ; sc.Scan(); n++ {
		var line struct {
			Case   schedulertest.Case
			Answer schedulertest.Answer
		}
		if err := json.Unmarshal(sc.Bytes(), &line); err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
		out, err := scheduler.Schedule(line.Case.Input())
		if err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
		if diff := cmp.Diff(line.Answer, schedulertest.AnswerOf(out)); diff != "" {
			t.Errorf("line %d, Storm -, gust +:\n%s", n+1, diff)
		}
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	if n < 50 {
		t.Errorf("only %d recorded answers", n)
	}
}

func TestProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		c, err := schedulertest.Generate(rand.New(rand.NewPCG(seed, 0)))
		if err != nil {
			t.Fatal(err)
		}
		in := c.Input()
		in.Limits = scheduler.DefaultBlacklistLimits()
		out, err := scheduler.Schedule(in)
		if err != nil {
			t.Fatal(err)
		}
		checkSlots(t, in, out)
		checkExecutors(t, in, out)
		checkStable(t, in, out)

		again, err := scheduler.Schedule(in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(out, again); diff != "" {
			t.Fatalf("the same input gave two answers:\n%s", diff)
		}
	})
}

// checkSlots: a slot has one topology, and only offered slots are newly given.
func checkSlots(t *rapid.T, in scheduler.Input, out scheduler.Output) {
	offered := map[scheduler.Slot]bool{}
	for _, s := range in.Supervisors {
		for _, p := range s.Ports {
			offered[scheduler.Slot{Node: s.ID, Port: p}] = true
		}
	}
	owner := map[scheduler.Slot]string{}
	for i, o := range out.Topologies {
		kept := map[scheduler.Placement]bool{}
		for _, c := range in.Topologies[i].Current {
			kept[c.Placement] = c.Alive && !in.Topologies[i].Rebalance
		}
		used := map[scheduler.Slot]bool{}
		for _, p := range o.Placements {
			used[p.Slot] = true
			if !offered[p.Slot] && !kept[p] {
				t.Fatalf("%s: %v is on a slot that nobody offers", o.ID, p)
			}
		}
		for s := range used {
			if other, taken := owner[s]; taken {
				t.Fatalf("%s and %s share slot %v", o.ID, other, s)
			}
			owner[s] = o.ID
		}
		if o.Workers != len(used) {
			t.Fatalf("%s: Workers is %d, slots in use are %d", o.ID, o.Workers, len(used))
		}
	}
}

// checkExecutors: each wanted executor is placed once or reported as unplaced, no other is.
func checkExecutors(t *rapid.T, in scheduler.Input, out scheduler.Output) {
	for i, o := range out.Topologies {
		seen := map[scheduler.Executor]bool{}
		for _, p := range o.Placements {
			if seen[p.Executor] {
				t.Fatalf("%s: executor %v is placed twice", o.ID, p.Executor)
			}
			seen[p.Executor] = true
		}
		for _, e := range o.Unplaced {
			if seen[e] {
				t.Fatalf("%s: executor %v is placed and unplaced", o.ID, e)
			}
			seen[e] = true
		}
		for _, e := range in.Topologies[i].Executors {
			if !seen[e] {
				t.Fatalf("%s: executor %v is lost", o.ID, e)
			}
			delete(seen, e)
		}
		if len(seen) > 0 {
			t.Fatalf("%s: unknown executors %v", o.ID, seen)
		}
	}
}

// checkStable: a topology that has all it asked for is untouched, and a second
// pass over the result changes nothing unless held-back slots came free.
func checkStable(t *rapid.T, in scheduler.Input, out scheduler.Output) {
	held := false
	next := in
	next.Now++
	next.Blacklist = out.Blacklist
	next.Topologies = nil
	for i, o := range out.Topologies {
		was := in.Topologies[i]
		slots := map[scheduler.Slot]bool{}
		alive := 0
		for _, c := range was.Current {
			held = held || !c.Alive
			if c.Alive {
				alive++
				slots[c.Slot] = true
			}
		}
		if !was.Rebalance && alive == len(was.Executors) && alive == len(was.Current) && len(slots) >= was.Workers && o.Changed {
			t.Fatalf("%s had all it asked for and was changed", o.ID)
		}
		topo := scheduler.Topology{ID: was.ID, Workers: was.Workers, Executors: was.Executors}
		for _, p := range o.Placements {
			topo.Current = append(topo.Current, scheduler.Current{Placement: p, Alive: true})
		}
		next.Topologies = append(next.Topologies, topo)
	}
	if held {
		return
	}
	second, err := scheduler.Schedule(next)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range second.Topologies {
		if o.Changed && len(out.Topologies[i].Unplaced) == 0 && out.Topologies[i].Workers >= in.Topologies[i].Workers {
			t.Fatalf("%s was complete after the first pass and was changed by the second", o.ID)
		}
	}
}
