// SPDX-License-Identifier: Apache-2.0

// This file holds the working state of one pass and how it is read from the input.

package scheduler

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gust-stream/gust/internal/java"
)

// slotRef is an index into pass.slots; none means no slot.
type slotRef = int32

const none slotRef = -1

// slot is the state of one slot during a pass.
type slot struct {
	Slot
	node  int32 // index into pass.nodes; -1 for a slot that no present supervisor offers
	owner int32 // index into pass.topologies; -1 when unused
	count int32 // executors of owner on it
	dead  bool  // hidden from this pass: a worker on it was found dead
}

// node is a supervisor during a pass; its slots are pass.slots[first:end], by port.
type node struct {
	id         string
	first, end slotRef
	free       int32 // slots that can be given
	barred     bool  // blacklisted
}

// wish is a topology during a pass, or the part of one that runs on one engine.
// Executors are by ascending first task, and place has the slot of each.
type wish struct {
	workers   int
	executors []Executor
	place     []slotRef
	used      []slotRef // distinct slots in place
	unplaced  int
	last      int32 // index behind the last wish of the same topology
}

// asked is a topology of the input with its wishes, topologies[first:last] of the pass.
type asked struct {
	id          string
	workers     int
	current     []Current // sorted copy of the input's
	engines     []Engine  // of the wishes
	first, last int32
}

// pass is the working state. The counters (node.free, free, slot.count,
// wish.unplaced) always agree with the rest, so that "is there anything to do
// for this topology" costs nothing.
type pass struct {
	nodes      []node // by id, in Java's string order
	index      map[string]int32
	slots      []slot
	foreign    map[Slot]slotRef // slots in assignments that nobody offers any more
	asked      []asked
	topologies []wish
	free       int
	order      []int32 // scratch of bySpace: indices of nodes
}

func newPass(in Input) (*pass, error) {
	p := &pass{index: make(map[string]int32, len(in.Supervisors))}
	if err := p.addSupervisors(in.Supervisors); err != nil {
		return nil, err
	}
	p.asked = make([]asked, len(in.Topologies))
	p.topologies = make([]wish, 0, len(in.Topologies))
	seen := make(map[string]bool, len(in.Topologies))
	for i := range in.Topologies {
		if seen[in.Topologies[i].ID] {
			return nil, fmt.Errorf("topology %q is %w", in.Topologies[i].ID, ErrDuplicate)
		}
		seen[in.Topologies[i].ID] = true
		p.addTopology(&p.asked[i], &in.Topologies[i])
	}
	for i := range p.nodes {
		p.recount(&p.nodes[i])
	}
	return p, nil
}

// addSupervisors lays out nodes and slots, sorted: every later step relies on it.
func (p *pass) addSupervisors(list []Supervisor) error {
	total := 0
	sorted := make([]*Supervisor, len(list))
	for i := range list {
		sorted[i] = &list[i]
		total += len(list[i].Ports)
	}
	slices.SortFunc(sorted, func(a, b *Supervisor) int { return java.Compare(a.ID, b.ID) })
	p.nodes = make([]node, 0, len(sorted))
	p.slots = make([]slot, 0, total)
	for _, s := range sorted {
		if _, twice := p.index[s.ID]; twice {
			return fmt.Errorf("supervisor %q is %w", s.ID, ErrDuplicate)
		}
		n := int32(len(p.nodes))
		p.index[s.ID] = n
		ports := slices.Compact(slices.Sorted(slices.Values(s.Ports)))
		first := slotRef(len(p.slots))
		for _, port := range ports {
			p.slots = append(p.slots, slot{Slot: Slot{s.ID, port}, node: n, owner: -1})
		}
		p.nodes = append(p.nodes, node{id: s.ID, first: first, end: slotRef(len(p.slots))})
	}
	return nil
}

