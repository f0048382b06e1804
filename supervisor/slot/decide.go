// SPDX-License-Identifier: Apache-2.0

package slot

// This file holds the transitions: for each state, what follows from what the machine knows.

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gust-stream/gust/thrift/storm"
)

// decide takes at most one transition and says whether it took one, so that Step can follow a chain of them.
func (m *Machine) decide() bool {
	switch m.state {
	case Empty:
		return m.want != nil && m.enter(WaitingForBlobLocalization, m.want.TopologyID)
	case WaitingForBlobLocalization:
		return m.decideLocalization()
	case WaitingForWorkerStart, Running:
		return m.decideAlive()
	case Kill, KillAndRelaunch, KillBlobUpdate:
		return m.decideKill()
	case WaitingForBlobUpdate:
		return m.decideBlobUpdate()
	}
	return false
}

func (m *Machine) decideLocalization() bool {
	if m.want == nil {
		return m.enter(Empty, "assignment withdrawn")
	}
	if h := m.hold(m.want); !m.exchanged(m.want) || !h.ready || m.now < m.launchAt {
		return false
	}
	return m.launch(m.want)
}

// decideAlive finds the first reason, by weight, for which a launched worker cannot stay.
func (m *Machine) decideAlive() bool {
	w := m.worker
	switch {
	case !Equivalent(m.want, m.cur):
		return m.stopWorker(Kill, m.cfg.KillGrace, "assignment changed")
	case w.exited != "":
		m.diedEarly()
		m.warn("worker died, launching another", w.exited)
		// The process is gone; what may be left are its children, and nothing is to be waited for.
		return m.stopWorker(KillAndRelaunch, 0, w.exited)
	case w.restart != "":
		return m.stopWorker(KillAndRelaunch, 0, w.restart)
	case m.held[m.cur.TopologyID].stale:
		return m.stopWorker(KillBlobUpdate, m.cfg.KillGrace, "blobs changed")
	case w.started && m.now >= m.hungAt():
		m.warn("worker hangs, launching another", m.silence())
		return m.stopWorker(KillAndRelaunch, m.cfg.KillGrace, "no heartbeat")
	}
	if m.want != m.cur {
		m.setCurrent(m.want)
	}
	if m.state != WaitingForWorkerStart || !w.beating {
		return false
	}
	m.scheduleTwin()
	return m.enter(Running, "heartbeat")
}

// decideKill waits for the end of the worker; what comes after it depends on what is wanted by then.
func (m *Machine) decideKill() bool {
	if m.want != nil {
		m.hold(m.want) // so that the files arrive while the old worker ends
	}
	if m.state != Kill && !Equivalent(m.want, m.cur) {
		return m.enter(Kill, "assignment changed")
	}
	if m.worker != nil {
		m.orderStop()
		return false
	}
	switch {
	case m.state == Kill:
		m.setCurrent(nil)
		if m.want == nil {
			return m.enter(Empty, "no assignment")
		}
		return m.enter(WaitingForBlobLocalization, m.want.TopologyID)
	case m.held[m.cur.TopologyID].stale:
		return m.enter(WaitingForBlobUpdate, m.cur.TopologyID)
	case m.now < m.launchAt:
		return false
	}
	return m.launch(m.want)
}

func (m *Machine) decideBlobUpdate() bool {
	if !Equivalent(m.want, m.cur) {
		return m.enter(Kill, "assignment changed")
	}
	return m.exchanged(m.cur) && m.launch(m.want)
}

// exchanged says whether the files of an assignment are the newest, and orders their exchange if they are not. It is
// asked only while no worker runs on them here; after too long a wait for the other slots the old files do.
func (m *Machine) exchanged(a *storm.LocalAssignment) bool {
	h := m.held[a.TopologyID]
	switch {
	case !h.stale:
		return true
	case h.updating == 0:
		m.count++
		h.updating, h.giveUp = m.count, m.now+m.cfg.BlobUpdateLimit
		m.do(UpdateBlobs{Attempt: m.count, Assignment: a})
		return false
	case m.now < h.giveUp:
		return false
	}
	h.updating, h.stale = 0, false
	m.warn("blobs were not exchanged, going on with the old ones", a.TopologyID+": time is over")
	return true
}

