// SPDX-License-Identifier: Apache-2.0

package worker

// This file says that the worker lives: in a file for the supervisor, by a call to it, and with statistics for Nimbus.

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/thrift/storm"
)

// systemExecutor is the one that every Java worker has beside its own.
const systemExecutor = -1

// beatLocally writes the heartbeat file by which the supervisor judges this worker. It stands apart from everything that could
// wait for somebody.
func (w *Worker) beatLocally(ctx context.Context) error {
	writer := localstate.NewHeartbeatWriter(w.layout.WorkerHeartbeats(w.args.WorkerID))
	trouble := newTrouble(w.log, "heartbeat could not be written", "heartbeats are written again")
	every(ctx, w.times.beat, func() {
		now := time.Now()
		trouble.report(writer.Write(now, &storm.LSWorkerHeartbeat{
			TimeSecs: seconds(now), TopologyID: w.args.TopologyID, Executors: w.executorInfos(), Port: int32(w.args.Port), //nolint:gosec // a port
		}))
	})
	return nil
}

// beatRemotely tells the supervisor.
func (w *Worker) beatRemotely(ctx context.Context) error {
	trouble := newTrouble(w.log, "heartbeat could not be sent", "heartbeats are sent again")
	every(ctx, w.times.beat, func() {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		err := w.upstream.beat(ctx, &storm.SupervisorWorkerHeartbeat{
			StormID: w.args.TopologyID, Executors: w.executorInfos(), TimeSecs: seconds(time.Now()),
		})
		if ctx.Err() == nil {
			trouble.report(err)
		}
	})
	return nil
}

// tellStats writes the statistics that Nimbus and the UI show.
func (w *Worker) tellStats(ctx context.Context) error {
	trouble := newTrouble(w.log, "statistics could not be written", "statistics are written again")
	every(ctx, w.times.stats, func() {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		err := w.cluster.SetWorkerBeat(ctx, w.args.TopologyID, w.args.SupervisorID, int64(w.args.Port), w.statsBeat(time.Now()))
		if ctx.Err() == nil {
			trouble.report(err)
		}
	})
	return nil
}

func (w *Worker) statsBeat(now time.Time) *storm.ClusterWorkerHeartbeat {
	stats := w.engine.Stats()
	beat := &storm.ClusterWorkerHeartbeat{
		StormID: w.args.TopologyID, TimeSecs: seconds(now), UptimeSecs: int32(now.Sub(w.started) / time.Second), //nolint:gosec // 68 years
		ExecutorStats: make(map[*storm.ExecutorInfo]*storm.ExecutorStats, len(stats)),
	}
	for e, s := range stats {
		beat.ExecutorStats[&storm.ExecutorInfo{TaskStart: e[0], TaskEnd: e[1]}] = s
	}
	return beat
}

// executorInfos lists the executors of this worker with the system's one, as a Java worker does.
func (w *Worker) executorInfos() []*storm.ExecutorInfo {
	infos := make([]*storm.ExecutorInfo, 0, len(w.executors)+1)
	for _, e := range w.executors {
		infos = append(infos, &storm.ExecutorInfo{TaskStart: e[0], TaskEnd: e[1]})
	}
	return append(infos, &storm.ExecutorInfo{TaskStart: systemExecutor, TaskEnd: systemExecutor})
}

func seconds(t time.Time) int32 { return int32(t.Unix()) } //nolint:gosec // until 2038, as the field itself

// every calls do at once and then again and again, until ctx ends.
func every(ctx context.Context, pause time.Duration, do func()) {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for ctx.Err() == nil {
		do()
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// trouble logs the first of several failures in a row, and their end.
type trouble struct {
	log         *zap.Logger
	begin, over string
	on          bool
}

func newTrouble(log *zap.Logger, begin, over string) *trouble {
	return &trouble{log: log, begin: begin, over: over}
}

func (t *trouble) report(err error) {
	switch {
	case err != nil && !t.on:
		t.log.Warn(t.begin, zap.Error(err))
	case err == nil && t.on:
		t.log.Info(t.over)
	}
	t.on = err != nil
}