// addTopology reads what a topology wants and keeps what of it is placed and alive.
func (p *pass) addTopology(a *asked, t *Topology) {
	a.id, a.workers = t.ID, t.Workers
	executors := slices.Clone(t.Executors)
	if !slices.IsSortedFunc(executors, compareExecutors) {
		slices.SortFunc(executors, compareExecutors)
	}
	executors = slices.Compact(executors)
	a.current = slices.Clone(t.Current)
	byExecutor := func(a, b Current) int { return compareExecutors(a.Executor, b.Executor) }
	if !slices.IsSortedFunc(a.current, byExecutor) {
		slices.SortStableFunc(a.current, byExecutor)
	}
	groups, workers := [][]Executor{executors}, []int{t.Workers}
	if len(t.Engines) > 0 && len(executors) > 0 {
		a.engines, groups = split(executors, t.Engines)
		if len(groups) > 1 {
			workers = shares(t.Workers, groups)
		}
	}
	a.first = int32(len(p.topologies))
	a.last = a.first + int32(len(groups))
	for k, group := range groups {
		i := int32(len(p.topologies))
		p.topologies = append(p.topologies, wish{
			workers: workers[k], executors: group, place: slices.Repeat([]slotRef{none}, len(group)), unplaced: len(group), last: a.last,
		})
		if !t.Rebalance {
			p.keepPlaced(i, a.current)
			if w := &p.topologies[i]; len(groups) > 1 && len(w.used) > w.workers {
				p.releaseAll(w) // the other engines would starve
			}
		}
	}
}

// keepPlaced puts executors where they are, if they are alive there.
func (p *pass) keepPlaced(i int32, current []Current) {
	w := &p.topologies[i]
	k := 0
	for _, c := range current {
		for k < len(w.executors) && compareExecutors(w.executors[k], c.Executor) < 0 {
			k++
		}
		if k == len(w.executors) || w.executors[k] != c.Executor {
			continue // no longer wanted: its number of executors was changed
		}
		s := p.find(c.Slot)
		if !c.Alive {
			p.slots[s].dead = true
			continue
		}
		if w.place[k] == none && (p.slots[s].owner == -1 || p.slots[s].owner == i) {
			p.take(i, k, s)
		}
	}
}

// find gives the slot's place in slots, making one for a slot that no present
// supervisor offers (its executors may still run and are left alone).
func (p *pass) find(at Slot) slotRef {
	if n, ok := p.index[at.Node]; ok {
		own := p.slots[p.nodes[n].first:p.nodes[n].end]
		if k, ok := slices.BinarySearchFunc(own, at.Port, func(s slot, port int32) int { return cmp.Compare(s.Port, port) }); ok {
			return p.nodes[n].first + slotRef(k)
		}
	}
	if s, ok := p.foreign[at]; ok {
		return s
	}
	if p.foreign == nil {
		p.foreign = make(map[Slot]slotRef)
	}
	s := slotRef(len(p.slots))
	p.slots = append(p.slots, slot{Slot: at, node: -1, owner: -1})
	p.foreign[at] = s
	return s
}

// take puts executor k of topology i on slot s. The node's free count is kept by the caller.
func (p *pass) take(i int32, k int, s slotRef) {
	w := &p.topologies[i]
	if p.slots[s].owner == -1 {
		p.slots[s].owner = i
		w.used = append(w.used, s)
	}
	p.slots[s].count++
	w.place[k] = s
	w.unplaced--
}

// recount sets the number of slots that can be given on n, and the total.
func (p *pass) recount(n *node) {
	p.free -= int(n.free)
	n.free = 0
	if !n.barred {
		for s := n.first; s < n.end; s++ {
			if p.givable(s) {
				n.free++
			}
		}
	}
	p.free += int(n.free)
}

// givable says whether slot s is offered, unused and not hidden; it ignores the blacklist.
func (p *pass) givable(s slotRef) bool {
	return p.slots[s].node >= 0 && p.slots[s].owner == -1 && !p.slots[s].dead
}

// heldBack says whether an offered slot is hidden because a worker died on it.
func (p *pass) heldBack() bool {
	return slices.ContainsFunc(p.slots, func(s slot) bool { return s.dead && s.node >= 0 && s.owner == -1 })
}

// hideBlacklisted takes the slots of blacklisted supervisors out of the pass.
func (p *pass) hideBlacklisted(b Blacklist) {
	for id, r := range b {
		if n, ok := p.index[id]; ok && r.Until > 0 {
			p.nodes[n].barred = true
			p.recount(&p.nodes[n])
		}
	}
}

func compareExecutors(a, b Executor) int {
	if c := cmp.Compare(a.Start, b.Start); c != 0 {
		return c
	}
	return cmp.Compare(a.End, b.End)
}
