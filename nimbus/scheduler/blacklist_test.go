// SPDX-License-Identifier: Apache-2.0

// This file tests who is kept out of scheduling, and for how long.

package scheduler

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// site is a cluster that is scheduled again and again, as nimbus does.
type site struct {
	t  *testing.T
	in Input
}

func (s *site) pass(now int64, supervisors ...Supervisor) Output {
	s.t.Helper()
	s.in.Now, s.in.Supervisors = now, supervisors
	before := cmp.Diff(Blacklist(nil), s.in.Blacklist)
	out := mustSchedule(s.t, s.in)
	if after := cmp.Diff(Blacklist(nil), s.in.Blacklist); after != before {
		s.t.Fatal("a pass changed the blacklist that it was given")
	}
	s.in.Blacklist = out.Blacklist
	return out
}

// TestThreeDeathsTakeOnlyTheSupervisorOut is a fault of Storm that gust must not
// share: there, three deaths of one supervisor blacklist its host, so that
// healthy supervisors of the same host get nothing and free slots stay unused.
func TestThreeDeathsTakeOnlyTheSupervisorOut(t *testing.T) {
	t.Parallel()
	bad, good := supervisor("bad", "host", 6700, 6701), supervisor("good", "host", 6800, 6801)
	s := &site{t: t, in: Input{Limits: DefaultBlacklistLimits()}}
	s.pass(0, bad, good)
	for _, at := range []int64{10, 40, 70} {
		s.pass(at, good)
		s.pass(at+3, good) // being gone for several passes is one death
		s.pass(at+15, bad, good)
	}
	if got := s.in.Blacklist.Blacklisted(); !slices.Equal(got, []string{"bad"}) {
		t.Fatalf("blacklisted %v, want bad alone", got)
	}
	s.in.Topologies = []Topology{{ID: "t", Workers: 2, Executors: executors(2)}}
	out := s.pass(90, bad, good)
	if diff := cmp.Diff(map[string]int{"good:6800": 1, "good:6801": 1}, perSlot(out.Topologies[0])); diff != "" {
		t.Error(diff)
	}
}

func TestReleasedWhenSlotsAreLacking(t *testing.T) {
	t.Parallel()
	s := &site{t: t, in: Input{Limits: DefaultBlacklistLimits()}}
	a, b := supervisor("a", "h", 6700, 6701), supervisor("b", "h", 6700)
	good := supervisor("good", "h", 6800)
	s.pass(0, a, b, good)
	for _, at := range []int64{10, 40, 70} { // b is out first
		s.pass(at, a, good)
		s.pass(at+15, a, b, good)
	}
	for _, at := range []int64{100, 130, 160} {
		s.pass(at, b, good)
		s.pass(at+15, a, b, good)
	}
	if got := s.in.Blacklist.Blacklisted(); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("blacklisted %v, want a and b", got)
	}
	s.in.Topologies = []Topology{{ID: "t", Workers: 1, Executors: executors(4)}}
	out := s.pass(200, a, b, good)
	if len(out.Released) != 0 || out.Topologies[0].Placements[0].Slot.Node != "good" {
		t.Fatalf("enough slots, yet %+v", out)
	}
	s.in.Topologies[0].Workers = 2
	s.in.Topologies[0].Rebalance = true
	out = s.pass(201, a, b, good)
	if !slices.Equal(out.Released, []string{"b"}) || out.Topologies[0].Workers != 2 {
		t.Fatalf("one slot is lacking, yet %+v", out)
	}
	s.in.Topologies[0].Workers = 9
	out = s.pass(202, a, b, good)
	if !slices.Equal(out.Released, []string{"a"}) || out.Topologies[0].Workers != 4 {
		t.Fatalf("all slots are wanted, yet %+v", out)
	}
}

func TestBlacklistEndsByTime(t *testing.T) {
	t.Parallel()
	s := &site{t: t, in: Input{Limits: DefaultBlacklistLimits()}}
	a, good := supervisor("a", "h", 6700), supervisor("good", "h", 6800)
	s.pass(0, a, good)
	for _, at := range []int64{10, 40, 70} {
		s.pass(at, good)
		s.pass(at+15, a, good)
	}
	s.pass(70+1799, a, good)
	if got := s.in.Blacklist.Blacklisted(); len(got) != 1 {
		t.Errorf("blacklisted %v a second before the end", got)
	}
	s.pass(70+1800, a, good)
	if got := s.in.Blacklist.Blacklisted(); len(got) != 0 {
		t.Errorf("blacklisted %v at the end", got)
	}
}

func TestOldFaultsAndOldSupervisorsAreForgotten(t *testing.T) {
	t.Parallel()
	s := &site{t: t, in: Input{Limits: DefaultBlacklistLimits()}}
	a, good := supervisor("a", "h", 6700), supervisor("good", "h", 6800)
	s.pass(0, a, good)
	for _, at := range []int64{10, 200, 400, 600, 800} { // never three within 300 s
		s.pass(at, good)
		s.pass(at+15, a, good)
	}
	if got := s.in.Blacklist.Blacklisted(); len(got) != 0 {
		t.Errorf("blacklisted %v", got)
	}
	s.pass(950, good)
	s.pass(1350, good)
	if _, known := s.in.Blacklist["a"]; known {
		t.Error("a supervisor that is gone for good is still remembered")
	}
}

func TestDeadWorkersAreFaults(t *testing.T) {
	t.Parallel()
	for _, counted := range []bool{true, false} {
		limits := DefaultBlacklistLimits()
		limits.BadSlots = counted
		s := &site{t: t, in: Input{Limits: limits, Topologies: []Topology{{ID: "t", Workers: 1, Executors: executors(2)}}}}
		a, b := supervisor("a", "h", 6700, 6701), supervisor("b", "h", 6800)
		s.pass(0, a, b)
		for _, at := range []int64{20, 50, 80} {
			s.in.Topologies[0].Current = []Current{
				{Placement: Placement{Executor{1, 1}, Slot{"a", 6700}}},
				{Placement: Placement{Executor{2, 2}, Slot{"a", 6701}}},
			}
			s.pass(at, a, b)
			s.pass(at+1, a, b) // still the same death
			s.in.Topologies[0].Current = nil
			s.pass(at+15, a, b)
		}
		if got := len(s.in.Blacklist.Blacklisted()) == 1; got != counted {
			t.Errorf("BadSlots %v: blacklist is %+v", counted, s.in.Blacklist)
		}
	}
}

// TestAllGoneAtOnceIsNobodysFault has the cluster state restart again and again.
func TestAllGoneAtOnceIsNobodysFault(t *testing.T) {
	t.Parallel()
	s := &site{t: t, in: Input{Limits: DefaultBlacklistLimits()}}
	a, b := supervisor("a", "h", 6700), supervisor("b", "h", 6800)
	s.pass(0, a, b)
	for _, at := range []int64{10, 40, 70, 100} {
		s.pass(at)
		s.pass(at+15, a, b)
	}
	if got := s.in.Blacklist.Blacklisted(); len(got) != 0 {
		t.Errorf("blacklisted %v", got)
	}
}

func TestZeroLimitsSwitchTheBlacklistOff(t *testing.T) {
	t.Parallel()
	s := &site{t: t}
	a := supervisor("a", "h", 6700)
	for at := range int64(10) {
		s.pass(20*at, a)
		s.pass(20*at + 10)
	}
	if s.in.Blacklist != nil {
		t.Errorf("%+v", s.in.Blacklist)
	}
}
