// SPDX-License-Identifier: Apache-2.0

// Package clock holds the one thing about time that many parts need and the standard library does not have: a wait that ends
// with its context. It is no clock that tests can set; parts that decide by time take the time as a value instead.
//
// It stands for no Storm class. Everything above the pure packages may call it.
package clock

import (
	"context"
	"time"
)

// Wait waits for d and returns nil, or the context's cause if ctx ends before that.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
