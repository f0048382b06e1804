// SPDX-License-Identifier: Apache-2.0

// This file waits for conditions.

package harness

import (
	"context"
	"time"

	"github.com/gust-stream/gust/internal/testbed"
)

// poll is how often a condition is looked at.
const poll = 50 * time.Millisecond

// Await looks at a condition until it holds. It ends with an error when the
// condition gives one or the context ends; the error says what was awaited.
func Await(ctx context.Context, what string, holds func() (bool, error)) error {
	return testbed.Await(ctx, what, poll, holds)
}
