// SPDX-License-Identifier: Apache-2.0

// Who counts as dead: a pure decision over what was heard and when.

package nimbus

import (
	"maps"
	"time"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
)

// limits are the silences that the judgement goes by.
type limits struct {
	detection, task, launch, recovery time.Duration
}

// heard is what the judgement needs to know of heartbeats.
type heard interface {
	// executorSilence is the time since an executor's last sign of life, or since silence began to count.
	executorSilence(topology string, id storm.ExecutorID, now time.Time) time.Duration
	// supervisorSilence is the same for a supervisor; reported says whether it was ever heard since this Nimbus leads.
	supervisorSilence(node string, now time.Time) (silence time.Duration, reported bool)
	// leading is the time since this Nimbus began to lead.
	leading(now time.Time) time.Duration
}

// judgement says who is dead.
type judgement struct {
	// lost are supervisors that are gone together with their workers.
	lost map[string]bool
	// suspects are supervisors that will be lost shortly unless one of their workers answers.
	suspects map[string]bool
	// dead are the executors that must be placed anew, by topology id.
	dead map[string]map[storm.ExecutorID]bool
}

func (j judgement) isDead(topology string, id storm.ExecutorID) bool { return j.dead[topology][id] }

// same says whether two judgements call for the same placement.
func (j judgement) same(other judgement) bool {
	return maps.Equal(j.lost, other.lost) && maps.EqualFunc(j.dead, other.dead, maps.Equal[map[storm.ExecutorID]bool, map[storm.ExecutorID]bool])
}

// judge finds the lost supervisors and the dead executors.
//
// A supervisor is lost when it was silent for the detection timeout and none of its executors gave a sign of life for as long. A
// supervisor that died alone keeps its workers: they beat at Nimbus themselves, or answer on their port when Nimbus asks. After a
// start of Nimbus nobody is judged before it could speak: see patience.
func judge(topologies []*topologyState, present func(node string) bool, h heard, l limits, now time.Time) judgement {
	j := judgement{lost: map[string]bool{}, suspects: map[string]bool{}, dead: map[string]map[storm.ExecutorID]bool{}}
	for node, silence := range nodeSilence(topologies, h, now) {
		own, reported := h.supervisorSilence(node, now)
		if !reported && (present(node) || h.leading(now) < l.task) {
			continue
		}
		switch quiet := min(own, silence); {
		case quiet >= l.detection:
			j.lost[node] = true
		case quiet >= l.detection-probeAhead(l.detection):
			j.suspects[node] = true
		}
	}
	for _, t := range topologies {
		if t.assignment == nil {
			continue
		}
		timeout := executorTimeout(t, l)
		launch := max(l.launch, timeout)
		for id, slot := range t.assignment.ExecutorNodePort {
			if j.lost[slot.Node] || (patient(slot.Node, present, h, l, now) && now.Sub(t.placed[id]) >= launch &&
				h.executorSilence(t.id, id, now) >= timeout) {
				if j.dead[t.id] == nil {
					j.dead[t.id] = map[storm.ExecutorID]bool{}
				}
				j.dead[t.id][id] = true
			}
		}
	}
	return j
}

// patient says whether the executors of a supervisor may be judged: it was heard since this Nimbus leads, or had long enough to
// speak. One that is registered gets the recovery time, one that is not gets the time of an executor.
func patient(node string, present func(string) bool, h heard, l limits, now time.Time) bool {
	if _, reported := h.supervisorSilence(node, now); reported {
		return true
	}
	if present(node) {
		return h.leading(now) >= l.recovery
	}
	return h.leading(now) >= l.task
}

// nodeSilence is, for each supervisor with executors, the time since the last sign of life of any of them.
func nodeSilence(topologies []*topologyState, h heard, now time.Time) map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, t := range topologies {
		if t.assignment == nil {
			continue
		}
		for id, slot := range t.assignment.ExecutorNodePort {
			silence := h.executorSilence(t.id, id, now)
			if least, ok := out[slot.Node]; !ok || silence < least {
				out[slot.Node] = silence
			}
		}
	}
	return out
}

// executorTimeout is nimbus.task.timeout.secs, or the topology's own worker timeout where that is longer.
func executorTimeout(t *topologyState, l limits) time.Duration {
	own := time.Duration(t.code.conf.Int(config.TopologyWorkerTimeoutSecs, 0)) * time.Second
	return max(l.task, own)
}

// probeAhead is how long before the detection timeout the workers of a silent supervisor are asked.
func probeAhead(detection time.Duration) time.Duration { return min(detection/4, time.Second) }
