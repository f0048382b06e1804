// SPDX-License-Identifier: Apache-2.0

// One scheduling pass: what the scheduler is asked, and what is done with its answer.

package nimbus

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/nimbus/scheduler"
	"github.com/gust-stream/gust/thrift/storm"
)

const (
	// assignmentWriters is how many assignments are written at once.
	assignmentWriters = 16
	// secondLooks bounds the passes that one pass may call for, for slots that it had to hold back.
	secondLooks = 2
)

// pass schedules once. afresh names a topology whose present slots count as free, or is "". The caller holds changing.
func (n *Nimbus) pass(ctx context.Context, afresh string) error {
	for range secondLooks {
		again, err := n.passOnce(ctx, afresh)
		if err != nil || !again {
			return err
		}
		afresh = ""
	}
	return nil
}

func (n *Nimbus) passOnce(ctx context.Context, afresh string) (again bool, err error) {
	now := n.now()
	j := n.judgeNow(now)
	n.owner.judged = j
	topologies := n.model.all()
	out, err := scheduler.Schedule(n.input(topologies, j, afresh, now))
	if err != nil {
		return false, err
	}
	n.owner.blacklist = out.Blacklist
	n.model.setBlacklisted(out.Blacklist.Blacklisted())
	var changes []change
	for i, t := range topologies {
		if c, ok := n.changeOf(t, out.Topologies[i], j, t.id == afresh, now); ok {
			changes = append(changes, c)
		}
	}
	n.noteStatus(topologies, out.Topologies, !out.Again)
	if err := n.writeAssignments(ctx, changes); err != nil {
		return false, err
	}
	return out.Again, nil
}

// input turns what is known into the question that the scheduler answers.
func (n *Nimbus) input(topologies []*topologyState, j judgement, afresh string, now time.Time) scheduler.Input {
	in := scheduler.Input{
		Now: int64(now.Sub(n.started) / time.Second), Kind: n.cfg.Scheduler, Blacklist: n.owner.blacklist, Limits: n.cfg.Blacklist,
		Topologies: make([]scheduler.Topology, len(topologies)),
	}
	for id, info := range n.model.supervisorsNow() {
		// One that is silent gets nothing new; what runs there is judged by itself.
		if silence, reported := n.live.supervisorSilence(id, now); reported && silence >= n.cfg.Detection {
			continue
		}
		s := scheduler.Supervisor{ID: id, Host: info.Hostname, Ports: make([]int32, 0, len(info.Meta))}
		for _, port := range info.Meta {
			if port > 0 && port <= math.MaxUint16 {
				s.Ports = append(s.Ports, int32(port))
			}
		}
		in.Supervisors = append(in.Supervisors, s)
	}
	for i, t := range topologies {
		in.Topologies[i] = wishOf(t, j, t.id == afresh)
	}
	return in
}

// wishOf is one topology as the scheduler sees it. One that is broken keeps what it has.
func wishOf(t *topologyState, j judgement, afresh bool) scheduler.Topology {
	w := scheduler.Topology{
		ID: t.id, Workers: int(t.base.NumWorkers), Rebalance: afresh && t.broken == nil, Engines: t.engines, Executors: make([]scheduler.Executor, len(t.executors)),
	}
	var assigned map[storm.ExecutorID]*storm.NodeInfo
	if t.assignment != nil {
		assigned = t.assignment.ExecutorNodePort
		w.Current = make([]scheduler.Current, 0, len(assigned))
	}
	place := func(id storm.ExecutorID, info *storm.NodeInfo) {
		slot := keyOf(info)
		w.Current = append(w.Current, scheduler.Current{
			Placement: scheduler.Placement{Executor: executorOf(id), Slot: scheduler.Slot{Node: slot.node, Port: int32(slot.port)}},
			Alive:     t.broken != nil || !j.isDead(t.id, id),
		})
	}
	for i, id := range t.executors { // ascending, which saves the scheduler a sort
		w.Executors[i] = executorOf(id)
		if info := assigned[id]; info != nil {
			place(id, info)
		}
	}
	if len(w.Current) == len(assigned) {
		return w
	}
	for id, info := range assigned { // what is assigned but not wanted any more
		if _, wanted := t.components[id]; !wanted {
			place(id, info)
		}
	}
	return w
}

func executorOf(id storm.ExecutorID) scheduler.Executor {
	return scheduler.Executor{Start: int32(id[0]), End: int32(id[1])}
}

// change is an assignment that differs from the one before.
type change struct {
	topology *topologyState
	next     *storm.Assignment
	// restarted are the executors that start anew.
	restarted []storm.ExecutorID
	// first says that there was no assignment, so the znode is new.
	first bool
}

