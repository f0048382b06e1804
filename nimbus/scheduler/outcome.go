// SPDX-License-Identifier: Apache-2.0

// This file turns the state at the end of a pass into what the caller sees.

package scheduler

import (
	"fmt"
	"slices"
)

// fullyScheduled is the status of a topology that has all it asked for; clients
// of Storm look for these words.
const fullyScheduled = "Fully Scheduled"

func (p *pass) outcome(a *asked) Outcome {
	o := Outcome{ID: a.id}
	wishes := p.topologies[a.first:a.last]
	placed := 0
	for i := range wishes {
		placed += len(wishes[i].executors) - wishes[i].unplaced
	}
	if placed > 0 {
		o.Placements = make([]Placement, 0, placed)
	}
	for i := range wishes {
		w := &wishes[i]
		o.Workers += len(w.used)
		for k, s := range w.place {
			if s == none {
				o.Unplaced = append(o.Unplaced, w.executors[k])
				continue
			}
			o.Placements = append(o.Placements, Placement{w.executors[k], p.slots[s].Slot})
		}
	}
	if len(wishes) > 1 {
		slices.SortFunc(o.Placements, func(a, b Placement) int { return compareExecutors(a.Executor, b.Executor) })
		slices.SortFunc(o.Unplaced, compareExecutors)
	}
	o.Changed = differs(o.Placements, a.current)
	o.Status = p.status(a, &o)
	return o
}

// differs compares a placement with the sorted assignment it came from.
func differs(now []Placement, before []Current) bool {
	if len(now) != len(before) {
		return true
	}
	for i := range now {
		if now[i] != before[i].Placement {
			return true
		}
	}
	return false
}

func (p *pass) status(a *asked, o *Outcome) string {
	placed, all := len(o.Placements), len(o.Placements)+len(o.Unplaced)
	needs := a.needs()
	workers := a.workers
	if workers > 0 {
		workers = max(workers, len(a.engines))
	}
	switch {
	case len(o.Unplaced) > 0:
		status := fmt.Sprintf("Not all executors scheduled: %d of %d placed on %d of %d workers, %s", placed, all, o.Workers, workers, p.why(workers))
		if needs != "" {
			status += ", the topology takes " + needs
		}
		return status
	case o.Workers < min(workers, all):
		return fmt.Sprintf("%s on %d of %d workers, %s", fullyScheduled, o.Workers, workers, p.why(workers))
	case needs != "":
		return fullyScheduled + " on " + needs
	default:
		return fullyScheduled
	}
}

// why says what keeps a topology from more slots.
func (p *pass) why(workers int) string {
	if workers <= 0 {
		return fmt.Sprintf("the topology asks for %d workers", workers)
	}
	if p.free > 0 {
		return fmt.Sprintf("%d slots are free", p.free)
	}
	var dead, barred, offered int
	for i := range p.nodes {
		n := &p.nodes[i]
		offered += int(n.end - n.first)
		for s := n.first; s < n.end; s++ {
			switch {
			case p.slots[s].owner != -1:
			case n.barred:
				barred++
			case p.slots[s].dead:
				dead++
			}
		}
	}
	text := fmt.Sprintf("no free slot: %d supervisors offer %d", len(p.nodes), offered)
	if dead > 0 {
		text += fmt.Sprintf(", %d held back because a worker died there", dead)
	}
	if barred > 0 {
		text += fmt.Sprintf(", %d blacklisted", barred)
	}
	return text
}
