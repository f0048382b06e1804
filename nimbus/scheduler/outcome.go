// SPDX-License-Identifier: Apache-2.0

// This file turns the state at the end of a pass into what the caller sees.

package scheduler

import "fmt"

// fullyScheduled is the status of a topology that has all it asked for; clients
// of Storm look for these words.
const fullyScheduled = "Fully Scheduled"

func (p *pass) outcome(w *wish, workers int) Outcome {
	o := Outcome{ID: w.id, Workers: len(w.used)}
	if placed := len(w.executors) - w.unplaced; placed > 0 {
		o.Placements = make([]Placement, 0, placed)
	}
	for k, s := range w.place {
		if s == none {
			o.Unplaced = append(o.Unplaced, w.executors[k])
			continue
		}
		o.Placements = append(o.Placements, Placement{w.executors[k], p.slots[s].Slot})
	}
	o.Changed = differs(o.Placements, w.current)
	o.Status = p.status(w, workers)
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

func (p *pass) status(w *wish, workers int) string {
	all := len(w.executors)
	could := min(workers, all)
	switch {
	case w.unplaced > 0:
		return fmt.Sprintf("Not all executors scheduled: %d of %d placed on %d of %d workers, %s",
			all-w.unplaced, all, len(w.used), workers, p.why(workers))
	case len(w.used) < could:
		return fmt.Sprintf("%s on %d of %d workers, %s", fullyScheduled, len(w.used), workers, p.why(workers))
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