// changeOf makes the next assignment of a topology and says whether it differs.
func (n *Nimbus) changeOf(t *topologyState, out scheduler.Outcome, j judgement, afresh bool, now time.Time) (change, bool) {
	if t.broken != nil || (!out.Changed && !afresh) {
		return change{}, false
	}
	slots := slotsOf(t, out, j.lost)
	if (t.assignment == nil && len(slots) == 0) || (!afresh && t.assignment != nil && sameSlots(t, slots)) {
		return change{}, false
	}
	supervisors := n.model.supervisorsNow()
	p := placement{
		topology: t, slots: slots, afresh: afresh, dir: n.cfg.LocalDir, now: now.Unix(),
		minCPU: n.cfg.Conf.Float(config.StormWorkerMinCpuPcorePercent, 0),
		host: func(node string) string {
			if info := supervisors[node]; info != nil {
				return info.Hostname
			}
			return ""
		},
	}
	next := p.assignment()
	if next.Equals(t.assignment) {
		return change{}, false
	}
	c := change{topology: t, next: next, first: t.assignment == nil}
	old := t.assignment
	if afresh {
		old = nil
	}
	c.restarted = restarted(old, group(slots))
	return c, true
}

// sameSlots says whether a topology keeps its slots and nothing else of its assignment can have changed either.
func sameSlots(t *topologyState, slots map[storm.ExecutorID]slotKey) bool {
	if len(slots) != len(t.assignment.ExecutorNodePort) {
		return false
	}
	for id, info := range t.assignment.ExecutorNodePort {
		if slots[id] != keyOf(info) {
			return false
		}
	}
	return true
}

// writeAssignments stores assignments, then knows them and tells the supervisors.
func (n *Nimbus) writeAssignments(ctx context.Context, changes []change) error {
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(assignmentWriters)
	for _, c := range changes {
		group.Go(func() error {
			if err := n.writeAssignment(gctx, c); err != nil {
				return fmt.Errorf("assign topology %s: %w", c.topology.id, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (n *Nimbus) writeAssignment(ctx context.Context, c change) error {
	id := c.topology.id
	if c.first {
		batch := n.cluster.Batch() // a batch expects a new node, a plain write an old one
		batch.SetAssignment(ctx, id, c.next)
		if err := batch.Commit(ctx); err != nil {
			return err
		}
	} else if err := n.cluster.SetAssignment(ctx, id, c.next); err != nil {
		return err
	}
	now := n.now()
	n.model.update(id, func(t topologyState) topologyState {
		placed := make(map[storm.ExecutorID]time.Time, len(c.next.ExecutorNodePort))
		for e := range c.next.ExecutorNodePort {
			placed[e] = t.placed[e]
		}
		for _, e := range c.restarted {
			placed[e] = now
		}
		t.assignment, t.placed = c.next, placed
		return t
	})
	n.pusher.tell(changedNodes(c.topology.assignment, c.next))
	n.log.Info("topology assigned", zap.String("topology_id", id), zap.Int("executors", len(c.next.ExecutorNodePort)),
		zap.Int("slots", len(c.next.WorkerResources)))
	return nil
}

// noteStatus keeps the scheduler's sentence about each topology, with the components that have no slot. It logs one that is short of slots
// when that is news, unless another pass follows at once.
func (n *Nimbus) noteStatus(topologies []*topologyState, outcomes []scheduler.Outcome, last bool) {
	for i, t := range topologies {
		status := outcomes[i].Status
		missing := missingComponents(t, outcomes[i].Unplaced)
		if missing != "" {
			status += "; without a slot: " + missing
		}
		if t.broken != nil {
			status = "Not scheduled: " + t.broken.Error()
		}
		if t.status == status {
			continue
		}
		n.model.update(t.id, func(s topologyState) topologyState {
			s.status = status
			return s
		})
		if last && missing != "" {
			n.log.Warn("topology lacks slots", zap.String("topology_id", t.id), zap.String("status", status))
		}
	}
}

// mostMissing bounds how many components a status names.
const mostMissing = 10

// missingComponents names the components of executors, with how many of each.
func missingComponents(t *topologyState, executors []scheduler.Executor) string {
	count := map[string]int{}
	for _, e := range executors {
		count[t.components[storm.ExecutorID{int64(e.Start), int64(e.End)}]]++
	}
	names := slices.Sorted(maps.Keys(count))
	more := len(names) - mostMissing
	for i, name := range names {
		names[i] = fmt.Sprintf("%s (%d)", name, count[name])
	}
	if more > 0 {
		names = append(names[:mostMissing], fmt.Sprintf("%d more components", more))
	}
	return strings.Join(names, ", ")
}
