// SPDX-License-Identifier: Apache-2.0

package worker

// This file lets a busy worker collect garbage less often. A worker's heap is a few megabytes, so at a million tuples a second Go would
// collect it dozens of times a second. An idle one keeps Go's default, and so its small heap.

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// defaultPercent is Go's: the heap may double between two collections.
	defaultPercent = 100
	busyPercent    = 400
	// Collections a second from which a worker is busy, and below which it is not any more, by the heap that it has then.
	busyCycles = 20
	calmCycles = 2
)

// paceCollector looks each second. Who set GOGC for the worker knows better.
func paceCollector(ctx context.Context) {
	sample := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	if percent := debug.SetGCPercent(defaultPercent); percent != defaultPercent {
		debug.SetGCPercent(percent)
		return
	}
	defer debug.SetGCPercent(defaultPercent)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	percent, before := defaultPercent, uint64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		metrics.Read(sample)
		cycles := sample[0].Value.Uint64() - before
		before += cycles
		if next := percentFor(percent, cycles); next != percent {
			percent = next
			debug.SetGCPercent(percent)
		}
	}
}

// percentFor is how much the heap may grow between two collections, by what it may now and the collections of the last second.
func percentFor(now int, cycles uint64) int {
	switch {
	case cycles >= busyCycles:
		return busyPercent
	case cycles <= calmCycles:
		return defaultPercent
	}
	return now
}
