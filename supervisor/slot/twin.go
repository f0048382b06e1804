// SPDX-License-Identifier: Apache-2.0

package slot

// This file decides when a twin stands by for the worker, and when it becomes one.

import (
	"time"

	"github.com/gust-stream/gust/thrift/storm"
)

// twin is a JVM that does nothing yet.
type twin struct {
	seq        int
	assignment *storm.LocalAssignment
	since      time.Duration // of the Prepare
	up         bool
}

// scheduleTwin sets the time of the twin of a worker that has just begun to run. One whose forerunners died at their start
// has to outlive a quick death first: a twin would then only be more work for the machine.
func (m *Machine) scheduleTwin() {
	m.twinAt = max(m.twinAt, m.now+m.cfg.TwinDelay)
	if m.streak > 0 {
		m.twinAt = max(m.twinAt, m.worker.since+m.cfg.QuickDeath)
	}
}

// dropTwin ends a twin that cannot be used any more.
func (m *Machine) dropTwin() {
	if m.twin != nil && !m.twinFits() {
		m.discardTwin()
	}
}

// tendTwin ends a twin that is of no use and orders one where it is due.
func (m *Machine) tendTwin() {
	m.dropTwin()
	if m.twin != nil && m.now >= m.twinHungAt() {
		m.twinFailed("it did not come up in time")
	}
	if m.twin == nil && m.twinDue() && m.now >= m.twinAt {
		m.count++
		m.twin = &twin{seq: m.count, assignment: m.cur, since: m.now}
		m.do(Prepare{Seq: m.count, Assignment: m.cur})
	}
}

// twinFits says whether a worker launched next would be what the twin was prepared for, on the same files.
func (m *Machine) twinFits() bool {
	if m.state != Running && m.state != KillAndRelaunch {
		return false
	}
	return Equivalent(m.want, m.twin.assignment) && !m.held[m.twin.assignment.TopologyID].stale
}

func (m *Machine) twinDue() bool {
	return m.state == Running && m.held[m.cur.TopologyID].limits.Twin
}

// twinHungAt is when a twin that is not up yet counts as hung. One that is up is asked when it is used.
func (m *Machine) twinHungAt() time.Duration {
	if m.twin.up {
		return m.now + 1
	}
	return m.twin.since + m.held[m.twin.assignment.TopologyID].limits.FirstHeartbeat
}

// twinDeadline is when tendTwin has something to do without an event.
func (m *Machine) twinDeadline() (time.Duration, bool) {
	switch {
	case m.twin == nil:
		return m.twinAt, m.twinDue()
	case m.twin.up:
		return 0, false
	}
	return m.twinHungAt(), true
}

// takeTwin gives the Seq of the twin to launch, or 0, and leaves none: one that is not up would only compete with the
// worker for the processors.
func (m *Machine) takeTwin(a *storm.LocalAssignment) int {
	t := m.twin
	if t == nil {
		return 0
	}
	if !t.up || !m.twinFits() || !Equivalent(a, t.assignment) {
		m.discardTwin()
		return 0
	}
	m.twin, m.twinFaults = nil, 0
	return t.seq
}

// discardTwin orders the end of a twin that is nobody's fault.
func (m *Machine) discardTwin() {
	m.do(Discard{Seq: m.twin.seq})
	m.twin, m.twinFaults, m.twinAt = nil, 0, m.now
}

// twinFailed removes what is left of a twin and has the next one wait, longer each time.
func (m *Machine) twinFailed(why string) {
	m.do(Discard{Seq: m.twin.seq})
	m.twin = nil
	wait := m.cfg.TwinRetry
	for range m.twinFaults {
		if wait *= 2; wait >= m.cfg.TwinRetryMax {
			break
		}
	}
	wait = min(wait, m.cfg.TwinRetryMax)
	m.twinFaults++
	m.twinAt = m.now + wait
	m.warn("twin of the worker came to nothing, will prepare another", why+", next in "+wait.String())
}