// launch orders a worker. The assignment is saved first, so that a supervisor that dies in between finds its worker.
func (m *Machine) launch(a *storm.LocalAssignment) bool {
	m.setCurrent(a)
	twin := m.takeTwin(a)
	m.count++
	m.worker = &worker{seq: m.count, since: m.now}
	m.do(Launch{Seq: m.count, Assignment: a, Twin: twin})
	return m.enter(WaitingForWorkerStart, a.TopologyID)
}

func (m *Machine) stopWorker(next State, grace time.Duration, why string) bool {
	m.worker.stop = &stop{grace: grace}
	return m.enter(next, why)
}

// orderStop orders the end of the worker once its launch was answered, and again when no answer came in good time.
func (m *Machine) orderStop() {
	w := m.worker
	if !w.started || (w.stop.ordered && m.now < w.stop.retryAt) {
		return
	}
	if w.stop.ordered {
		m.warn("worker is still there, killing it again", "")
		w.stop.grace = 0
	}
	w.stop.ordered = true
	w.stop.retryAt = m.now + w.stop.grace + m.cfg.KillRetry
	m.do(Stop{Seq: w.seq, Grace: w.stop.grace})
}

// hold makes sure that the files of an assignment are on the disk or on their way.
func (m *Machine) hold(a *storm.LocalAssignment) *holding {
	h := m.held[a.TopologyID]
	if h == nil {
		h = &holding{retryAt: m.now}
		m.held[a.TopologyID] = h
	}
	if !h.ready && h.attempt == 0 && m.now >= h.retryAt {
		m.count++
		h.attempt = m.count
		m.do(Localize{Attempt: m.count, Assignment: a})
	}
	return h
}

// releaseUnused gives back the files of topologies that are neither served nor wanted here any more.
func (m *Machine) releaseUnused() {
	for _, id := range slices.Sorted(maps.Keys(m.held)) {
		if (m.want == nil || m.want.TopologyID != id) && (m.cur == nil || m.cur.TopologyID != id) {
			delete(m.held, id)
			m.do(Release{TopologyID: id})
		}
	}
}

func (m *Machine) setCurrent(a *storm.LocalAssignment) {
	if m.cur != a {
		m.cur = a
		m.do(Save{Assignment: a})
	}
}

func (m *Machine) enter(s State, why string) bool {
	m.do(Note{Text: "slot state changed", Detail: fmt.Sprintf("%s -> %s: %s", m.state, s, why)})
	m.state = s
	return true
}

// diedEarly counts a death at start, or ends the row after a life that was long enough.
func (m *Machine) diedEarly() {
	if m.worker.adopted || m.now-m.worker.since >= m.cfg.QuickDeath {
		m.streak, m.launchAt = 0, 0
		return
	}
	m.quickDeath()
}

// quickDeath sets the time of the next launch: at once after the first death, then later and later.
func (m *Machine) quickDeath() {
	m.streak++
	m.launchAt = m.now
	if m.streak < 2 {
		return
	}
	wait := m.cfg.Backoff
	for range m.streak - 2 {
		if wait *= 2; wait >= m.cfg.BackoffMax {
			break
		}
	}
	wait = min(wait, m.cfg.BackoffMax)
	m.launchAt += wait
	m.warn("worker dies again and again at its start, waiting before the next launch",
		fmt.Sprintf("%d deaths in a row, next launch in %s", m.streak, wait))
}

// hungAt is when a silent worker counts as hung.
func (m *Machine) hungAt() time.Duration {
	limits := m.held[m.cur.TopologyID].limits
	if m.worker.beating {
		return m.worker.beat + limits.Heartbeat
	}
	return m.worker.since + limits.FirstHeartbeat
}

func (m *Machine) silence() string {
	if m.worker.beating {
		return fmt.Sprintf("no heartbeat for %s", m.now-m.worker.beat)
	}
	return fmt.Sprintf("no first heartbeat within %s", m.now-m.worker.since)
}
