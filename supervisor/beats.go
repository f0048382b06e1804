// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file tells Nimbus each second which workers live.

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/thrift/leader"
	"github.com/gust-stream/gust/thrift/storm"
)

const (
	// nimbusConnectTimeout and nimbusCallTimeout bound how long a silent Nimbus holds up a loop.
	nimbusConnectTimeout = 5 * time.Second
	nimbusCallTimeout    = 30 * time.Second
	// firstRetry is the pause after the first report that went wrong, so that a Nimbus that is just starting, as in gust
	// dev, does not cost a second. Each further pause is twice as long, up to the usual one.
	firstRetry = 20 * time.Millisecond
	// quietFor is how long something may go wrong before it is worth a line in the log.
	quietFor = 2 * time.Second
	// beatTimeout is shorter, because a late heartbeat is worth less than the next one.
	beatTimeout = 5 * time.Second
)

// tellBeats reports all heartbeats until ctx ends. The report goes out with no worker too: a restarted Nimbus waits for
// a word from every supervisor before it moves anything.
func (s *Supervisor) tellBeats(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	trouble := newTrouble(s.log, "heartbeats cannot be reported, workers go on", "heartbeats are reported again")
	retry := firstRetry
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		err := s.tellBeatsOnce(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if trouble.report(err) {
			s.askNow() // Nimbus may have been away while something changed
		}
		wait := s.cfg.BeatEvery
		if err != nil {
			wait, retry = min(wait, retry), min(2*retry, wait)
		} else {
			retry = firstRetry
		}
		timer.Reset(wait)
	}
}

func (s *Supervisor) tellBeatsOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	for _, part := range inParts(s.board.heartbeats(), maxBeats) {
		beats := &storm.SupervisorWorkerHeartbeats{SupervisorID: s.id, WorkerHeartbeats: part}
		err := s.nimbus.call(ctx, func(ctx context.Context, c *leader.Nimbus) error {
			return c.SendSupervisorWorkerHeartbeats(ctx, beats)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// maxBeats is how many executors stand in one report. Each takes 15 bytes, and Nimbus takes 1 MiB.
const maxBeats = 32_000

// inParts splits heartbeats into reports of at most most executors; there is one report at least.
func inParts(beats []*storm.SupervisorWorkerHeartbeat, most int) [][]*storm.SupervisorWorkerHeartbeat {
	parts := [][]*storm.SupervisorWorkerHeartbeat{{}}
	room := most
	for _, beat := range beats {
		executors := beat.Executors
		for {
			if room == 0 {
				parts, room = append(parts, nil), most
			}
			n := min(len(executors), room)
			last := &parts[len(parts)-1]
			*last = append(*last, &storm.SupervisorWorkerHeartbeat{StormID: beat.StormID, Executors: executors[:n], TimeSecs: beat.TimeSecs})
			executors, room = executors[n:], room-n
			if len(executors) == 0 {
				break
			}
		}
	}
	return parts
}

// trouble logs what goes wrong for a while once, and its end, for what is tried again and again.
type trouble struct {
	log         *zap.Logger
	begun, over string
	since       time.Time // of the first fault in a row
	logged      bool
}

func newTrouble(log *zap.Logger, begun, over string) *trouble {
	return &trouble{log: log, begun: begun, over: over}
}

// report takes the outcome of a try and says whether it ended a row of faults.
func (t *trouble) report(err error) (recovered bool) {
	if err == nil {
		recovered = !t.since.IsZero()
		if t.logged {
			t.log.Info(t.over, zap.Duration("after", time.Since(t.since)))
		}
		t.since, t.logged = time.Time{}, false
		return recovered
	}
	if t.since.IsZero() {
		t.since = time.Now()
	}
	if !t.logged && time.Since(t.since) >= quietFor {
		t.logged = true
		t.log.Warn(t.begun, zap.Error(err))
	}
	return false
}
