// SPDX-License-Identifier: Apache-2.0

package multilang

// This file lets a reader watch its pipe for a moment before it sleeps. A child that has work says the next thing some ten microseconds after it
// was answered; to put a thread and a processor to sleep for that, and to wake both, takes ten times as long.

import (
	"sync/atomic"
	"time"
)

// Vigils bounds how many readers of a process watch at a time: each takes a processor, which children need too.
type Vigils struct{ free atomic.Int64 }

// NewVigils lets n readers watch at a time.
func NewVigils(n int) *Vigils {
	var w Vigils
	w.free.Store(int64(n))
	return &w
}

func (w *Vigils) take() bool {
	if w == nil {
		return false
	}
	if w.free.Add(-1) >= 0 {
		return true
	}
	w.free.Add(1)
	return false
}

func (w *Vigils) give() { w.free.Add(1) }

const (
	// vigilTime is how long a reader watches.
	vigilTime = 100 * time.Microsecond
	// maxMissed bounds how rarely a reader tries again whose child has been slower than that: each 2^maxMissed times.
	maxMissed = 6
)

// vigil is one reader's.
type vigil struct {
	all    *Vigils // nil: it never watches
	expect bool    // the child has work, and all that it said was answered

	missed, skip int
}

// begin says whether the next read is worth watching for. It is followed by end then.
func (v *vigil) begin() bool {
	if !v.expect {
		return false
	}
	v.expect = false
	if v.skip > 0 {
		v.skip--
		return false
	}
	return v.all.take()
}

// end takes note of how it went.
func (v *vigil) end(hit bool) {
	v.all.give()
	if hit {
		v.missed = 0
		return
	}
	v.missed = min(v.missed+1, maxMissed)
	v.skip = 1<<v.missed - 1
}
