// SPDX-License-Identifier: Apache-2.0

package executor

// This file runs bolts that are child processes.

import (
	"context"
	"slices"

	"github.com/gust-stream/gust/tuple"
)

// shellBolt is an executor of such bolts.
type shellBolt struct {
	*core

	nursery   nursery
	processes sampler
	executes  sampler
}

// queued is how many tuples may wait for a child before the executor takes no more from its inbox. It is not none, so that the other tasks
// of the executor go on for a while when one has no room.
const queued = 128

func newShellBolt(c *core, rate int) *shellBolt {
	b := &shellBolt{core: c, processes: newSampler(rate), executes: newSampler(rate)}
	b.nursery = nursery{core: c, turn: b.turn, died: b.died}
	return b
}

func (b *shellBolt) live(ctx context.Context) error {
	b.setTimers()
	b.tickTimer(b.tick)
	return b.nursery.run(ctx)
}

// turn does all that can be done now.
func (b *shellBolt) turn(now int64) plan {
	if b.engine.phase() == closing {
		return plan{over: true}
	}
	b.timers.run(now)
	until := b.nursery.start(now, func(*child) {})
	full := b.router.Full() && !b.router.Room(b.wake)
	space := false
	if !full {
		space = b.feed()
	}
	busy := slices.ContainsFunc(b.nursery.children, func(c *child) bool { return c.running && c.bolt.Held() > 0 })
	until = min(until, b.nursery.flush(now, busy && !full))
	b.show()
	return plan{until: until, heed: space, deaf: full}
}

// feed gives the children what they have room for. It says whether more is welcome.
func (b *shellBolt) feed() (space bool) {
	delivered := 0
	for {
		space = true
		for _, c := range b.nursery.children {
			delivered += b.give(c)
			space = space && len(c.queue) < queued
		}
		if !space || !b.more() {
			break
		}
		batch := b.in.taken[b.in.batch]
		for _, m := range batch.Tuples {
			c := b.nursery.children[m.Task-b.first]
			c.queue = append(c.queue, m.Tuple)
		}
		b.moved()
	}
	for _, c := range b.nursery.children {
		if c.running {
			c.bolt.Flush()
		}
	}
	b.inbox.Done(delivered)
	return space
}

// give gives a child what it has room for.
func (b *shellBolt) give(c *child) (delivered int) {
	if !c.running || len(c.queue) == 0 && c.tick == nil {
		return 0
	}
	room := c.bolt.Room()
	if c.tick != nil && room > 0 {
		b.deliver(c, c.tick)
		c.tick = nil
		room--
	}
	for delivered < len(c.queue) && room > 0 {
		b.deliver(c, c.queue[delivered])
		delivered++
		if room--; room == 0 {
			room = c.bolt.Room()
		}
	}
	rest := copy(c.queue, c.queue[delivered:])
	clear(c.queue[rest:])
	c.queue = c.queue[:rest]
	return delivered
}

// deliver is, as in Storm, all that the execution of a tuple is: what the child does comes after.
func (b *shellBolt) deliver(c *child, t *tuple.Tuple) {
	c.task.counts.Executed++
	started := int64(0)
	measured := b.executes.hit()
	if process := b.processes.hit(); measured || process {
		started = max(b.now(), 1)
		if process {
			t.Started = started
		}
	}
	c.bolt.Deliver(t)
	if measured {
		c.task.input(t).Executed(b.since(started))
	}
}

// died fails what a child had. What it had no room for yet waits for the next one.
func (b *shellBolt) died(c *child, _ int64) {
	for _, t := range c.bolt.Outstanding() {
		c.task.Fail(t)
	}
}

// tick leaves a tick for each task. A child that has not taken the last one gets no second.
func (b *shellBolt) tick(int64) {
	for _, c := range b.nursery.children {
		if c.tick == nil {
			c.tick = b.tuple(b.engine.tickSource, []any{b.tickSecs})
		}
	}
}

func (b *shellBolt) waiting() int {
	n := 0
	for _, c := range b.nursery.children {
		n += len(c.queue)
		if c.bolt != nil {
			n += c.bolt.Held()
		}
	}
	return n
}

// end fails what the children had if they end because of the worker's own fault. At the end of the worker nobody would hear it.
func (b *shellBolt) end() {
	if b.engine.phase() == closing {
		return
	}
	for _, c := range b.nursery.children {
		if c.bolt != nil {
			b.died(c, 0)
		}
	}
}
