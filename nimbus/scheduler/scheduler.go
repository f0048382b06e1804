// SPDX-License-Identifier: Apache-2.0

// This file holds the types of the package and Schedule.

package scheduler

import (
	"errors"
	"fmt"
	"slices"
)

// Executor is a run of tasks that live in one thread of one worker: the first
// and the last task id, both included.
type Executor struct {
	Start, End int32
}

// Slot is one port of one supervisor. Node is the supervisor's id.
type Slot struct {
	Node string
	Port int32
}

// Placement puts an executor on a slot.
type Placement struct {
	Executor Executor
	Slot     Slot
}

// Current is one line of a topology's present assignment. Alive says whether the
// executor's worker still heartbeats (or is still within its time to start).
type Current struct {
	Placement
	Alive bool
}

// Supervisor is one supervisor that is present in the cluster state, with all
// ports it offers, used or not, in any order. Nothing here looks at the host:
// supervisors of one host are judged one by one.
type Supervisor struct {
	ID    string
	Host  string
	Ports []int32
}

// Topology is what one topology wants and has.
type Topology struct {
	ID string
	// Workers is the number of slots the topology may use (StormBase.num_workers).
	Workers int
	// Executors are all executors it should run, in any order.
	Executors []Executor
	// Engines names the engine of each executor that does not run on Java; executors
	// of different engines never share a slot.
	Engines map[Executor]Engine
	// Current is its assignment as last written, in any order; empty if none.
	Current []Current
	// Rebalance drops Current: all executors are placed anew, and the slots that
	// they hold are free for this very pass.
	Rebalance bool
}

// Input is everything a pass looks at.
type Input struct {
	// Now is the time in seconds; only differences count.
	Now int64
	// Kind is the scheduler to use; the zero value is the default one.
	Kind Kind
	// Supervisors are those present, each id once.
	Supervisors []Supervisor
	// Topologies are served in this order when slots are scarce, each id once.
	Topologies []Topology
	// Blacklist is Output.Blacklist of the pass before; nil at first.
	Blacklist Blacklist
	// Limits of the blacklist; the zero value switches it off.
	Limits BlacklistLimits
}

// Output is the result of a pass.
type Output struct {
	// Topologies has one outcome for each of Input.Topologies, in the same order.
	Topologies []Outcome
	// Blacklist goes into the next pass's Input.
	Blacklist Blacklist
	// Released are the supervisors that this pass took off the blacklist before
	// their time because slots were lacking, sorted.
	Released []string
	// Again says that a topology lacks slots while slots are held back because
	// a worker died on them: those may be used by the next pass, so make one
	// once this one's assignments are written.
	Again bool
}

// Outcome is what a pass decided for one topology.
type Outcome struct {
	ID string
	// Placements has every executor that has a slot, by ascending first task.
	Placements []Placement
	// Unplaced are the executors without a slot, by ascending first task.
	Unplaced []Executor
	// Workers is the number of slots in use.
	Workers int
	// Changed says that Placements differs from the topology's Current.
	Changed bool
	// Status is one sentence for people: "Fully Scheduled", or how much is
	// placed and what is missing.
	Status string
}

// ErrDuplicate marks an input that names a supervisor or a topology twice.
var ErrDuplicate = errors.New("named twice")

// Schedule makes one pass. The only error is an input that names a supervisor
// or a topology twice; everything else that is odd (an executor listed twice,
// two topologies on one slot, an unknown node) costs only the odd entry its place.
func Schedule(in Input) (Output, error) {
	p, err := newPass(in)
	if err != nil {
		return Output{}, fmt.Errorf("schedule %d topologies: %w", len(in.Topologies), err)
	}
	next := in.Blacklist.observe(in.Now, in.Limits, p)
	next, released := next.release(p)
	p.hideBlacklisted(next)
	switch in.Kind {
	case Even:
		p.placeAll()
	case Default:
		p.balance()
	}
	out := Output{
		Topologies: make([]Outcome, len(p.asked)),
		Blacklist:  next,
		Released:   released,
	}
	out.Again = p.heldBack() && slices.ContainsFunc(p.topologies, func(w wish) bool { return w.lacking() > 0 })
	for i := range p.asked {
		out.Topologies[i] = p.outcome(&p.asked[i])
	}
	return out, nil
}
