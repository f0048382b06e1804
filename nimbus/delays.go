// SPDX-License-Identifier: Apache-2.0

// Events that happen after a while: the removal of a killed topology, the work of a rebalance. They are not stored: each can be
// made again from the state of its topology, which is what a start does.

package nimbus

import (
	"slices"
	"sync"
	"time"

	"github.com/gust-stream/gust/nimbus/lifecycle"
)

// delayedEvent is something that will happen to a topology.
type delayedEvent struct {
	at    time.Time
	id    string
	event lifecycle.Event
}

// delays holds the events that wait, in the order of their time. It is safe for concurrent use.
type delays struct {
	mu sync.Mutex
	// guarded by mu
	waiting []delayedEvent
}

// add lets an event wait.
func (d *delays) add(e delayedEvent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, _ := slices.BinarySearchFunc(d.waiting, e, func(a, b delayedEvent) int {
		if a.at.After(b.at) {
			return 1
		}
		return -1 // equal times keep the order in which they came
	})
	d.waiting = slices.Insert(d.waiting, at, e)
}

// due takes out the events whose time has come.
func (d *delays) due(now time.Time) []delayedEvent {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for n < len(d.waiting) && !d.waiting[n].at.After(now) {
		n++
	}
	out := slices.Clone(d.waiting[:n])
	d.waiting = slices.Delete(d.waiting, 0, n)
	return out
}

// next is the time until the first event; ok is false when none waits.
func (d *delays) next(now time.Time) (wait time.Duration, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) == 0 {
		return 0, false
	}
	return max(0, d.waiting[0].at.Sub(now)), true
}

// clear drops all events.
func (d *delays) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = nil
}
