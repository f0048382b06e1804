// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file carries out what a slot's machine orders about twins.

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/supervisor/container"
	"github.com/gust-stream/gust/supervisor/localizer"
	"github.com/gust-stream/gust/supervisor/slot"
	"github.com/gust-stream/gust/thrift/storm"
)

// twin is a process that stands by, or is about to.
type twin struct {
	process *container.Twin // nil until it was started
	dropped bool            // it is to be ended as soon as it was started
}

// prepareTwin starts a twin and follows it until it has ended or is used. Its id is not approved before that.
func (p *port) prepareTwin(order slot.Prepare) {
	seq, f := order.Seq, p.files[order.Assignment.TopologyID]
	if f == nil || f.topology == nil {
		p.post(twinEnded(seq, "its files are not here"))
		return
	}
	t, topology := &twin{}, f.topology
	p.twins[seq] = t
	p.jobs.run(func(ctx context.Context) {
		start := time.Now()
		process, err := p.prepare(topology, order.Assignment)
		if err != nil {
			p.post(func() slot.Event {
				delete(p.twins, seq)
				return slot.TwinEnded{Seq: seq, Reason: err.Error()}
			})
			return
		}
		p.post(func() slot.Event {
			t.process = process
			if t.dropped && !p.stopping {
				delete(p.twins, seq)
				p.endTwin(t)
			}
			return nil
		})
		ended := process.Listen(ctx, func(stage container.Stage) {
			switch stage {
			case container.Up:
				p.post(func() slot.Event { return slot.Prepared{Seq: seq} })
			case container.Warm:
				p.log.Info("twin stands by", zap.String("worker_id", process.ID()), zap.Duration("took", time.Since(start)))
			}
		})
		if ended {
			p.post(twinEnded(seq, process.Exit(ctx)))
		}
	})
}

func (p *port) prepare(topology *localizer.Topology, a *storm.LocalAssignment) (*container.Twin, error) {
	cmd, err := p.freshCommand(topology, a)
	if err != nil {
		return nil, err
	}
	return p.workers.Prepare(cmd)
}

func twinEnded(seq int, why string) report {
	return func() slot.Event { return slot.TwinEnded{Seq: seq, Reason: why} }
}

// discardTwin ends a twin that is not to be used.
func (p *port) discardTwin(seq int) { p.endTwin(p.takeTwin(seq)) }

// takeTwin gives the twin of that number, which is then nobody else's, or nil.
func (p *port) takeTwin(seq int) *twin {
	t := p.twins[seq]
	if t != nil && t.process != nil {
		delete(p.twins, seq)
	} else if t != nil {
		t.dropped = true
		t = nil
	}
	return t
}

// endTwin ends a twin that was taken, if there is one.
func (p *port) endTwin(t *twin) {
	if t == nil {
		return
	}
	p.jobs.run(func(ctx context.Context) { p.discardProcess(context.WithoutCancel(ctx), t.process) })
}

func (p *port) discardProcess(ctx context.Context, t *container.Twin) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Slot.KillGrace+p.cfg.Slot.KillRetry)
	defer cancel()
	if err := t.Discard(ctx); err != nil {
		// It ends with this supervisor, and the next one removes its folder.
		p.log.Warn("twin could not be ended", zap.String("worker_id", t.ID()), zap.Error(err))
	}
}

// stopTwins ends all twins at the end of the port.
func (p *port) stopTwins(ctx context.Context) {
	for _, t := range p.twins {
		if t.process != nil {
			p.discardProcess(ctx, t.process)
		}
	}
}

// startOrRelease makes the twin the worker if there is one and it can be, and else starts a process.
func (p *port) startOrRelease(ctx context.Context, t *twin, topology *localizer.Topology, a *storm.LocalAssignment) (*running, error) {
	if t == nil {
		return p.start(topology, a)
	}
	id := t.process.ID()
	// As with any worker, the id is approved first: a supervisor that dies in between is followed by one that finds the twin
	// working, or a dead one, for without its supervisor it ends.
	err := p.store.ApproveWorker(id, int32(p.number)) //nolint:gosec // a port
	if err == nil {
		var process *container.Worker
		if process, err = t.process.Release(); err == nil {
			return &running{id: id, topologyID: a.TopologyID, process: process}, nil
		}
	}
	p.log.Warn("twin could not become the worker, starting one", zap.String("worker_id", id), zap.Error(err))
	if err := t.process.Discard(ctx); err != nil {
		return nil, err // it might be working, and there must not be two
	}
	return p.start(topology, a)
}
