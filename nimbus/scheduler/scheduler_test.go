// SPDX-License-Identifier: Apache-2.0

// This file tests single rules of a pass, and measures it.

package scheduler

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func executors(n int) []Executor {
	out := make([]Executor, n)
	for i := range out {
		out[i] = Executor{int32(i + 1), int32(i + 1)}
	}
	return out
}

func supervisor(id, host string, ports ...int32) Supervisor {
	return Supervisor{ID: id, Host: host, Ports: ports}
}

func mustSchedule(tb testing.TB, in Input) Output {
	tb.Helper()
	out, err := Schedule(in)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// keep makes an outcome the current assignment of its topology.
func keep(topo *Topology, o Outcome) {
	topo.Current = nil
	for _, p := range o.Placements {
		topo.Current = append(topo.Current, Current{Placement: p, Alive: true})
	}
}

// perSlot counts executors by "node:port".
func perSlot(o Outcome) map[string]int {
	out := map[string]int{}
	for _, p := range o.Placements {
		out[fmt.Sprintf("%s:%d", p.Slot.Node, p.Slot.Port)]++
	}
	return out
}

func TestSpreadsOverEmptiestNodesFirst(t *testing.T) {
	t.Parallel()
	in := Input{
		Supervisors: []Supervisor{
			supervisor("a", "h1", 6701, 6700), supervisor("c", "h3", 6700, 6701, 6702), supervisor("b", "h2", 6700),
		},
		Topologies: []Topology{{ID: "t", Workers: 3, Executors: executors(28)}},
	}
	out := mustSchedule(t, in)
	want := map[string]int{"c:6700": 10, "a:6700": 9, "b:6700": 9}
	if diff := cmp.Diff(want, perSlot(out.Topologies[0])); diff != "" {
		t.Error(diff)
	}
	if s := out.Topologies[0].Status; s != "Fully Scheduled" {
		t.Errorf("status is %q", s)
	}
}

func TestStatusSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	dead := Current{Placement: Placement{Executor{1, 1}, Slot{"a", 6700}}}
	tests := map[string]struct {
		in   Input
		want string
	}{
		"NoSupervisor": {
			Input{Topologies: []Topology{{ID: "t", Workers: 2, Executors: executors(3)}}},
			"Not all executors scheduled: 0 of 3 placed on 0 of 2 workers, no free slot: 0 supervisors offer 0",
		},
		"FewerSlotsThanWorkers": {
			Input{Supervisors: []Supervisor{supervisor("a", "h", 1)}, Topologies: []Topology{{ID: "t", Workers: 2, Executors: executors(3)}}},
			"Fully Scheduled on 1 of 2 workers, no free slot: 1 supervisors offer 1",
		},
		"DeadSlotHeldBack": {
			Input{
				Supervisors: []Supervisor{supervisor("a", "h", 6700)},
				Topologies:  []Topology{{ID: "t", Workers: 1, Executors: executors(1), Current: []Current{dead}}},
			},
			"Not all executors scheduled: 0 of 1 placed on 0 of 1 workers, no free slot: 1 supervisors offer 1, 1 held back because a worker died there",
		},
		"NoWorkerAskedFor": {
			Input{Supervisors: []Supervisor{supervisor("a", "h", 1)}, Topologies: []Topology{{ID: "t", Executors: executors(1)}}},
			"Not all executors scheduled: 0 of 1 placed on 0 of 0 workers, the topology asks for 0 workers",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := mustSchedule(t, tc.in).Topologies[0].Status; got != tc.want {
				t.Errorf("status is %q\nwant      %q", got, tc.want)
			}
		})
	}
}

func TestDeadSlotComesBackInNextPass(t *testing.T) {
	t.Parallel()
	in := Input{
		Supervisors: []Supervisor{supervisor("a", "h", 6700)},
		Topologies: []Topology{{
			ID: "t", Workers: 1, Executors: executors(1),
			Current: []Current{{Placement: Placement{Executor{1, 1}, Slot{"a", 6700}}}},
		}},
	}
	out := mustSchedule(t, in)
	if !out.Again || !out.Topologies[0].Changed {
		t.Fatalf("Again %v, Changed %v, want both: %+v", out.Again, out.Topologies[0].Changed, out)
	}
	keep(&in.Topologies[0], out.Topologies[0])
	out = mustSchedule(t, in)
	if out.Again || len(out.Topologies[0].Placements) != 1 {
		t.Errorf("second pass: %+v", out)
	}
}

