// SPDX-License-Identifier: Apache-2.0

// This file tests that engines keep apart.

package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gust-stream/gust/nimbus/scheduler"
	"github.com/gust-stream/gust/nimbus/scheduler/schedulertest"
)

const golang scheduler.Engine = "go"

// mixed is a topology whose last n executors run on Go.
func mixed(workers, all, n int) scheduler.Topology {
	t := scheduler.Topology{ID: "t", Workers: workers, Engines: map[scheduler.Executor]scheduler.Engine{}}
	for i := range int32(all) {
		e := scheduler.Executor{Start: i + 1, End: i + 1}
		t.Executors = append(t.Executors, e)
		if int(i) >= all-n {
			t.Engines[e] = golang
		}
	}
	return t
}

// layout says for each slot how many executors of which engine it has.
func layout(in scheduler.Topology, o scheduler.Outcome) map[string]int {
	out := map[string]int{}
	for _, p := range o.Placements {
		engine := in.Engines[p.Executor]
		if engine == "" {
			engine = "java"
		}
		out[fmt.Sprintf("%s:%d %s", p.Slot.Node, p.Slot.Port, engine)]++
	}
	return out
}

func TestEnginesShareTheWorkers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		topology scheduler.Topology
		slots    int
		want     map[string]int
		status   string
	}{
		"ByExecutors": {
			mixed(4, 8, 2), 6, map[string]int{"a:1 java": 2, "a:2 java": 2, "a:3 java": 2, "a:4 go": 2}, "Fully Scheduled",
		},
		"OneEach": {mixed(2, 9, 1), 6, map[string]int{"a:1 java": 8, "a:2 go": 1}, "Fully Scheduled"},
		"OneMoreThanAskedFor": {
			mixed(1, 4, 3), 6,
			map[string]int{"a:1 java": 1, "a:2 go": 3},
			"Fully Scheduled on one worker for each of the engines java and go, where 1 was asked for",
		},
		"OnlyGo":                {mixed(2, 4, 4), 6, map[string]int{"a:1 go": 2, "a:2 go": 2}, "Fully Scheduled"},
		"NoMoreThanAnEngineHas": {mixed(5, 6, 1), 6, map[string]int{"a:1 java": 2, "a:2 java": 1, "a:3 java": 1, "a:4 java": 1, "a:5 go": 1}, "Fully Scheduled"},
		"FewSlots": {
			mixed(4, 8, 4), 2,
			map[string]int{"a:1 java": 4, "a:2 go": 4},
			"Fully Scheduled on 2 of 4 workers, no free slot: 1 supervisors offer 2",
		},
		"OneSlot": {
			mixed(1, 4, 3), 1,
			map[string]int{"a:1 java": 1},
			"Not all executors scheduled: 1 of 4 placed on 1 of 2 workers, no free slot: 1 supervisors offer 1, " +
				"the topology takes one worker for each of the engines java and go, where 1 was asked for",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sup := scheduler.Supervisor{ID: "a", Host: "h"}
			for port := range int32(c.slots) { //nolint:gosec // a few
				sup.Ports = append(sup.Ports, port+1)
			}
			in := scheduler.Input{Supervisors: []scheduler.Supervisor{sup}, Topologies: []scheduler.Topology{c.topology}}
			out, err := scheduler.Schedule(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, layout(c.topology, out.Topologies[0])); diff != "" {
				t.Error(diff)
			}
			if got := out.Topologies[0].Status; got != c.status {
				t.Errorf("status is %q\nwant      %q", got, c.status)
			}
		})
	}
}

// A topology of before, or one whose engines were changed, has both on one slot.
func TestMixedSlotIsParted(t *testing.T) {
	t.Parallel()
	topology := mixed(1, 4, 2)
	for _, e := range topology.Executors {
		topology.Current = append(topology.Current, scheduler.Current{
			Placement: scheduler.Placement{Executor: e, Slot: scheduler.Slot{Node: "a", Port: 1}}, Alive: true,
		})
	}
	out, err := scheduler.Schedule(scheduler.Input{
		Supervisors: []scheduler.Supervisor{{ID: "a", Host: "h", Ports: []int32{1, 2}}}, Topologies: []scheduler.Topology{topology},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"a:1 java": 2, "a:2 go": 2}, layout(topology, out.Topologies[0])); diff != "" {
		t.Error(diff)
	}
}

