// SPDX-License-Identifier: Apache-2.0

// Who is alive: what heartbeats said, and when this process heard them. All ages come from the monotonic clock, so setting the
// machine's clock makes nobody dead.

package nimbus

import (
	"sync"
	"time"

	"github.com/gust-stream/gust/thrift/storm"
)

// beat is the last sign of life of one executor.
type beat struct {
	// reported is the worker's own time stamp: a beat counts only if it changed.
	reported int32
	// seen is when it last changed, by our clock.
	seen time.Time
}

// liveness remembers the heartbeats of executors and supervisors. It is safe for concurrent use.
type liveness struct {
	mu sync.Mutex
	// guarded by mu
	beats map[string]map[storm.ExecutorID]beat
	// supervisors holds when each supervisor was last heard since this Nimbus began to lead; guarded by mu.
	supervisors map[string]time.Time
	// started is when this Nimbus began to lead; guarded by mu.
	started time.Time
	// since is the moment before which silence is not held against anybody; guarded by mu.
	since time.Time
}

func newLiveness(now time.Time) *liveness {
	return &liveness{
		beats:       map[string]map[storm.ExecutorID]beat{},
		supervisors: map[string]time.Time{},
		started:     now,
		since:       now,
	}
}

// lead starts anew with nobody heard.
func (l *liveness) lead(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.beats)
	clear(l.supervisors)
	l.started, l.since = now, now
}

// forgive starts all silences anew: after a start, or when this process itself was stopped for a while and could hear nobody.
func (l *liveness) forgive(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since = now
}

// workerBeat takes in the heartbeat of one worker.
func (l *liveness) workerBeat(hb *storm.SupervisorWorkerHeartbeat, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addBeat(hb, now)
}

func (l *liveness) addBeat(hb *storm.SupervisorWorkerHeartbeat, now time.Time) {
	topology := l.beats[hb.StormID]
	if topology == nil {
		topology = make(map[storm.ExecutorID]beat, len(hb.Executors))
		l.beats[hb.StormID] = topology
	}
	for _, e := range hb.Executors {
		if e == nil {
			continue
		}
		id := storm.ExecutorID{int64(e.TaskStart), int64(e.TaskEnd)}
		old, known := topology[id]
		if !known || old.reported != hb.TimeSecs {
			topology[id] = beat{reported: hb.TimeSecs, seen: now}
		}
	}
}

// supervisorBeat takes in what a supervisor reports of itself and its workers, and says how long it had been silent; first is true
// if it had never been heard. The caller has dropped what the supervisor does not run.
func (l *liveness) supervisorBeat(hbs *storm.SupervisorWorkerHeartbeats, now time.Time) (silence time.Duration, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if hbs.SupervisorID != "" {
		last, heard := l.supervisors[hbs.SupervisorID]
		silence, first = now.Sub(latest(last, l.since)), !heard
		l.supervisors[hbs.SupervisorID] = now
	}
	for _, hb := range hbs.WorkerHeartbeats {
		if hb != nil {
			l.addBeat(hb, now)
		}
	}
	return silence, first
}

// left notes that a supervisor's entry vanished. One that was never heard counts as heard now, so that its silence begins.
func (l *liveness) left(node string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, heard := l.supervisors[node]; !heard {
		l.supervisors[node] = now
	}
}

// forgetTopology drops all beats of a topology.
func (l *liveness) forgetTopology(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.beats, id)
}

// forgetSupervisors drops the supervisors that keep does not want.
func (l *liveness) forgetSupervisors(keep func(node string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for node := range l.supervisors {
		if !keep(node) {
			delete(l.supervisors, node)
		}
	}
}

// executorSilence implements heard.
func (l *liveness) executorSilence(topology string, id storm.ExecutorID, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Sub(latest(l.beats[topology][id].seen, l.since))
}

// supervisorSilence implements heard.
func (l *liveness) supervisorSilence(node string, now time.Time) (silence time.Duration, reported bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, reported := l.supervisors[node]
	return now.Sub(latest(last, l.since)), reported
}

// leading implements heard.
func (l *liveness) leading(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Sub(l.started)
}

// answered notes that the worker of these executors took a connection on its port: it lives, whatever its supervisor does.
func (l *liveness) answered(topology string, ids []storm.ExecutorID, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	beats := l.beats[topology]
	if beats == nil {
		beats = map[storm.ExecutorID]beat{}
		l.beats[topology] = beats
	}
	for _, id := range ids {
		b := beats[id]
		b.seen = now
		beats[id] = b
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
