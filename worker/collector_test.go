// SPDX-License-Identifier: Apache-2.0

package worker

// This file tests how often garbage is collected.

import (
	"testing"

	"pgregory.net/rapid"
)

func TestCollectorIsPacedByLoad(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := rapid.SampledFrom([]int{defaultPercent, busyPercent}).Draw(t, "now")
		cycles := rapid.Uint64Range(0, 200).Draw(t, "cycles")
		next := percentFor(now, cycles)
		switch {
		case cycles >= busyCycles && next != busyPercent, cycles <= calmCycles && next != defaultPercent:
			t.Errorf("%d after %d collections", next, cycles)
		case calmCycles < cycles && cycles < busyCycles && next != now:
			t.Errorf("%d became %d after %d collections", now, next, cycles)
		}
		// Four times fewer collections of the same load must not lead back, else it would swing.
		if next == busyPercent && now == defaultPercent && percentFor(next, cycles/4) != busyPercent {
			t.Errorf("%d collections, then a fourth of them: it swings", cycles)
		}
	})
}
