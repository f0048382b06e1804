// SPDX-License-Identifier: Apache-2.0

package worker

// This file gives back the memory that only the start needed.

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/internal/clock"
	"github.com/gust-stream/gust/internal/footprint"
)

// settleAfter is when a worker has long started, its children included.
const settleAfter = 5 * time.Second

func (w *Worker) settle(ctx context.Context) {
	if clock.Wait(ctx, settleAfter) != nil {
		return
	}
	if err := footprint.Shrink(); err != nil {
		w.log.Debug("memory of the start is kept", zap.Error(err))
	}
}
