// SPDX-License-Identifier: Apache-2.0

// What supervisors and workers call: heartbeats, assignments, the leader, metrics.

package nimbus

import (
	"context"
	"strings"

	"github.com/gust-stream/gust/thrift/storm"
)

// GetLeader returns the leader, or nothing while there is none or it has not read the cluster state: clients then ask again.
func (n *Nimbus) GetLeader(context.Context) (*storm.NimbusSummary, error) {
	list, leader := n.model.nimbusesNow()
	for _, s := range list {
		if !isNimbus(s, leader) {
			continue
		}
		if !n.Ready() && isNimbus(s, n.self.String()) {
			return nil, nil
		}
		return n.shown(s, true), nil
	}
	return nil, nil
}

// SendSupervisorWorkerHeartbeats takes in the heartbeats that a supervisor collected. On another Nimbus than the leader it does
// nothing.
func (n *Nimbus) SendSupervisorWorkerHeartbeats(_ context.Context, beats *storm.SupervisorWorkerHeartbeats) error {
	if !n.Ready() || beats == nil {
		return nil
	}
	own := *beats
	own.WorkerHeartbeats = nil
	for _, hb := range beats.WorkerHeartbeats {
		if hb == nil {
			continue
		}
		if kept := n.ownExecutors(hb, beats.SupervisorID); kept != nil {
			own.WorkerHeartbeats = append(own.WorkerHeartbeats, kept)
		}
	}
	if !n.knowsSupervisor(beats.SupervisorID) {
		own.SupervisorID = "" // nobody fills our memory with inventions; a new one is known as soon as it is registered
	}
	switch silence, first := n.live.supervisorBeat(&own, n.now()); {
	case own.SupervisorID == "":
	case first:
		n.schedule()
	case silence >= n.cfg.Detection:
		n.welcome(own.SupervisorID)
	}
	return nil
}

// knowsSupervisor says whether a supervisor is registered or runs something.
func (n *Nimbus) knowsSupervisor(id string) bool {
	if id == "" || n.model.supervisorsNow()[id] != nil {
		return id != ""
	}
	for _, t := range n.model.all() {
		if t.assignment != nil && t.assignment.NodeHost[id] != "" {
			return true
		}
	}
	return false
}

// welcome gives the executors of a supervisor that came back time to start again, and lets the scheduler know of it.
func (n *Nimbus) welcome(node string) {
	now := n.now()
	for _, t := range n.model.all() {
		if t.assignment == nil || t.assignment.NodeHost[node] == "" {
			continue
		}
		n.model.update(t.id, func(t topologyState) topologyState {
			t.placed = placedAgain(&t, node, now)
			return t
		})
	}
	n.schedule()
}

// SendSupervisorWorkerHeartbeat takes in the heartbeat of a worker that cannot reach its supervisor.
func (n *Nimbus) SendSupervisorWorkerHeartbeat(_ context.Context, hb *storm.SupervisorWorkerHeartbeat) error {
	if !n.Ready() || hb == nil {
		return nil
	}
	if !n.model.known(hb.StormID) {
		return unknownID(hb.StormID)
	}
	if kept := n.ownExecutors(hb, ""); kept != nil {
		n.live.workerBeat(kept, n.now())
	}
	return nil
}

// ownExecutors drops from a heartbeat the executors that its sender does not run: those of no topology, those that the topology does
// not have, and those that are assigned to another supervisor than node ("" is any). So nobody keeps what is not his alive, and
// nobody fills our memory with inventions.
func (n *Nimbus) ownExecutors(hb *storm.SupervisorWorkerHeartbeat, node string) *storm.SupervisorWorkerHeartbeat {
	t := n.model.byID(hb.StormID)
	if t == nil || t.assignment == nil {
		return nil
	}
	out := *hb
	out.Executors = nil
	for _, e := range hb.Executors {
		if e == nil {
			continue
		}
		slot := t.assignment.ExecutorNodePort[storm.ExecutorID{int64(e.TaskStart), int64(e.TaskEnd)}]
		if slot != nil && (node == "" || slot.Node == node || strings.HasPrefix(slot.Node, node+numaMark)) {
			out.Executors = append(out.Executors, e)
		}
	}
	if out.Executors == nil {
		return nil
	}
	return &out
}

// numaMark follows the supervisor's id in the id of one of its NUMA zones.
const numaMark = "-numa-"

// GetSupervisorAssignments returns all that a supervisor should run. While nothing is known the answer is nothing, never an empty
// set: a supervisor would take that for an order to stop its workers.
func (n *Nimbus) GetSupervisorAssignments(_ context.Context, node string) (*storm.SupervisorAssignments, error) {
	if !n.Ready() {
		return nil, nil
	}
	set := map[string]*storm.Assignment{}
	for _, t := range n.model.all() {
		if t.assignment != nil {
			if _, here := t.assignment.NodeHost[node]; here {
				set[t.id] = t.assignment
			}
		}
	}
	return &storm.SupervisorAssignments{StormAssignment: set}, nil
}

// ProcessWorkerMetrics is where workers' metrics would be stored; nothing of ours reads them.
func (n *Nimbus) ProcessWorkerMetrics(context.Context, *storm.WorkerMetrics) error { return nil }
