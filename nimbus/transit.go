// SPDX-License-Identifier: Apache-2.0

// Carrying out what the lifecycle says an event does to a topology.

package nimbus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/nimbus/lifecycle"
	"github.com/gust-stream/gust/thrift/storm"
)

// defaultMessageTimeout is topology.message.timeout.secs where a conf has none.
const defaultMessageTimeout = 30

// transit applies an event that changes nothing but the state of a topology. The state is read, changed and written under one lock,
// so that two events never work from the same state.
func (n *Nimbus) transit(ctx context.Context, id string, r lifecycle.Request) error {
	n.changing.Lock()
	defer n.changing.Unlock()
	t := n.model.byID(id)
	if t == nil {
		return unknownID(id)
	}
	const key = config.TopologyMessageTimeoutSecs
	r.MessageTimeoutSecs = int32(t.code.conf.Int(key, n.cfg.Conf.Int(key, defaultMessageTimeout)))
	actions, err := lifecycle.Next(id, t.base, r)
	if err != nil {
		return err
	}
	for _, a := range actions {
		if err := n.carryOut(ctx, id, a); err != nil {
			return fmt.Errorf("%s of topology %s: %w", r.Event, id, err)
		}
	}
	return nil
}

// carryOut does one action; the caller holds changing.
func (n *Nimbus) carryOut(ctx context.Context, id string, a lifecycle.Action) error {
	switch a.Do {
	case lifecycle.WriteBase:
		return n.writeBase(ctx, id, a.Base)
	case lifecycle.Schedule:
		n.delays.add(delayedEvent{at: n.now().Add(time.Duration(a.After) * time.Second), id: id, event: a.Event})
		n.stir()
	case lifecycle.ApplyOverrides:
		return n.applyOverrides(ctx, id, a.Options)
	case lifecycle.Replace:
		return n.replace(ctx, id)
	case lifecycle.RemoveTopology:
		return n.removeTopology(ctx, id)
	}
	return nil
}

// writeBase stores the state of a topology and then knows it.
func (n *Nimbus) writeBase(ctx context.Context, id string, base *storm.StormBase) error {
	if err := n.cluster.SetStorm(ctx, id, base); err != nil {
		return err
	}
	n.model.update(id, func(t topologyState) topologyState {
		t.base = base
		return t
	})
	return nil
}

// maxBase bounds the state of a topology as it is stored, in bytes. What lies between it and cluster.MaxWrite is for the changes that
// must always be possible, such as a kill.
const maxBase = cluster.MaxWrite - 64<<10

// checkBase refuses a state of a topology that is too large. Callers add to it without bound: components that are debugged, executors
// of components that only the system knows, conf overrides.
func checkBase(ctx context.Context, base *storm.StormBase) error {
	stored, err := cluster.Encode(ctx, base)
	if err != nil {
		return asInvalid(err)
	}
	if len(stored) > maxBase {
		return invalid("The state of topology %s would have %d bytes, at most %d can be stored", base.Name, len(stored), maxBase)
	}
	return nil
}

// replace computes the executors of a topology anew and schedules it with its own slots free.
func (n *Nimbus) replace(ctx context.Context, id string) error {
	n.model.update(id, func(t topologyState) topologyState {
		if t.broken == nil {
			t.setCode(t.code)
		}
		return t
	})
	return n.pass(ctx, id)
}

// removeTopology takes a topology out of the cluster state, tells the supervisors, and frees its name. Its blobs, errors and
// statistics are left to the cleaner.
func (n *Nimbus) removeTopology(ctx context.Context, id string) error {
	t := n.model.byID(id)
	if err := n.cluster.RemoveProfileRequests(ctx, id); err != nil { // has children, so it is no part of the batch
		return err
	}
	batch := n.cluster.Batch()
	batch.RemoveAssignment(id)
	batch.RemoveCredentials(id)
	batch.RemoveLogConfig(id)
	batch.RemoveStorm(id)
	if err := batch.Commit(ctx); err != nil {
		return err
	}
	n.model.remove(id)
	n.live.forgetTopology(id)
	n.pusher.tell(changedNodes(t.assignment, nil))
	n.log.Info("topology removed", zap.String("topology_id", id))
	n.schedule()
	return nil
}

// runDue carries out the delayed events whose time has come. One that fails is tried again shortly: it must not be lost.
func (n *Nimbus) runDue(ctx context.Context) {
	for _, e := range n.delays.due(n.now()) {
		err := n.transit(ctx, e.id, lifecycle.Request{Event: e.event})
		_, none := errors.AsType[*lifecycle.NoTransitionError](err)
		_, gone := errors.AsType[*storm.NotAliveException](err)
		switch {
		case err == nil, ctx.Err() != nil:
		case none, gone:
			n.log.Debug("event has nothing to do", zap.String("topology_id", e.id), zap.Stringer("event", e.event))
		default:
			n.log.Error("event failed, tried again", zap.String("topology_id", e.id), zap.Stringer("event", e.event), zap.Error(err))
			e.at = n.now().Add(retryPause)
			n.delays.add(e)
		}
	}
}
