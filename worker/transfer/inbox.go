// SPDX-License-Identifier: Apache-2.0

package transfer

// This file holds what waits for an executor.

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Inbox holds the batches for one executor. Any goroutine puts, the executor's takes.
type Inbox struct {
	wake   chan struct{} // has room for one: the executor's
	mark   int64
	limit  int64           // of tuples: what is said of trees is always taken
	notify func(over bool) // may be nil

	size atomic.Int64 // messages put and not yet done
	over atomic.Bool  // size came to the mark, and has not been at half of it since; changed under mu

	mu      sync.Mutex
	queue   []*Batch        // guarded by mu
	parked  bool            // guarded by mu: the executor waits for wake
	waiters []chan struct{} // guarded by mu: of executors that wait for room

	arrived, dropped int64 // guarded by mu: messages of all time
}

// NewInbox makes an inbox. Senders stop at mark; at limit tuples that come are refused. wake has room for one and is what the executor waits for.
// notify, unless nil, is told when the mark is reached and when there is room again; it must not block.
func NewInbox(mark, limit int, wake chan struct{}, notify func(over bool)) *Inbox {
	return &Inbox{mark: int64(mark), limit: int64(max(mark, limit)), wake: wake, notify: notify}
}

// Put hands a batch over. It never waits; false says that the inbox is at its limit and the batch is still the caller's. A batch about trees
// is never refused: tuples that are lost would not be failed then, and those that are done would not be acked.
func (in *Inbox) Put(b *Batch) bool {
	n := int64(b.Len())
	size := in.size.Add(n)
	if size > in.limit && size > n && len(b.Trees) == 0 {
		in.size.Add(-n)
		in.mu.Lock()
		defer in.mu.Unlock()
		in.dropped += n
		return false
	}
	if size >= in.mark && !in.over.Load() {
		in.turn()
	}
	in.mu.Lock()
	in.queue = append(in.queue, b)
	in.arrived += n
	wake := in.parked
	in.parked = false
	in.mu.Unlock()
	if wake {
		Wake(in.wake)
	}
	return true
}

// Take gives all that waits. spare is a used slice of an earlier call.
func (in *Inbox) Take(spare []*Batch) []*Batch {
	clear(spare)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.parked = false
	taken := in.queue
	in.queue = spare[:0]
	return taken
}

// Park announces that the executor is about to wait for its wake channel; false says that there is something to take.
func (in *Inbox) Park() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.parked = len(in.queue) == 0
	return in.parked
}

// Done says that so many messages have been worked through.
func (in *Inbox) Done(messages int) {
	if size := in.size.Add(-int64(messages)); size <= in.mark/2 && in.over.Load() {
		in.turn()
	}
}

// turn brings over to what size says, and tells of it. Under the lock, so that the last one told is right.
func (in *Inbox) turn() {
	in.mu.Lock()
	defer in.mu.Unlock()
	// Again after each change: whoever changes size in between still sees the old over and leaves it to this one.
	for {
		over, size := in.over.Load(), in.size.Load()
		switch {
		case !over && size >= in.mark:
			over = true
		case over && size <= in.mark/2:
			over = false
		default:
			return
		}
		in.over.Store(over)
		if in.notify != nil {
			in.notify(over)
		}
		if !over {
			for _, w := range in.waiters {
				Wake(w)
			}
			in.waiters = nil
		}
	}
}

// await has w woken once there is room; false says that there is.
func (in *Inbox) await(w chan struct{}) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.over.Load() {
		return false
	}
	if !slices.Contains(in.waiters, w) {
		in.waiters = append(in.waiters, w)
	}
	return true
}

// Over says whether senders should stop.
func (in *Inbox) Over() bool { return in.over.Load() }

// Size is how many messages have been put and not done.
func (in *Inbox) Size() int { return int(in.size.Load()) }

// Mark is where senders stop.
func (in *Inbox) Mark() int { return int(in.mark) }

// Totals are the messages that came, and those that were refused, since the start.
func (in *Inbox) Totals() (arrived, dropped int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.arrived, in.dropped
}

// Load is how full it is, from 0 to 1.
func (in *Inbox) Load() float64 { return min(1, float64(in.size.Load())/float64(in.mark)) }

// Wake wakes whoever waits for a channel with room for one, now or when it next waits.
func Wake(w chan struct{}) {
	select {
	case w <- struct{}{}:
	default:
	}
}