// drawEngines gives some executors of some topologies other engines.
func drawEngines(t *rapid.T, in *scheduler.Input) {
	for i := range in.Topologies {
		topology := &in.Topologies[i]
		n := rapid.IntRange(0, 2).Draw(t, "engines")
		if n == 0 {
			continue
		}
		names := []scheduler.Engine{"", golang, "third"}[:n+1]
		topology.Engines = map[scheduler.Executor]scheduler.Engine{}
		for _, e := range topology.Executors {
			topology.Engines[e] = rapid.SampledFrom(names).Draw(t, "engine")
		}
	}
}

func generated(t *rapid.T) scheduler.Input {
	seed := rapid.Uint64().Draw(t, "seed")
	c, err := schedulertest.Generate(rand.New(rand.NewPCG(seed, 0)))
	if err != nil {
		t.Fatal(err)
	}
	return c.Input()
}

func TestEngineProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := generated(t)
		drawEngines(t, &in)
		out, err := scheduler.Schedule(in)
		if err != nil {
			t.Fatal(err)
		}
		checkSlots(t, in, out)
		checkExecutors(t, in, out)
		free := freeSlots(in, out)
		for i, o := range out.Topologies {
			checkEngines(t, in.Topologies[i], o, free)
		}
		checkSettles(t, in)
	})
}

// checkEngines: no slot has two engines, no more slots are taken than asked for or there are engines, and none of them goes
// without while a slot is free.
func checkEngines(t *rapid.T, topology scheduler.Topology, o scheduler.Outcome, free int) {
	engine := map[scheduler.Slot]scheduler.Engine{}
	slots := map[scheduler.Engine]int{}
	for _, p := range o.Placements {
		e := topology.Engines[p.Executor]
		if other, ok := engine[p.Slot]; ok && other != e {
			t.Fatalf("%s: slot %v has engines %q and %q", o.ID, p.Slot, other, e)
		} else if !ok {
			slots[e]++
		}
		engine[p.Slot] = e
	}
	wanted := map[scheduler.Engine]bool{}
	for _, e := range topology.Executors {
		wanted[topology.Engines[e]] = true
	}
	if len(wanted) > 1 && topology.Workers > 0 && len(engine) > max(topology.Workers, len(wanted)) {
		t.Fatalf("%s takes %d slots for %d workers and %d engines", o.ID, len(engine), topology.Workers, len(wanted))
	}
	for e := range wanted {
		if slots[e] == 0 && free > 0 && topology.Workers > 0 {
			t.Fatalf("%s: engine %q has no slot while %d are free: %+v", o.ID, e, free, o)
		}
	}
}

// freeSlots counts the slots that a pass left, without those that it held back.
func freeSlots(in scheduler.Input, out scheduler.Output) int {
	taken := map[scheduler.Slot]bool{}
	for i, o := range out.Topologies {
		for _, c := range in.Topologies[i].Current {
			taken[c.Slot] = taken[c.Slot] || !c.Alive
		}
		for _, p := range o.Placements {
			taken[p.Slot] = true
		}
	}
	free := 0
	for _, s := range in.Supervisors {
		ports := map[int32]bool{}
		for _, port := range s.Ports {
			if !taken[scheduler.Slot{Node: s.ID, Port: port}] {
				ports[port] = true
			}
		}
		free += len(ports)
	}
	return free
}

// checkSettles: passes over the result of passes come to rest.
func checkSettles(t *rapid.T, in scheduler.Input) {
	for range 6 {
		out, err := scheduler.Schedule(in)
		if err != nil {
			t.Fatal(err)
		}
		changed := false
		topologies := in.Topologies
		in.Topologies = nil
		for i, o := range out.Topologies {
			changed = changed || o.Changed
			next := topologies[i]
			next.Rebalance, next.Current = false, nil
			for _, p := range o.Placements {
				next.Current = append(next.Current, scheduler.Current{Placement: p, Alive: true})
			}
			in.Topologies = append(in.Topologies, next)
		}
		if !changed {
			return
		}
	}
	t.Fatal("six passes have not come to rest")
}

// Whatever the name of the only engine is, the placement is that of a topology without any.
func TestOneEngineChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := generated(t)
		want, err := scheduler.Schedule(in)
		if err != nil {
			t.Fatal(err)
		}
		for i := range in.Topologies {
			topology := &in.Topologies[i]
			topology.Engines = map[scheduler.Executor]scheduler.Engine{}
			for _, e := range topology.Executors {
				topology.Engines[e] = golang
			}
		}
		got, err := scheduler.Schedule(in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}