func TestRebalanceUsesItsOwnSlotsAtOnce(t *testing.T) {
	t.Parallel()
	in := Input{
		Supervisors: []Supervisor{supervisor("a", "h", 6700, 6701)},
		Topologies:  []Topology{{ID: "t", Workers: 2, Executors: executors(4)}},
	}
	keep(&in.Topologies[0], mustSchedule(t, in).Topologies[0])
	in.Topologies[0].Rebalance = true
	in.Topologies[0].Workers = 1
	out := mustSchedule(t, in)
	if diff := cmp.Diff(map[string]int{"a:6700": 4}, perSlot(out.Topologies[0])); diff != "" {
		t.Error(diff)
	}
}

func TestTwoTopologiesOnOneSlotAreParted(t *testing.T) {
	t.Parallel()
	at := Current{Placement: Placement{Executor{1, 1}, Slot{"a", 6700}}, Alive: true}
	out := mustSchedule(t, Input{
		Supervisors: []Supervisor{supervisor("a", "h", 6700, 6701)},
		Topologies: []Topology{
			{ID: "t1", Workers: 1, Executors: executors(1), Current: []Current{at}},
			{ID: "t2", Workers: 1, Executors: executors(1), Current: []Current{at}},
		},
	})
	if out.Topologies[0].Changed || out.Topologies[1].Placements[0].Slot.Port != 6701 {
		t.Errorf("%+v", out.Topologies)
	}
}

func TestMoreSlotsThanAskedForIsNoFault(t *testing.T) {
	t.Parallel()
	topo := Topology{ID: "t", Workers: 1, Executors: executors(3)}
	for i := range int32(2) {
		topo.Current = append(topo.Current, Current{Placement: Placement{Executor{i + 1, i + 1}, Slot{"a", 6700 + i}}, Alive: true})
	}
	out := mustSchedule(t, Input{Kind: Even, Supervisors: []Supervisor{supervisor("a", "h", 6700, 6701, 6702)}, Topologies: []Topology{topo}})
	if len(out.Topologies[0].Unplaced) != 1 {
		t.Errorf("%+v", out.Topologies[0])
	}
}

func TestNamesTwice(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]Input{
		"Supervisor": {Supervisors: []Supervisor{supervisor("a", "h"), supervisor("a", "h")}},
		"Topology":   {Topologies: []Topology{{ID: "a"}, {ID: "a"}}},
	} {
		if _, err := Schedule(in); !errors.Is(err, ErrDuplicate) || !strings.Contains(err.Error(), `"a"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParseKind(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Kind{
		"": Default, "org.apache.storm.scheduler.DefaultScheduler": Default, "org.apache.storm.scheduler.EvenScheduler": Even,
	} {
		if got, err := ParseKind(name); err != nil || got != want {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
	_, err := ParseKind("org.apache.storm.scheduler.resource.ResourceAwareScheduler")
	want := `storm.scheduler: "org.apache.storm.scheduler.resource.ResourceAwareScheduler" is not supported; ` +
		`known are org.apache.storm.scheduler.DefaultScheduler, org.apache.storm.scheduler.EvenScheduler`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// big is the cluster of the project's speed target: 1,000 supervisors with four
// slots each, 300 topologies with 40 executors each.
func big() Input {
	in := Input{Limits: DefaultBlacklistLimits()}
	for i := range 1000 {
		id := fmt.Sprintf("%08x-4b1c-4a7e-9f0e-0242ac11%04x-10.0.%d.%d", i*2654435761%4294967296, i, i/250, i%250)
		in.Supervisors = append(in.Supervisors, supervisor(id, id, 6700, 6701, 6702, 6703))
	}
	for i := range 300 {
		in.Topologies = append(in.Topologies, Topology{ID: fmt.Sprintf("topology-%d-1700000000", i), Workers: 4 + i%8, Executors: executors(40)})
	}
	return in
}

// BenchmarkFullPass places everything from nothing.
func BenchmarkFullPass(b *testing.B) {
	in := big()
	for b.Loop() {
		if out := mustSchedule(b, in); len(out.Topologies[299].Placements) != 40 {
			b.Fatal("not placed")
		}
	}
}

// BenchmarkOneChange has all placed but one topology, which is new.
func BenchmarkOneChange(b *testing.B) {
	in := big()
	out := mustSchedule(b, in)
	for i := range in.Topologies[:299] {
		keep(&in.Topologies[i], out.Topologies[i])
	}
	in.Blacklist = out.Blacklist
	for b.Loop() {
		out := mustSchedule(b, in)
		if !out.Topologies[299].Changed || out.Topologies[0].Changed {
			b.Fatal("not one change")
		}
	}
}

// BenchmarkNoSlots is the worst case: everything wants, nothing is free.
func BenchmarkNoSlots(b *testing.B) {
	in := big()
	for i := range in.Topologies {
		in.Topologies[i].Workers = 40
	}
	for b.Loop() {
		mustSchedule(b, in)
	}
}
