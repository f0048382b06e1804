// SPDX-License-Identifier: Apache-2.0

// From the scheduler's decision to the assignment that is stored: a pure function.

package nimbus

import (
	"maps"
	"slices"
	"time"

	"github.com/gust-stream/gust/nimbus/scheduler"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology"
)

// slotKey is a NodeInfo that can be compared.
type slotKey struct {
	node string
	port int64
}

func keyOf(n *storm.NodeInfo) slotKey {
	k := slotKey{node: n.Node}
	if len(n.Port) > 0 {
		k.port = n.Port[0]
	}
	return k
}

func (k slotKey) info() *storm.NodeInfo {
	return &storm.NodeInfo{Node: k.node, Port: []int64{k.port}}
}

// placement is what an assignment is made from.
type placement struct {
	topology *topologyState
	slots    map[storm.ExecutorID]slotKey
	// afresh says that the old assignment does not count: all executors start anew.
	afresh bool
	// host gives the host name of a supervisor, "" if it is not known.
	host func(node string) string
	// dir is storm.local.dir of this Nimbus.
	dir string
	// now is the time in epoch seconds.
	now int64
	// minCPU is the least CPU that a worker is booked with.
	minCPU float64
}

// slotsOf merges the scheduler's placements with those of the old assignment that must stay because their supervisor is lost and
// nobody has room: if it comes back, its workers go on as if nothing had happened.
func slotsOf(t *topologyState, out scheduler.Outcome, lost map[string]bool) map[storm.ExecutorID]slotKey {
	slots := make(map[storm.ExecutorID]slotKey, len(out.Placements))
	for _, p := range out.Placements {
		slots[storm.ExecutorID{int64(p.Executor.Start), int64(p.Executor.End)}] = slotKey{node: p.Slot.Node, port: int64(p.Slot.Port)}
	}
	if t.assignment == nil {
		return slots
	}
	for _, e := range out.Unplaced {
		id := storm.ExecutorID{int64(e.Start), int64(e.End)}
		if old := t.assignment.ExecutorNodePort[id]; old != nil && lost[old.Node] {
			slots[id] = keyOf(old)
		}
	}
	return slots
}

// assignment makes the struct that is stored.
func (p placement) assignment() *storm.Assignment {
	old := p.topology.assignment
	if old == nil || p.afresh {
		old = storm.NewAssignment()
	}
	a := storm.NewAssignment()
	a.MasterCodeDir = p.dir
	owner := p.topology.base.GetOwner()
	a.Owner = &owner
	bySlot := group(p.slots)
	infos := make(map[slotKey]*storm.NodeInfo, len(bySlot))
	for slot, executors := range bySlot {
		infos[slot] = slot.info()
		host := p.host(slot.node)
		if host == "" {
			host = old.NodeHost[slot.node]
		}
		if host != "" {
			a.NodeHost[slot.node] = host
		}
		a.WorkerResources[infos[slot]] = workerResources(p.topology, executors, p.minCPU)
	}
	for id, slot := range p.slots {
		a.ExecutorNodePort[id] = infos[slot]
	}
	a.ExecutorStartTimeSecs = p.startTimes(old, bySlot)
	return a
}

// startTimes keeps the old times and sets new ones for the executors of every slot whose set of executors changed. Like Storm it
// keeps the times of executors that exist no more.
func (p placement) startTimes(old *storm.Assignment, bySlot map[slotKey][]storm.ExecutorID) map[storm.ExecutorID]int64 {
	times := maps.Clone(old.ExecutorStartTimeSecs)
	if times == nil {
		times = map[storm.ExecutorID]int64{}
	}
	for _, id := range restarted(old, bySlot) {
		times[id] = p.now
	}
	return times
}

// restarted returns the executors whose worker is a new one: those of slots whose set of executors changed.
func restarted(old *storm.Assignment, bySlot map[slotKey][]storm.ExecutorID) []storm.ExecutorID {
	before := group(slotMap(old))
	var out []storm.ExecutorID
	for slot, executors := range bySlot {
		if !slices.Equal(before[slot], executors) {
			out = append(out, executors...)
		}
	}
	return out
}

// slotMap returns where an assignment puts each executor.
func slotMap(a *storm.Assignment) map[storm.ExecutorID]slotKey {
	if a == nil {
		return nil
	}
	out := make(map[storm.ExecutorID]slotKey, len(a.ExecutorNodePort))
	for id, info := range a.ExecutorNodePort {
		out[id] = keyOf(info)
	}
	return out
}

// group returns the executors of each slot, ascending.
func group(slots map[storm.ExecutorID]slotKey) map[slotKey][]storm.ExecutorID {
	out := map[slotKey][]storm.ExecutorID{}
	for id, slot := range slots {
		out[slot] = append(out[slot], id)
	}
	for _, executors := range out {
		slices.SortFunc(executors, compareExecutors)
	}
	return out
}

func compareExecutors(a, b storm.ExecutorID) int {
	if a[0] != b[0] {
		return int(a[0] - b[0])
	}
	return int(a[1] - b[1])
}

// changedNodes returns the supervisors that must be told of a change: those that got or lost executors. A nil assignment has none.
// Storm leaves out the ones that only lost some, which then learn of it by their poll; telling them frees the slot at once.
func changedNodes(before, after *storm.Assignment) map[string]bool {
	nodes := map[string]bool{}
	old, next := slotMap(before), slotMap(after)
	for id, slot := range old {
		if next[id] != slot {
			nodes[slot.node] = true
		}
	}
	for id, slot := range next {
		if old[id] != slot {
			nodes[slot.node] = true
		}
	}
	return nodes
}

// workerResources adds up what the executors of one worker ask for.
func workerResources(t *topologyState, executors []storm.ExecutorID, minCPU float64) *storm.WorkerResources {
	running := make([]string, len(executors))
	for i, id := range executors {
		running[i] = t.components[id]
	}
	return topology.WorkerResources(t.code.user, t.code.requests, running, minCPU)
}

// placedAgain returns the times of placement with those on one supervisor set to now.
func placedAgain(t *topologyState, node string, now time.Time) map[storm.ExecutorID]time.Time {
	placed := maps.Clone(t.placed)
	for id, info := range t.assignment.ExecutorNodePort {
		if info.Node == node {
			placed[id] = now
		}
	}
	return placed
}
