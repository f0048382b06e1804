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
	// beatTimeout is shorter, because a late heartbeat is worth less than the next one.
	beatTimeout = 5 * time.Second
)

// tellBeats reports all heartbeats until ctx ends. The report goes out with no worker too: a restarted Nimbus waits for
// a word from every supervisor before it moves anything.
func (s *Supervisor) tellBeats(ctx context.Context) error {
	ticker := time.NewTicker(s.cfg.BeatEvery)
	defer ticker.Stop()
	trouble := newTrouble(s.log, "heartbeats cannot be reported, workers go on", "heartbeats are reported again")
	for {
		err := s.tellBeatsOnce(ctx)
		if trouble.report(err) {
			s.askNow() // Nimbus may have been away while something changed
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (s *Supervisor) tellBeatsOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	beats := &storm.SupervisorWorkerHeartbeats{SupervisorID: s.id, WorkerHeartbeats: s.board.heartbeats()}
	return s.nimbus.call(ctx, func(ctx context.Context, c *leader.Nimbus) error {
		return c.SendSupervisorWorkerHeartbeats(ctx, beats)
	})
}

// trouble logs the first of a row of faults and the end of the row, for what is tried again and again.
type trouble struct {
	log         *zap.Logger
	begun, over string
	since       time.Time
}

func newTrouble(log *zap.Logger, begun, over string) *trouble {
	return &trouble{log: log, begun: begun, over: over}
}

// report takes the outcome of a try and says whether it ended a row of faults.
func (t *trouble) report(err error) (recovered bool) {
	switch {
	case err != nil && t.since.IsZero():
		t.since = time.Now()
		t.log.Warn(t.begun, zap.Error(err))
	case err == nil && !t.since.IsZero():
		t.log.Info(t.over, zap.Duration("after", time.Since(t.since)))
		t.since = time.Time{}
		return true
	}
	return false
}
