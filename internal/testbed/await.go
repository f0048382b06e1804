// SPDX-License-Identifier: Apache-2.0

// This file waits for conditions.

package testbed

import (
	"context"
	"fmt"
	"time"
)

// Await looks at a condition every so often until it holds. It ends with an error when the condition gives one or the context
// ends; the error says what was awaited.
func Await(ctx context.Context, what string, every time.Duration, holds func() (bool, error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		ok, err := holds()
		if err != nil {
			return fmt.Errorf("await %s: %w", what, err)
		}
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("await %s: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
}
