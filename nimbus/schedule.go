// SPDX-License-Identifier: Apache-2.0

// The owner: one goroutine that schedules when something happened, and at the latest after nimbus.monitor.freq.secs.

package nimbus

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/nimbus/scheduler"
	"github.com/gust-stream/gust/thrift/storm"
)

const (
	// retryPause is the wait before something that failed is tried again.
	retryPause = time.Second
	// ticksPerDetection says how often the silences are looked at within the detection timeout.
	ticksPerDetection = 20
	// assignmentWriters is how many assignments are written at once.
	assignmentWriters = 16
	// longestRest bounds the rest between two passes; see rest.
	longestRest = 100 * time.Millisecond
	// secondLooks bounds the passes that one pass may call for, for slots that it had to hold back.
	secondLooks = 2
)

// own is the loop of the owner goroutine. Everything that moves executors happens here.
func (n *Nimbus) own(ctx context.Context) error {
	every := max(n.cfg.Detection/ticksPerDetection, time.Millisecond)
	look := time.NewTicker(every)
	defer look.Stop()
	monitor := time.NewTicker(max(n.cfg.MonitorEvery, time.Second))
	defer monitor.Stop()
	delay := time.NewTimer(time.Hour)
	defer delay.Stop()
	n.owner.lastTick = n.now()
	for {
		if wait, ok := n.nextDue(); ok {
			delay.Reset(wait)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-n.wake:
		case <-delay.C:
		case <-look.C:
			n.look(every)
		case <-monitor.C:
			n.monitor(ctx)
		}
		if !n.Ready() {
			continue
		}
		n.runDue(ctx)
		if !n.now().Before(n.owner.restUntil) && n.needPass.Swap(false) {
			n.passAndRetry(ctx)
		}
	}
}

// nextDue is the time until something waits for the owner that no event tells of: a delayed event, or a pass after a rest.
func (n *Nimbus) nextDue() (wait time.Duration, ok bool) {
	if !n.Ready() {
		return 0, false // becoming ready wakes the owner
	}
	now := n.now()
	wait, ok = n.delays.next(now)
	if n.needPass.Load() {
		rest := max(0, n.owner.restUntil.Sub(now))
		if !ok || rest < wait {
			wait, ok = rest, true
		}
	}
	return wait, ok
}

// monitor is the slow round: it reads the supervisors again and schedules.
func (n *Nimbus) monitor(ctx context.Context) {
	if !n.Ready() {
		return
	}
	if err := n.readSupervisors(ctx); err != nil && ctx.Err() == nil {
		n.log.Warn("supervisors not read", zap.Error(err))
	}
	used := usedPorts(n.model.all())
	supervisors := n.model.supervisorsNow()
	n.live.forgetSupervisors(func(node string) bool { return supervisors[node] != nil || used[node] != nil })
	n.needPass.Store(true)
}

// look finds out whether somebody fell silent. A round that comes late means that this process was held up and may have missed
// heartbeats, so all silences start anew.
func (n *Nimbus) look(every time.Duration) {
	now := n.now()
	if late := now.Sub(n.owner.lastTick); late > every+n.cfg.Detection/2 {
		n.log.Warn("this process was held up, silence is not held against supervisors", zap.Duration("for", late))
		n.live.forgive(now)
	}
	n.owner.lastTick = now
	if !n.Ready() {
		return
	}
	j := n.judgeNow(now)
	n.suspect(j.suspects)
	if !j.same(n.owner.judged) {
		for node := range j.lost {
			if !n.owner.judged.lost[node] {
				n.log.Warn("supervisor lost", zap.String("node", node))
			}
		}
		n.needPass.Store(true)
	}
}

func (n *Nimbus) judgeNow(now time.Time) judgement {
	supervisors := n.model.supervisorsNow()
	present := func(node string) bool { return supervisors[node] != nil }
	l := limits{detection: n.cfg.Detection, task: n.cfg.TaskTimeout, launch: n.cfg.LaunchTimeout, recovery: n.cfg.RecoveryTimeout}
	return judge(n.model.all(), present, n.live, l, now)
}

// passAndRetry schedules; a pass that failed is made again shortly. After a pass the owner rests for as long as it took, so that a
// flood of submits, each of which calls for a pass over everything, leaves half of a processor to the submits themselves.
func (n *Nimbus) passAndRetry(ctx context.Context) {
	n.changing.Lock()
	began := n.now()
	err := n.pass(ctx, "")
	ended := n.now()
	n.owner.restUntil = ended.Add(min(ended.Sub(began), longestRest))
	n.changing.Unlock()
	if err != nil && ctx.Err() == nil {
		n.log.Error("scheduling failed, tried again", zap.Error(err))
		time.AfterFunc(retryPause, n.schedule)
	}
}

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
	n.noteStatus(topologies, out.Topologies)
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
		s := scheduler.Supervisor{ID: id, Host: info.Hostname, Ports: make([]int32, len(info.Meta))}
		for i, port := range info.Meta {
			s.Ports[i] = int32(port)
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
		ID: t.id, Workers: int(t.base.NumWorkers), Rebalance: afresh && t.broken == nil, Executors: make([]scheduler.Executor, len(t.executors)),
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
	nodes := changedNodes(c.topology.assignment, c.next)
	if c.topology.assignment == nil {
		nodes = changedNodes(nil, c.next)
	}
	n.pusher.tell(nodes)
	n.log.Info("topology assigned", zap.String("topology_id", id), zap.Int("executors", len(c.next.ExecutorNodePort)),
		zap.Int("slots", len(c.next.WorkerResources)))
	return nil
}

// noteStatus keeps the scheduler's sentence about each topology.
func (n *Nimbus) noteStatus(topologies []*topologyState, outcomes []scheduler.Outcome) {
	for i, t := range topologies {
		status := outcomes[i].Status
		if t.broken != nil {
			status = "Not scheduled: " + t.broken.Error()
		}
		if t.status != status {
			n.model.update(t.id, func(s topologyState) topologyState {
				s.status = status
				return s
			})
		}
	}
}
