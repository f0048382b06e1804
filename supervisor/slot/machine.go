// SPDX-License-Identifier: Apache-2.0

package slot

// This file is the machine's memory, and how each event changes what it knows; decide.go says what follows from that.

import (
	"fmt"
	"time"

	"github.com/gust-stream/gust/thrift/storm"
)

// Machine is the state of one port. It is not safe for concurrent use: one goroutine owns it.
type Machine struct {
	cfg   Config
	now   time.Duration
	out   []Action
	count int // the last Seq or Attempt given out

	state State
	// want is what Nimbus assigned last, cur is what the worker was launched for and what is saved.
	want, cur *storm.LocalAssignment
	// held are the topologies whose files this slot has a reference on: those of want and cur.
	held   map[string]*holding
	worker *worker

	// streak counts the quick deaths in a row of workers of cur's topology; launchAt is when the next may start.
	streak   int
	launchAt time.Duration

	// twin stands by for worker, twinAt is when the next one may be prepared, twinFaults counts those in a row that came to
	// nothing.
	twin       *twin
	twinAt     time.Duration
	twinFaults int
}

// holding is what is known about one topology's files.
type holding struct {
	attempt int // of the Localize under way, or 0
	ready   bool
	retryAt time.Duration
	limits  Limits

	stale    bool // there are newer files, or may be
	updating int  // attempt of the UpdateBlobs under way, or 0
	giveUp   time.Duration
}

// worker is the one process of the slot.
type worker struct {
	seq     int
	started bool // the launch was answered
	adopted bool
	since   time.Duration // of the launch
	beat    time.Duration // of the last heartbeat
	beating bool
	exited  string // why the process ended, or ""
	restart string // why a new one was asked for, or ""
	stop    *stop
}

// stop is an end that was ordered for the worker.
type stop struct {
	grace   time.Duration
	ordered bool
	retryAt time.Duration
}

// New returns the machine of an empty port.
func New(cfg Config) *Machine {
	return &Machine{cfg: cfg, held: map[string]*holding{}}
}

// State tells where the slot stands.
func (m *Machine) State() State { return m.state }

// Current returns the assignment that the slot's worker serves, or nil.
func (m *Machine) Current() *storm.LocalAssignment { return m.cur }

// Worker returns the Seq of the slot's worker, or 0 when there is none.
func (m *Machine) Worker() int {
	if m.worker == nil {
		return 0
	}
	return m.worker.seq
}

// Twin returns the Seq of the twin that is up, or 0 when there is none.
func (m *Machine) Twin() int {
	if m.twin == nil || !m.twin.up {
		return 0
	}
	return m.twin.seq
}

// Step takes one event at the time now and returns what to do about it. Time is counted from any fixed moment by a clock
// that never runs backwards; a now before an earlier one is taken for that one.
func (m *Machine) Step(now time.Duration, ev Event) []Action {
	m.now = max(m.now, now)
	m.out = nil
	m.learn(ev)
	m.dropTwin() // before its files are touched
	for m.decide() {
	}
	m.tendTwin()
	m.releaseUnused()
	return m.out
}

// Deadline returns when the machine must be stepped again (Tick) if no event comes before; false means never.
func (m *Machine) Deadline() (time.Duration, bool) {
	at, ok := time.Duration(0), false
	consider := func(t time.Duration) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	switch m.state {
	case Empty:
	case WaitingForBlobLocalization:
		if h := m.held[m.want.TopologyID]; h.stale {
			consider(h.giveUp)
		} else if h.ready {
			consider(m.launchAt)
		}
	case WaitingForWorkerStart, Running:
		if m.worker.started {
			consider(m.hungAt())
		}
		if at, ok := m.twinDeadline(); ok {
			consider(at)
		}
	case Kill, KillAndRelaunch, KillBlobUpdate:
		if m.worker == nil {
			consider(m.launchAt)
		} else if m.worker.stop.ordered {
			consider(m.worker.stop.retryAt)
		}
	case WaitingForBlobUpdate:
		consider(m.held[m.cur.TopologyID].giveUp)
	}
	if m.want != nil {
		if h := m.held[m.want.TopologyID]; !h.ready && h.attempt == 0 {
			consider(h.retryAt)
		}
	}
	return at, ok
}

