// SPDX-License-Identifier: Apache-2.0

package executor

// This file holds what executors of child processes share: the children's starts and ends, and whose goroutine does the work.

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gust-stream/gust/multilang"
	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/transfer"
)

// child is one task's child process, or the pause before the next one.
type child struct {
	task   *task
	bolt   *multilang.Bolt // one of these is
	spout  *multilang.Spout
	config multilang.Config

	running   bool
	cancel    context.CancelFunc
	began     time.Time
	restartAt int64 // while it is not running
	backoff   multilang.Backoff

	queue []*tuple.Tuple // of a bolt, until it has room
	tick  *tuple.Tuple   // nil if none waits
	asked bool           // of a spout: what the last next brought has not been looked at
	next  int64          // of a spout: when to ask again
	// idleSince is when a spout began to have nothing, 0 while it has something.
	idleSince int64
}

// settle tells a spout how a tuple fared.
func (c *child) settle(id any, acked bool) {
	switch {
	case !c.running:
	case acked:
		c.spout.Ack(id)
	default:
		c.spout.Fail(id)
	}
}

// nursery runs the children of one executor. Their executor's goroutine does all of their work, but for the time that it waits: then it lends
// the work to the children's readers, which saves a child that waits for an answer two changes of thread.
type nursery struct {
	core     *core
	children []*child
	turn     func(now int64) plan      // does what there is to do
	died     func(c *child, now int64) // a child is over

	lease   sync.Mutex // guards the executor and all below; its goroutine holds it except while it waits
	lent    bool       // it waits
	plan    plan       // for what
	until   int64      // the time at which it wakes by itself
	fault   error      // a panic on a lender's goroutine
	flushed int64      // when what was sent was last handed over

	ctx    context.Context //nolint:containedctx // of one life of the executor, which begins and ends within one call
	events chan *multilang.Batch
	all    sync.WaitGroup
}

// plan is what an executor waits for.
type plan struct {
	over  bool  // nothing: the worker ends
	until int64 // a time
	heed  bool  // its inbox
	deaf  bool  // not its children
}

// run is one life of the executor.
func (n *nursery) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	n.ctx = ctx
	n.events = make(chan *multilang.Batch, 16)
	defer n.stop(cancel)
	n.lease.Lock()
	defer n.lease.Unlock()
	n.lent, n.fault = false, nil
	for _, c := range n.children {
		c.running, c.restartAt, c.asked, c.next, c.idleSince = false, 0, false, 0, 0
	}
	for {
		if n.fault != nil {
			return n.fault
		}
		p := n.turn(n.core.now())
		if p.over {
			return nil
		}
		events := n.events
		if p.deaf {
			events = nil
		}
		p.until = min(p.until, n.core.timers.next)
		n.plan, n.until, n.lent = p, p.until, true
		batch := n.core.lend(p, events, &n.lease)
		n.lent = false
		for batch != nil {
			n.apply(batch)
			batch = nil
			if !n.core.router.Full() {
				select {
				case batch = <-n.events:
				default:
				}
			}
		}
	}
}

// lend is sleep without the lease.
func (c *core) lend(p plan, events <-chan *multilang.Batch, lease *sync.Mutex) *multilang.Batch {
	if p.heed && !c.inbox.Park() {
		return nil
	}
	var alarm <-chan time.Time
	if p.until != never {
		c.setAlarm(p.until)
		alarm = c.alarm.C
	}
	lease.Unlock()
	var batch *multilang.Batch
	rang := false
	select {
	case <-c.wake:
	case batch = <-events:
	case <-alarm:
		rang = true
	}
	lease.Lock()
	if rang {
		c.alarmAt = never
	}
	return batch
}

// borrow does the executor's work on the goroutine of a child's reader, if the executor waits.
func (n *nursery) borrow(batch *multilang.Batch) bool {
	if !n.lease.TryLock() {
		return false
	}
	defer n.lease.Unlock()
	if !n.lent || n.plan.deaf || n.fault != nil {
		return false
	}
	wake := true
	n.fault = guard(func() error {
		n.apply(batch)
		p := n.turn(n.core.now())
		// The executor is woken if it would not have waited, or not as it does.
		wake = p.over || p.deaf || min(p.until, n.core.timers.next) < n.until || p.heed && !n.core.inbox.Park()
		n.plan = p
		return nil
	})
	if wake || n.fault != nil {
		transfer.Wake(n.core.wake)
	}
	return true
}

// apply carries out what a child said.
func (n *nursery) apply(batch *multilang.Batch) {
	err := batch.Apply()
	if err == nil {
		return
	}
	var over *multilang.ChildError
	if !errors.As(err, &over) {
		n.core.tasks[0].Report(err)
		return
	}
	c := n.children[over.Task-n.core.first]
	c.task.Report(err)
	c.cancel()
	c.running, c.asked = false, false
	now := n.core.now()
	c.restartAt = now + int64(c.backoff.Next(time.Since(c.began)))
	n.died(c, now)
}

// start starts the children whose time has come. The time of the next start is returned.
func (n *nursery) start(now int64, started func(*child)) int64 {
	next := int64(never)
	for _, c := range n.children {
		if c.running {
			continue
		}
		if c.restartAt > now {
			next = min(next, c.restartAt)
			continue
		}
		ctx, cancel := context.WithCancel(n.ctx)
		c.cancel, c.began, c.running = cancel, time.Now(), true
		cfg := c.config
		cfg.TryApply = n.borrow
		var run func(context.Context) error
		if c.task.spout == nil {
			c.bolt = multilang.NewBolt(cfg, c.task.streams, c.task, n.events, c.task.lines)
			run = c.bolt.Run
		} else {
			c.spout = multilang.NewSpout(cfg, c.task.streams, c.task, n.events, c.task.lines)
			run = c.spout.Run
		}
		n.all.Go(func() {
			_ = run(ctx) // its error is the last batch
		})
		started(c)
	}
	return next
}

// flush hands over what was sent. While a child is busy, so that more is to come soon, this is done each millisecond only: a child that waits for
// an answer after each of its emits would else have somebody woken for each. It gives the time to call it again.
func (n *nursery) flush(now int64, busy bool) int64 {
	switch {
	case !n.core.router.Pending():
		return never
	case busy && now-n.flushed < maxWait:
		return n.flushed + maxWait
	}
	n.flushed = now
	n.core.router.Flush()
	return never
}

// stop ends all children and waits until they are gone.
func (n *nursery) stop(cancel context.CancelFunc) {
	cancel()
	gone := make(chan struct{})
	go func() {
		n.all.Wait()
		close(gone)
	}()
	for {
		select {
		case <-n.events: // nobody hears it any more
		case <-gone:
			return
		}
	}
}
