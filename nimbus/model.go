// SPDX-License-Identifier: Apache-2.0

// What Nimbus knows of the cluster. Calls read it from memory; whatever changes it was written to the cluster state first.

package nimbus

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gust-stream/gust/nimbus/scheduler"
	"github.com/gust-stream/gust/thrift/storm"
)

// topologyState is one topology. It is never changed in place: a change makes a copy and puts it into the model, so whoever holds
// one may read it without a lock.
type topologyState struct {
	id   string
	base *storm.StormBase
	code *code
	// executors are all that should run, by ascending first task.
	executors []storm.ExecutorID
	// components holds the component of each executor.
	components map[storm.ExecutorID]string
	// engines holds the engine of each executor that does not run on Java.
	engines map[scheduler.Executor]scheduler.Engine
	// assignment is the one in the cluster state, or nil.
	assignment *storm.Assignment
	// placed is when each executor came to its slot by our clock: the launch grace runs from here.
	placed map[storm.ExecutorID]time.Time
	// status is the scheduler's sentence about it.
	status string
	// broken says why the topology cannot be scheduled: its blobs are not readable. Nil for all others.
	broken error
}

func (t *topologyState) name() string { return t.base.Name }

// readable says whether the blobs of the topology could be read.
func (t *topologyState) readable() bool { return t.broken == nil }

// model is safe for concurrent use.
type model struct {
	mu sync.RWMutex
	// loaded says that the cluster state was read whole; guarded by mu.
	loaded bool
	// version grows with each change; guarded by mu.
	version     uint64
	topologies  map[string]*topologyState        // guarded by mu
	ids         map[string]string                // name to id, guarded by mu
	submitting  map[string]chan struct{}         // name to the end of its submit, guarded by mu
	incoming    map[string]bool                  // ids whose blobs are being stored, guarded by mu
	supervisors map[string]*storm.SupervisorInfo // guarded by mu
	// read is when supervisors were read: their uptime counts on from there; guarded by mu.
	read        time.Time
	nimbuses    []*storm.NimbusSummary // guarded by mu
	leader      string                 // host:port:tlsPort of who leads, guarded by mu
	blacklisted map[string]bool        // guarded by mu
	// kept are ids whose blobs stay although no topology has them; guarded by mu.
	kept map[string]bool
}

func newModel() *model {
	return &model{
		topologies:  map[string]*topologyState{},
		ids:         map[string]string{},
		submitting:  map[string]chan struct{}{},
		incoming:    map[string]bool{},
		supervisors: map[string]*storm.SupervisorInfo{},
		blacklisted: map[string]bool{},
	}
}

// load replaces everything by what was read from the cluster state.
func (m *model) load(topologies []*topologyState, supervisors map[string]*storm.SupervisorInfo, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.topologies, m.ids = map[string]*topologyState{}, map[string]string{}
	for _, t := range topologies {
		if t == nil { // removed while it was read
			continue
		}
		m.topologies[t.id] = t
		m.ids[t.name()] = t.id
	}
	m.supervisors, m.read = supervisors, now
	m.loaded = true
	m.version++
}

// unload forgets that anything is known: calls that must not guess then refuse to answer.
func (m *model) unload() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loaded = false
	m.version++
}

func (m *model) isLoaded() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.loaded
}

func (m *model) byID(id string) *topologyState {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.topologies[id]
}

func (m *model) byName(name string) *topologyState {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.topologies[m.ids[name]]
}

// known says whether a topology exists.
func (m *model) known(id string) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.topologies[id] != nil
}

// keepsBlobs says whether blobs of a topology are needed: it exists or is being submitted.
func (m *model) keepsBlobs(id string) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.topologies[id] != nil || m.incoming[id]
}

// all returns every topology, the oldest first: that is the order in which scarce slots are given.
func (m *model) all() []*topologyState {
	m.mu.RLock()
	list := slices.Collect(maps.Values(m.topologies))
	m.mu.RUnlock()
	slices.SortFunc(list, func(a, b *topologyState) int {
		return cmp.Or(cmp.Compare(a.base.GetLaunchTimeSecs(), b.base.GetLaunchTimeSecs()), cmp.Compare(a.id, b.id))
	})
	return list
}

// put adds or replaces a topology.
func (m *model) put(t *topologyState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.topologies[t.id] = t
	m.ids[t.name()] = t.id
	m.version++
}

// update replaces a topology by what f makes of it; one that is gone stays gone.
func (m *model) update(id string, f func(topologyState) topologyState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.topologies[id]
	if old == nil {
		return
	}
	next := f(*old)
	m.topologies[id] = &next
	m.version++
}

// remove takes a topology out and frees its name.
func (m *model) remove(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.topologies[id]
	if t == nil {
		return
	}
	delete(m.topologies, id)
	if m.ids[t.name()] == id {
		delete(m.ids, t.name())
	}
	m.version++
}

// reserve takes a name for a submit. If the name is in use, free is nil and wait is nil; if another submit holds it, wait ends
// when that one has ended.
func (m *model) reserve(name string) (free func(), wait <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ids[name] != "" {
		return nil, nil
	}
	if other := m.submitting[name]; other != nil {
		return nil, other
	}
	done := make(chan struct{})
	m.submitting[name] = done
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.submitting, name)
		close(done)
	}, nil
}

// expectBlobs keeps the blobs of an id that is about to exist from the cleaner, until the returned function is called.
func (m *model) expectBlobs(id string) (done func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.incoming[id] = true
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.incoming, id)
	}
}

// setSupervisors replaces what is known of the supervisors, and says whether it calls for scheduling: one came, went or offers other
// ports.
func (m *model) setSupervisors(infos map[string]*storm.SupervisorInfo, now time.Time) (changed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	changed = !maps.EqualFunc(infos, m.supervisors, func(a, b *storm.SupervisorInfo) bool {
		return a.Hostname == b.Hostname && a.GetServerPort() == b.GetServerPort() && slices.Equal(a.Meta, b.Meta)
	})
	m.supervisors, m.read = infos, now
	m.version++
	return changed
}

// supervisorsNow returns the supervisors by id. The map must not be changed.
func (m *model) supervisorsNow() map[string]*storm.SupervisorInfo {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.supervisors
}

// supervisorsRead returns the supervisors by id and when they were read.
func (m *model) supervisorsRead() (map[string]*storm.SupervisorInfo, time.Time) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.supervisors, m.read
}

// setNimbuses notes which Nimbuses are up and which of them leads.
func (m *model) setNimbuses(list []*storm.NimbusSummary, leader string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nimbuses, m.leader = list, leader
	m.version++
}

// nimbusesNow returns the Nimbuses that are up, as they wrote themselves, and host:port:tlsPort of the leader.
func (m *model) nimbusesNow() (list []*storm.NimbusSummary, leader string) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.nimbuses, m.leader
}

// setBlacklisted notes which supervisors the scheduler keeps out.
func (m *model) setBlacklisted(ids []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := make(map[string]bool, len(ids))
	for _, id := range ids {
		next[id] = true
	}
	if !maps.Equal(next, m.blacklisted) {
		m.blacklisted = next
		m.version++
	}
}

func (m *model) isBlacklisted(id string) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.blacklisted[id]
}

func (m *model) currentVersion() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.version
}

// keep names ids whose blobs the cleaner leaves alone.
func (m *model) keep(ids map[string]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = ids
}

// keepAlso adds an id to those.
func (m *model) keepAlso(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[string]bool{}
	}
	m.kept[id] = true
}

func (m *model) isKept(id string) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.kept[id]
}
