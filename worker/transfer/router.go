// SPDX-License-Identifier: Apache-2.0

package transfer

// This file holds the sending side: what collects tuples for each receiver.

import (
	"slices"

	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/acker"
)

// Target is a receiver as one sender sees it.
type Target struct {
	// Inbox is the receiver's, nil if it is in another worker.
	Inbox *Inbox
	// Gates are the inboxes that the sender heeds, RemoteGates the tasks of other workers.
	Gates       []*Inbox
	RemoteGates []int32

	task  int32 // in another worker
	batch *Batch
	dirty bool
}

// Local makes a target in this worker.
func Local(in *Inbox) *Target { return &Target{Inbox: in} }

// Elsewhere makes a target in another worker.
func Elsewhere(task int32) *Target { return &Target{task: task} }

// Router sends for one executor. Only its goroutine calls it.
type Router struct {
	// Refused is told of tuples that an inbox at its limit did not take.
	Refused func(tuple.Message)
	// Hold waits while the router is Full. It is called in the middle of a long row of sends.
	Hold func()

	pool    *Pool
	remote  Remote
	targets []*Target // by task
	dirty   []*Target
	out     []tuple.Message // for other workers
	full    []*Target       // targets with a closed gate, at the last look
	sent    int             // since a gate was found closed
}

// NewRouter makes a router. targets are by task, nil where there is none to send to.
func NewRouter(pool *Pool, remote Remote, targets []*Target) *Router {
	return &Router{pool: pool, remote: remote, targets: targets, Refused: func(tuple.Message) {}, Hold: func() {}}
}

// Known says whether a task can be sent to.
func (r *Router) Known(task int32) bool {
	return task >= 0 && int(task) < len(r.targets) && r.targets[task] != nil
}

// Local says whether a known task is in this worker.
func (r *Router) Local(task int32) bool { return r.targets[task].Inbox != nil }

// Send sends a tuple to a known task.
func (r *Router) Send(task int32, t *tuple.Tuple) {
	to := r.targets[task]
	if to.Inbox == nil {
		r.sendRemote(to, t)
		return
	}
	if to.batch == nil {
		r.open(to)
	}
	b := to.batch
	if b.Tuples == nil {
		b.Tuples = make([]tuple.Message, 0, batchSize)
	}
	b.Tuples = append(b.Tuples, tuple.Message{Task: task, Tuple: t})
	if len(b.Tuples) >= batchSize {
		r.handOver(to)
		r.hold()
	}
}

// Tell sends a message about a tree to a known task of this worker.
func (r *Router) Tell(task int32, m acker.Message) {
	to := r.targets[task]
	if to.batch == nil {
		r.open(to)
	}
	b := to.batch
	if b.Trees == nil {
		b.Trees = make([]acker.Message, 0, batchSize)
	}
	b.Trees = append(b.Trees, m)
	if len(b.Trees) >= batchSize {
		r.handOver(to)
	}
}

func (r *Router) open(to *Target) {
	to.batch = r.pool.get()
	if !to.dirty {
		to.dirty = true
		r.dirty = append(r.dirty, to)
	}
}

func (r *Router) sendRemote(to *Target, t *tuple.Tuple) {
	if r.remote == nil {
		return
	}
	r.out = append(r.out, tuple.Message{Task: to.task, Tuple: t})
	if !to.dirty {
		to.dirty = true
		r.dirty = append(r.dirty, to)
	}
	if len(r.out) >= batchSize {
		r.sendOut()
		r.check(to)
		r.hold()
	}
}

// handOver gives a target its batch. The target stays on the list of the dirty, where it costs little.
func (r *Router) handOver(to *Target) {
	b := to.batch
	to.batch = nil
	if !to.Inbox.Put(b) {
		for _, m := range b.Tuples {
			r.Refused(m)
		}
		r.pool.Put(b)
	}
	r.check(to)
}

func (r *Router) sendOut() {
	r.remote.Send(r.out)
	clear(r.out)
	r.out = r.out[:0]
}

// Pending says whether anything has been sent and not handed over.
func (r *Router) Pending() bool { return len(r.dirty) > 0 }

// Flush hands over all that was sent.
func (r *Router) Flush() {
	if len(r.out) > 0 {
		r.sendOut()
	}
	for len(r.dirty) > 0 { // Refused may add some
		last := len(r.dirty) - 1
		to := r.dirty[last]
		r.dirty = r.dirty[:last]
		to.dirty = false
		switch {
		case to.batch != nil:
			r.handOver(to)
		case to.Inbox == nil:
			r.check(to)
		}
	}
}

// check notes a target whose gates are closed.
func (r *Router) check(to *Target) {
	if !r.closed(to) {
		return
	}
	if !slices.Contains(r.full, to) {
		r.full = append(r.full, to)
	}
}

func (r *Router) closed(to *Target) bool {
	for _, in := range to.Gates {
		if in.Over() {
			return true
		}
	}
	return slices.ContainsFunc(to.RemoteGates, r.blocked)
}

func (r *Router) blocked(task int32) bool { return r.remote.Blocked(task) }

// Full says whether the executor should wait, as far as was seen when something was handed over.
func (r *Router) Full() bool { return len(r.full) > 0 }

// Room looks again, and says whether the executor may go on. If not, w is woken when it is worth another look; for tasks of other workers
// somebody else has to.
func (r *Router) Room(w chan struct{}) bool {
	still := r.full[:0]
	for _, to := range r.full {
		waits := false
		for _, in := range to.Gates {
			waits = in.await(w) || waits
		}
		if waits || slices.ContainsFunc(to.RemoteGates, r.blocked) {
			still = append(still, to)
		}
	}
	r.full, r.sent = still, 0
	return len(still) == 0
}

// holdAfter is how many full batches may follow a closed gate before the sender is stopped where it is.
const holdAfter = 8

// hold stops a sender that does not come back to its loop.
func (r *Router) hold() {
	if len(r.full) == 0 {
		return
	}
	if r.sent++; r.sent >= holdAfter {
		r.sent = 0
		r.Hold()
	}
}
