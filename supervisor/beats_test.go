// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file checks what is said about faults that come in rows.

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

func TestTroubleIsLoggedOnceAndOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		trouble := newTrouble(zap.New(core), "begun", "over")
		fault := errors.New("no route")
		wait := func(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // in the bubble of synctest
		if trouble.report(nil) {
			t.Error("nothing was wrong, and it is over")
		}
		trouble.report(fault)
		wait(time.Second)
		if !trouble.report(nil) {
			t.Error("the end of a short row is not told")
		}
		for range 5 {
			trouble.report(fault)
			wait(time.Second)
		}
		trouble.report(nil)
		var lines []string
		for _, entry := range logs.All() {
			lines = append(lines, entry.Message)
		}
		if diff := cmp.Diff([]string{"begun", "over"}, lines); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}
