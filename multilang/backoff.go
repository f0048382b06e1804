// SPDX-License-Identifier: Apache-2.0

package multilang

// This file says how long to wait before a child is started again.

import "time"

const (
	firstWait = 100 * time.Millisecond
	longWait  = 30 * time.Second
	// fineRun is so long a life that what came before is forgotten.
	fineRun = time.Minute
)

// Backoff is the pauses of one task's children. The first restart is at once, further ones wait twice as long each.
type Backoff struct{ wait time.Duration }

// Next is the pause before the next child; ran is how long the last one lived.
func (b *Backoff) Next(ran time.Duration) time.Duration {
	if ran >= fineRun {
		b.wait = 0
	}
	now := b.wait
	b.wait = min(max(2*b.wait, firstWait), longWait)
	return now
}
