// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file checks what is said about faults that come in rows.

import (
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"pgregory.net/rapid"

	"github.com/gust-stream/gust/thrift/storm"
)

// TestHeartbeatsInParts splits what is too much for one report, so that no executor is lost or told of twice.
func TestHeartbeatsInParts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var beats []*storm.SupervisorWorkerHeartbeat
		want := map[string][]int32{}
		for i, n := range rapid.SliceOfN(rapid.IntRange(0, 30), 0, 5).Draw(t, "executors") {
			beat := &storm.SupervisorWorkerHeartbeat{StormID: strconv.Itoa(i), TimeSecs: int32(i), Executors: []*storm.ExecutorInfo{}}
			want[beat.StormID] = nil
			for e := range n {
				beat.Executors = append(beat.Executors, &storm.ExecutorInfo{TaskStart: int32(e), TaskEnd: int32(e)})
				want[beat.StormID] = append(want[beat.StormID], int32(e))
			}
			beats = append(beats, beat)
		}
		parts := inParts(beats, 10)
		if len(parts) == 0 {
			t.Fatal("nothing is reported")
		}
		got := map[string][]int32{}
		for _, part := range parts {
			size := 0
			for _, beat := range part {
				got[beat.StormID] = append(got[beat.StormID], nil...)
				if strconv.Itoa(int(beat.TimeSecs)) != beat.StormID {
					t.Errorf("%s was reported with the time %d", beat.StormID, beat.TimeSecs)
				}
				for _, e := range beat.Executors {
					got[beat.StormID] = append(got[beat.StormID], e.TaskStart)
				}
				size += len(beat.Executors)
			}
			if size > 10 {
				t.Errorf("one report has %d executors", size)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("reported (-want +got):\n%s", diff)
		}
	})
}

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
