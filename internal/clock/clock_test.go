// SPDX-License-Identifier: Apache-2.0

package clock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gust-stream/gust/internal/clock"
)

func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := clock.Wait(t.Context(), time.Second); err != nil || time.Since(began) != time.Second {
			t.Errorf("waited %v, %v", time.Since(began), err)
		}
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(why) })
		began = time.Now()
		if err := clock.Wait(ctx, time.Hour); !errors.Is(err, why) || time.Since(began) != time.Minute {
			t.Errorf("waited %v, %v", time.Since(began), err)
		}
		if err := clock.Wait(ctx, time.Hour); !errors.Is(err, why) || time.Since(began) != time.Minute {
			t.Errorf("a wait whose context has ended took %v, %v", time.Since(began), err)
		}
	})
}
