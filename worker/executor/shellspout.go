// SPDX-License-Identifier: Apache-2.0

package executor

// This file runs spouts that are child processes.

import (
	"context"
	"slices"
)

// shellSpout is an executor of such spouts.
type shellSpout struct {
	spout

	nursery nursery
	opened  bool

	why    int   // the last turn left its children unasked, see skipping
	looked int64 // when that was
}

func newShellSpout(s *spout) *shellSpout {
	out := &shellSpout{spout: *s}
	out.nursery = nursery{core: s.core, turn: out.turn, died: out.died}
	return out
}

func (s *shellSpout) live(ctx context.Context) error {
	s.begin()
	s.opened, s.why = false, -1
	return s.nursery.run(ctx)
}

// turn does all that can be done now.
func (s *shellSpout) turn(now int64) plan {
	phase, active := s.engine.phase(), s.engine.active.Load()
	if phase == closing {
		return plan{over: true}
	}
	s.skipped(s.why, now-s.looked)
	s.answers()
	s.timers.run(now)
	s.opened = s.opened || active && phase == running
	until := int64(never)
	if s.opened {
		if on := active && phase == running; on != s.on {
			s.activate(on)
		}
		until = s.nursery.start(now, func(c *child) {
			if s.on {
				c.spout.Activate()
			}
		})
	}
	full := s.router.Full() && !s.router.Room(s.wake)
	if !full {
		until = min(until, s.ask(now))
	}
	busy := slices.ContainsFunc(s.nursery.children, func(c *child) bool { return c.running && c.asked })
	until = min(until, s.nursery.flush(now, busy && !full))
	s.show()
	s.why, s.looked = s.skipping(), now
	return plan{until: until, heed: true, deaf: full}
}

func (s *shellSpout) activate(on bool) {
	s.on = on
	for _, c := range s.nursery.children {
		switch {
		case !c.running:
		case on:
			c.spout.Activate()
		default:
			c.spout.Deactivate()
		}
	}
}

// ask asks the children for tuples which have answered all before. It gives the time to ask again one that had none.
func (s *shellSpout) ask(now int64) int64 {
	until := int64(never)
	for _, c := range s.nursery.children {
		if !c.running || !c.spout.Ready() {
			continue
		}
		if c.asked {
			c.asked = false
			c.next = 0
			if c.spout.Emitted() > 0 {
				c.idleSince = 0
			} else {
				if c.idleSince == 0 {
					c.idleSince = now
				}
				c.next = nextAsk(c.idleSince, now)
			}
		}
		if !s.may() {
			return never
		}
		if now < c.next {
			until = min(until, c.next)
			continue
		}
		c.asked = true
		c.spout.Next()
	}
	return until
}

// died forgets what a child waits to hear of: its successor does not know it. Answers that come are ignored.
func (s *shellSpout) died(c *child, _ int64) {
	s.pending.Filter(func(p pending) bool { return p.task != c.task })
}

func (s *shellSpout) end() { s.forget() }
