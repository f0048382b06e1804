// SPDX-License-Identifier: Apache-2.0

package executor

// This file runs bolts that are linked into the binary.

import (
	"fmt"
	"slices"

	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/tuple"
)

// bolt is an executor of bolts.
type bolt struct {
	*core

	make      func() component.Bolt
	made      component.Bolt // made already, nil once it is in use
	bolts     []component.Bolt
	outputs   []*component.Output
	held      []*tuple.Tuple // by the bolts: executed, tracked and not settled when last looked at
	sweepAt   int            // how many held ones are worth a look
	executes  sampler
	processes sampler
}

const (
	minSweep = 1024
	// maxHeld bounds the memory of a bolt that never acks. If it panics, the older ones time out instead of failing.
	maxHeld = 1 << 17
)

// runLinked is one life of linked bolts, until the worker ends.
func (b *bolt) runLinked() error {
	b.setTimers()
	b.bolts, b.outputs, b.held, b.sweepAt = nil, nil, nil, minSweep
	for _, t := range b.tasks {
		made := b.made
		if b.made = nil; made == nil {
			made = b.make()
		}
		if made == nil {
			return fmt.Errorf("bolt %s is not linked into this program", b.component)
		}
		b.bolts = append(b.bolts, made)
		b.outputs = append(b.outputs, component.NewOutput(t, t.streams))
	}
	b.credentials = b.engine.credentials.Load()
	for i, t := range b.tasks {
		b.introduce(b.bolts[i])
		if p, ok := b.bolts[i].(component.Preparer); ok {
			if err := p.Prepare(t.context(), b.outputs[i]); err != nil {
				return fmt.Errorf("prepare: %w", err)
			}
		}
		t.linked = b.bolts[i]
	}
	b.tickTimer(b.tick)
	b.resume(b.now())
	for b.engine.phase() != closing {
		if b.more() {
			b.work()
			continue
		}
		b.router.Flush()
		b.show()
		if b.room() && b.inbox.Size() == 0 {
			b.sleep(never, true)
		}
		b.awake()
	}
	return nil
}

// work executes the batch at hand.
func (b *bolt) work() {
	batch := b.in.taken[b.in.batch]
	for b.in.at < len(batch.Tuples) {
		m := batch.Tuples[b.in.at]
		b.in.at++
		b.execute(int(m.Task-b.first), m.Tuple)
		if now, look, flush := b.step(); look {
			if flush {
				b.router.Flush()
			}
			b.attend(now)
			b.show()
			if b.engine.phase() == closing {
				return
			}
		}
		if b.router.Full() && !b.room() {
			return
		}
	}
	b.finish()
}

// room waits until receivers have room; false says that the worker ends.
func (c *core) room() bool {
	if !c.router.Full() {
		return true
	}
	c.router.Flush()
	c.show()
	for !c.router.Room(c.wake) {
		if c.engine.phase() == closing {
			return false
		}
		c.sleep(never, false)
		c.awake()
	}
	c.resume(c.now())
	return true
}

func (b *bolt) execute(index int, t *tuple.Tuple) {
	task := b.tasks[index]
	task.counts.Executed++
	started := int64(0)
	measured := b.executes.hit()
	if process := b.processes.hit(); measured || process {
		started = max(b.now(), 1)
		if process {
			t.Started = started
		}
	}
	if err := b.bolts[index].Execute(t, b.outputs[index]); err != nil {
		task.Report(err)
		task.Fail(t)
	}
	if measured {
		task.input(t).Executed(b.since(started))
	}
	if t.Tracked() && !t.Settled() {
		b.keep(t)
	}
}

// keep remembers a tuple that the bolt keeps, so that it can be failed if the bolt panics.
func (b *bolt) keep(t *tuple.Tuple) {
	b.held = append(b.held, t)
	if len(b.held) < b.sweepAt {
		return
	}
	b.held = slices.DeleteFunc(b.held, (*tuple.Tuple).Settled)
	if len(b.held) > maxHeld {
		b.held = slices.Delete(b.held, 0, len(b.held)-maxHeld/2)
	}
	b.sweepAt = max(minSweep, 2*len(b.held))
}

// tick gives each task a tick.
func (b *bolt) tick(int64) {
	for i := range b.tasks {
		b.execute(i, b.tuple(b.engine.tickSource, []any{b.tickSecs}))
	}
}

// abandon fails what the bolts had after they ended in the middle of it.
func (b *bolt) abandon() {
	if t := b.in.last(); t != nil && !t.Settled() {
		b.held = append(b.held, t)
	}
	for _, t := range b.held {
		b.tasks[0].Fail(t)
	}
	b.held = nil
}
