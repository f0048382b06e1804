// SPDX-License-Identifier: Apache-2.0

// Becoming the leader: the election, and reading everything that the cluster state knows before anything is decided.

package nimbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/internal/clock"
	"github.com/gust-stream/gust/nimbus/lifecycle"
	"github.com/gust-stream/gust/thrift/storm"
)

const (
	// loaders is how many topologies are read at once at a start.
	loaders = 8
	// standPause is the wait before another try to enter the election.
	standPause = time.Second
)

// stand keeps this Nimbus in the election: it enters anew with each session, and leads when its entry is the oldest.
func (n *Nimbus) stand(ctx context.Context) error {
	sessions := n.cluster.Sessions()
	entered := make(chan string, 1)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return n.cluster.WatchElection(ctx, n.reconsider) })
	group.Go(func() error { return n.enter(ctx, sessions, entered) })
	group.Go(func() error {
		var mine string
		retry := time.NewTimer(0)
		defer retry.Stop()
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case mine = <-entered:
			case <-n.elections:
			case <-retry.C:
			}
			if mine == "" {
				continue
			}
			if err := n.followElection(ctx, mine); err != nil && ctx.Err() == nil {
				n.log.Warn("election not read", zap.Error(err))
				retry.Reset(standPause)
			}
		}
	})
	return group.Wait()
}

// reconsider makes this Nimbus look at the election again.
func (n *Nimbus) reconsider() {
	select {
	case n.elections <- struct{}{}:
	default:
	}
}

// loseTrack is for the case that nobody can tell whether a write happened: this Nimbus stops to lead and begins again, which reads
// everything.
func (n *Nimbus) loseTrack() {
	n.resign()
	n.reconsider()
}

// resign ends to lead, if this Nimbus did, and says so: nobody is answered from what it knows any more.
func (n *Nimbus) resign() bool {
	if !n.leader.Swap(false) {
		return false
	}
	n.model.unload()
	n.delays.clear()
	return true
}

