// SPDX-License-Identifier: Apache-2.0

package multilang

// This file decides whether a child is alive. It has no clock and no lock of its own but for heartbeats' times.

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// quickBeat and slowBeat are answers to a heartbeat that say that the child keeps up, or that it does not.
	quickBeat = 100 * time.Millisecond
	slowBeat  = time.Second
	// maxStride is so far that no heartbeat is put between tuples any more.
	maxStride = 1 << 20
	// maxBeats bounds the heartbeats that wait for an answer: a child that starts slowly is not to find hundreds.
	maxBeats = 8
)

// life is what is known of a child's life. Times are nanoseconds of a steady clock.
type life struct {
	last    atomic.Int64 // when something came from the child, or was first asked of it
	blocked atomic.Bool  // the reader waits for the executor: silence says nothing
	started atomic.Bool  // the child has answered something since the handshake
	waiting atomic.Bool  // an answer is due; always for bolts
	// stride is how many tuples may follow each other without a heartbeat while the child is silent. It makes sure that a slow child
	// which answers nothing else, however many tuples wait in front of it, has a heartbeat to answer every second or so.
	stride atomic.Int64

	mu    sync.Mutex // guards beats
	beats []int64    // when heartbeats without an answer were sent
}

func (l *life) sign(now int64) { l.last.Store(now) }

// beatRoom says whether a heartbeat should be sent.
func (l *life) beatRoom(now int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.beats) >= maxBeats {
		return false
	}
	l.beats = append(l.beats, now)
	return true
}

// beatSent notes a heartbeat that goes out whatever waits.
func (l *life) beatSent(now int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beats = append(l.beats, now)
}

// beatAnswered takes a sync.
func (l *life) beatAnswered(now int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.beats) == 0 {
		return
	}
	took := time.Duration(now - l.beats[0])
	l.beats = l.beats[1:]
	stride := l.stride.Load()
	switch {
	case took < quickBeat:
		l.stride.Store(min(2*stride, maxStride))
	case took > slowBeat:
		l.stride.Store(max(stride/2, 1))
	}
}

// silent is how long the child has owed a sign of life, 0 if it owes none.
func (l *life) silent(now int64) time.Duration {
	if l.blocked.Load() || !l.waiting.Load() {
		l.sign(now)
		return 0
	}
	return time.Duration(now - l.last.Load())
}