// learn takes an event into the machine's memory, or drops it when it speaks of what is past.
func (m *Machine) learn(ev Event) {
	switch ev := ev.(type) {
	case Assigned:
		m.assigned(ev.Assignment)
	case Adopted:
		m.adopted(ev)
	case Localized:
		m.localized(ev)
	case LocalizationFailed:
		m.localizationFailed(ev)
	case BlobsChanged:
		if h := m.held[ev.TopologyID]; h != nil {
			h.stale, h.updating = true, 0
		}
	case Started:
		if w := m.workerOf(ev.Seq); w != nil {
			w.started = true
		}
	case LaunchFailed:
		m.launchFailed(ev)
	case Prepared:
		if m.twin != nil && m.twin.seq == ev.Seq {
			m.twin.up = true
		}
	case TwinEnded:
		if m.twin != nil && m.twin.seq == ev.Seq {
			m.twinFailed(orElse(ev.Reason, "ended"))
		}
	case Heartbeat:
		if w := m.workerOf(ev.Seq); w != nil {
			w.beat, w.beating = m.now, true
		}
	case Exited:
		if w := m.workerOf(ev.Seq); w != nil {
			w.exited = orElse(ev.Reason, "ended")
		}
	case Restart:
		if w := m.workerOf(ev.Seq); w != nil {
			w.restart = orElse(ev.Reason, "restart asked for")
		}
	case Gone:
		if m.workerOf(ev.Seq) != nil {
			m.worker = nil
			m.do(Remove(ev))
		}
	case KillFailed:
		if w := m.workerOf(ev.Seq); w != nil && w.stop != nil {
			w.stop.retryAt = min(w.stop.retryAt, m.now+m.cfg.KillRetry)
			m.warn("worker could not be killed, will try again", ev.Reason)
		}
	case Tick:
	}
}

func (m *Machine) assigned(a *storm.LocalAssignment) {
	if a == nil || m.want == nil || a.TopologyID != m.want.TopologyID {
		m.streak, m.launchAt = 0, 0
		m.twinFaults, m.twinAt = 0, 0
	}
	m.want = a
	// A rebalance writes a new conf before it moves executors. Looked for now, it does not cost a second restart when it is
	// found later.
	if a != nil && m.cur != nil && a.TopologyID == m.cur.TopologyID && !Equivalent(a, m.cur) {
		m.held[a.TopologyID].stale = true
	}
}

func (m *Machine) adopted(ev Adopted) {
	if m.state != Empty || m.worker != nil || ev.Assignment == nil {
		return
	}
	m.count++
	m.want, m.cur = ev.Assignment, ev.Assignment
	m.held[ev.Assignment.TopologyID] = &holding{ready: true, limits: ev.Limits}
	// The age of the heartbeat it left is by a wall clock that may have been set, so it gets a whole limit from now.
	m.worker = &worker{seq: m.count, started: true, adopted: true, since: m.now, beat: m.now, beating: ev.Beating}
	m.do(Retain{Assignment: ev.Assignment})
	m.do(Save{Assignment: ev.Assignment})
	m.enter(WaitingForWorkerStart, "adopted")
}

func (m *Machine) localized(ev Localized) {
	for _, h := range m.held {
		switch ev.Attempt {
		case 0:
		case h.attempt:
			h.attempt, h.ready, h.limits = 0, true, ev.Limits
		case h.updating:
			h.updating, h.stale, h.limits = 0, false, ev.Limits
		}
	}
}

func (m *Machine) localizationFailed(ev LocalizationFailed) {
	for id, h := range m.held {
		switch ev.Attempt {
		case 0:
		case h.attempt:
			h.attempt, h.retryAt = 0, m.now+m.cfg.LocalizeRetry
			m.warn("blobs could not be localized, will try again", fmt.Sprintf("%s: %s", id, ev.Reason))
		case h.updating:
			h.updating, h.stale = 0, false
			m.warn("blobs were not exchanged, going on with the old ones", fmt.Sprintf("%s: %s", id, ev.Reason))
		}
	}
}

// launchFailed treats a launch without a process like a death at start, and has the files looked at again, because a
// missing one is the likeliest cause.
func (m *Machine) launchFailed(ev LaunchFailed) {
	if m.workerOf(ev.Seq) == nil {
		return
	}
	m.warn("worker could not be launched", ev.Reason)
	m.quickDeath()
	m.worker = nil
	m.do(Remove{Seq: ev.Seq})
	h := m.held[m.cur.TopologyID]
	h.ready, h.attempt, h.retryAt = false, 0, m.launchAt
	m.setCurrent(nil)
	m.enter(WaitingForBlobLocalization, "launch went wrong")
}

// workerOf returns the worker with that number, or nil when it is another one or none.
func (m *Machine) workerOf(seq int) *worker {
	if m.worker == nil || m.worker.seq != seq {
		return nil
	}
	return m.worker
}

func (m *Machine) do(a Action) { m.out = append(m.out, a) }

func (m *Machine) warn(text, detail string) {
	m.do(Note{Text: text, Detail: detail, Warn: true})
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