// enter writes this Nimbus's entries into the cluster state, and again when a session is new.
func (n *Nimbus) enter(ctx context.Context, sessions <-chan struct{}, entered chan<- string) error {
	mine := ""
	for {
		var err error
		mine, err = n.announce(ctx, mine)
		if err == nil {
			select {
			case entered <- mine:
			case <-ctx.Done():
				return ctx.Err()
			}
			select {
			case <-sessions:
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n.log.Warn("election not entered", zap.Error(err))
		if err := clock.Wait(ctx, standPause); err != nil {
			return err
		}
	}
}

// announce returns this Nimbus's entry in the election. The one it had is kept if it leads: the connection may have come back with
// the same session, and to leave the election and enter it again would mean to read everything again.
func (n *Nimbus) announce(ctx context.Context, mine string) (string, error) {
	if err := n.cluster.SetNimbus(ctx, n.summary()); err != nil {
		return mine, err
	}
	if mine != "" {
		if _, node, err := n.cluster.Leader(ctx); err != nil || node == mine {
			return mine, err
		}
	}
	return n.cluster.JoinElection(ctx, n.self)
}

// followElection finds out who leads and begins or ends to lead.
func (n *Nimbus) followElection(ctx context.Context, mine string) error {
	who, node, err := n.cluster.Leader(ctx)
	if err != nil {
		return err
	}
	nimbuses, err := n.cluster.Nimbuses(ctx)
	if err != nil {
		return err
	}
	n.model.setNimbuses(nimbuses, who)
	switch leads := node == mine; {
	case !leads && who == n.self.String():
		// An entry of our own that replaces or is replaced by mine; the word about the new one is on its way.
	case leads && !n.leader.Load():
		if err := n.takeOver(ctx); err != nil {
			return fmt.Errorf("take over: %w", err)
		}
	case !leads && n.resign():
		n.log.Warn("no longer the leader", zap.String("leader", who))
	}
	return nil
}

// takeOver reads the whole cluster state and begins to lead.
func (n *Nimbus) takeOver(ctx context.Context) error {
	began := n.now()
	ids, err := n.cluster.Storms(ctx)
	if err != nil {
		return err
	}
	// Once is enough: later the folder changes only by calls, and what a call is about to announce must not be taken away.
	if !n.reconciled {
		if err := n.reconcileBlobs(ctx, ids); err != nil {
			return err
		}
		n.reconciled = true
	}
	topologies := make([]*topologyState, len(ids))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(loaders)
	for i, id := range ids {
		group.Go(func() (err error) {
			topologies[i], err = n.readTopology(gctx, id)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	supervisors, err := n.cluster.Supervisors(ctx)
	if err != nil {
		if !n.damaged(ctx, err) {
			return err
		}
		n.log.Error("supervisors not read", zap.Error(err)) // they are read again with each change and each monitor round
	}
	n.live.lead(n.now())
	n.model.load(topologies, supervisors, n.now())
	n.leader.Store(true)
	for _, t := range n.model.all() {
		if err := n.transit(ctx, t.id, lifecycle.Request{Event: lifecycle.GainLeadership}); err != nil {
			if _, none := errors.AsType[*lifecycle.NoTransitionError](err); !none {
				return err
			}
		}
	}
	n.pusher.tell(nodesOf(n.model.all())) // what a former leader, or this one before it lost its session, may not have told
	n.log.Info("leading", zap.Int("topologies", len(ids)), zap.Int("supervisors", len(supervisors)), zap.Duration("took", n.now().Sub(began)))
	n.schedule()
	return nil
}

// nodesOf lists the supervisors that run something.
func nodesOf(topologies []*topologyState) map[string]bool {
	nodes := map[string]bool{}
	for node := range usedPorts(topologies) {
		nodes[node] = true
	}
	return nodes
}

// readTopology reads one topology. One whose blobs are not readable is kept as it is, so that a damaged file neither takes the
// name from its owner nor stops Nimbus, and so that its workers go on.
func (n *Nimbus) readTopology(ctx context.Context, id string) (*topologyState, error) {
	base, err := n.cluster.Storm(ctx, id)
	if err != nil && n.damaged(ctx, err) {
		n.log.Error("state of a topology is not readable, it is left alone", topologyField(id), zap.Error(err))
		n.model.keepAlso(id)
		return nil, nil
	}
	if err != nil || base == nil {
		return nil, err
	}
	assignment, err := n.cluster.Assignment(ctx, id)
	if err != nil && n.damaged(ctx, err) {
		n.log.Error("assignment is not readable, a new one is made", topologyField(id), zap.Error(err))
		assignment, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	t := &topologyState{id: id, base: base, assignment: assignment}
	c, err := n.readCode(ctx, id)
	if err != nil {
		n.log.Error("topology cannot be scheduled: its blobs are not readable", topologyField(id), zap.Error(err))
		t.setBroken(err)
	} else {
		t.setCode(c)
	}
	t.placed = placedBefore(assignment, n.now())
	return t, nil
}

// damaged says whether an error came from what is stored and not from the way to it: then the cluster state answers other questions.
func (n *Nimbus) damaged(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil {
		return false
	}
	_, unreachable := n.cluster.Storms(ctx)
	return unreachable == nil
}

// placedBefore is when the executors of an assignment that an earlier Nimbus made came to their slots, as far as the wall clock
// tells: never in the future, so that a clock that was set back does not make the grace longer than it is.
func placedBefore(a *storm.Assignment, now time.Time) map[storm.ExecutorID]time.Time {
	if a == nil {
		return nil
	}
	out := make(map[storm.ExecutorID]time.Time, len(a.ExecutorNodePort))
	for id := range a.ExecutorNodePort {
		age := max(0, time.Duration(now.Unix()-a.ExecutorStartTimeSecs[id])*time.Second)
		out[id] = now.Add(-age)
	}
	return out
}

// followSupervisors keeps the model's view of the registered supervisors.
func (n *Nimbus) followSupervisors(ctx context.Context) error {
	return n.cluster.WatchSupervisors(ctx, func() {
		if err := n.readSupervisors(ctx); err != nil && ctx.Err() == nil {
			n.log.Warn("supervisors not read", zap.Error(err))
		}
	})
}

// readSupervisors reads what the supervisors last wrote, and schedules if one came or went.
func (n *Nimbus) readSupervisors(ctx context.Context) error {
	infos, err := n.cluster.Supervisors(ctx)
	if err != nil {
		return err
	}
	for node := range n.model.supervisorsNow() {
		if infos[node] == nil {
			n.live.left(node, n.now())
		}
	}
	if n.model.setSupervisors(infos, n.now()) {
		n.schedule()
	}
	return nil
}
