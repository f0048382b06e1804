// SPDX-License-Identifier: Apache-2.0

// This file spreads executors over slots, as DefaultScheduler and EvenScheduler do.

package scheduler

import "slices"

// needsWork says whether a topology has fewer slots than it may have, or an
// executor without one.
func (w *wish) needsWork() bool { return w.workers > len(w.used) || w.unplaced > 0 }

// lacking is how many more slots a topology could fill.
func (w *wish) lacking() int { return max(0, min(w.workers, len(w.executors))-len(w.used)) }

// balance frees badly filled slots and places, one topology after the other.
// Each turn serves every topology that needs work by then, not only the one
// whose slots were just freed: a topology whose turn comes later may have
// what it needs already and then keeps its slots. Storm does the same.
func (p *pass) balance() {
	var turns []int32
	for i := range p.topologies {
		if p.topologies[i].needsWork() {
			turns = append(turns, int32(i))
		}
	}
	for _, i := range turns {
		p.freeBadSlots(i)
		p.placeAll()
	}
}

// placeAll places the executors of all topologies that need work.
func (p *pass) placeAll() {
	for i := range p.topologies {
		if p.free == 0 {
			return
		}
		if p.topologies[i].needsWork() {
			p.place(int32(i))
		}
	}
}

// place spreads the executors of topology i that have no slot round robin over
// as many new slots as the topology may still take.
func (p *pass) place(i int32) {
	w := &p.topologies[i]
	n := min(w.workers, p.spare(i)+len(w.used)) - len(w.used)
	if n <= 0 || w.unplaced == 0 {
		return
	}
	targets := p.nextSlots(min(n, w.unplaced))
	k := 0
	for e := range w.place {
		if w.place[e] != none {
			continue
		}
		p.take(i, e, targets[k%len(targets)])
		k++
	}
	for _, s := range targets {
		p.nodes[p.slots[s].node].free--
	}
	p.free -= len(targets)
}

// nextSlots gives the first n free slots in the order of giving: nodes with the
// most free slots first (equal ones by id), one port of each, lowest first,
// then the second port of each, and so on. n is at most p.free.
func (p *pass) nextSlots(n int) []slotRef {
	order := p.bySpace()
	out := make([]slotRef, 0, n)
	for round := int32(0); ; round++ {
		for _, i := range order {
			nd := &p.nodes[i]
			if nd.free <= round {
				break // the rest have even fewer
			}
			out = append(out, p.freeSlot(nd, round))
			if len(out) == n {
				return out
			}
		}
	}
}

// freeSlot gives the free slot of a node that has skip free ones before it.
func (p *pass) freeSlot(n *node, skip int32) slotRef {
	for s := n.first; s < n.end; s++ {
		if !p.givable(s) {
			continue
		}
		if skip == 0 {
			return s
		}
		skip--
	}
	return none
}

// bySpace sorts the nodes by falling number of free slots, stable. It counts
// instead of comparing: it runs once for each topology that is placed.
func (p *pass) bySpace() []int32 {
	most := int32(0)
	for i := range p.nodes {
		most = max(most, p.nodes[i].free)
	}
	start := make([]int32, most+2)
	for i := range p.nodes {
		start[most-p.nodes[i].free+1]++
	}
	for k := 1; k < len(start); k++ {
		start[k] += start[k-1]
	}
	if p.order == nil {
		p.order = make([]int32, len(p.nodes))
	}
	for i := range p.nodes {
		k := most - p.nodes[i].free
		p.order[start[k]] = int32(i)
		start[k]++
	}
	return p.order
}

// freeBadSlots frees those slots of topology i whose number of executors an
// even split over the slots it can have would not give to any, or not to so many.
func (p *pass) freeBadSlots(i int32) {
	w := &p.topologies[i]
	usable := 0
	for _, s := range w.used {
		if n := p.slots[s].node; n >= 0 && !p.nodes[n].barred && !p.slots[s].dead {
			usable++
		}
	}
	total := min(w.workers, usable+p.spare(i))
	if total <= 0 || (total <= len(w.used) && w.unplaced == 0) {
		return
	}
	small := int32(len(w.executors) / total)
	bigLeft := len(w.executors) % total
	smallLeft := total - bigLeft
	drop := make(map[slotRef]bool)
	for _, s := range p.inHashOrder(w) {
		switch {
		case p.slots[s].count == small && smallLeft > 0:
			smallLeft--
		case p.slots[s].count == small+1 && bigLeft > 0:
			bigLeft--
		default:
			drop[s] = true
		}
	}
	p.release(w, drop)
}

// release takes a topology off the given slots of its own.
func (p *pass) release(w *wish, drop map[slotRef]bool) {
	if len(drop) == 0 {
		return
	}
	for e, s := range w.place {
		if s != none && drop[s] {
			w.place[e] = none
			w.unplaced++
		}
	}
	w.used = slices.DeleteFunc(w.used, func(s slotRef) bool { return drop[s] })
	for s := range drop {
		p.slots[s].owner, p.slots[s].count = -1, 0
		if n := p.slots[s].node; n >= 0 {
			p.recount(&p.nodes[n])
		}
	}
}
