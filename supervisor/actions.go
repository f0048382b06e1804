// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file carries out the actions of a slot's machine.

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/supervisor/container"
	"github.com/gust-stream/gust/supervisor/localizer"
	"github.com/gust-stream/gust/supervisor/slot"
	"github.com/gust-stream/gust/thrift/storm"
)

// checkTimeout bounds the wait for a Nimbus that does not answer, while a port stands still.
const checkTimeout = 3 * time.Second

func (p *port) carryOut(a slot.Action) {
	switch a := a.(type) {
	case slot.Note:
		p.note(a)
	case slot.Save:
		p.save(a.Assignment)
		p.board.setCurrent(p.number, a.Assignment)
	case slot.Retain: // recover.go has claimed the files already
	case slot.Localize:
		p.localize(a.Attempt, a.Assignment)
	case slot.UpdateBlobs:
		p.updateBlobs(a.Attempt, a.Assignment)
	case slot.Release:
		p.release(a.TopologyID)
	case slot.Launch:
		p.launch(a)
	case slot.Prepare:
		p.prepareTwin(a)
	case slot.Discard:
		p.discardTwin(a.Seq)
	case slot.Stop:
		p.stopWorker(a)
	case slot.Remove:
		p.remove(a.Seq)
	}
}

func (p *port) localize(attempt int, a *storm.LocalAssignment) {
	f := p.files[a.TopologyID]
	if f == nil {
		f = &files{}
		p.files[a.TopologyID] = f
	}
	ctx, cancel := p.jobs.part()
	f.attempt, f.cancel = attempt, cancel
	p.inTurn(a.TopologyID, func(context.Context) {
		defer cancel()
		topology, err := p.blobs.Localize(ctx, p.request(a))
		p.post(func() slot.Event { return p.localized(attempt, a, topology, err) })
	})
}

// localized takes in the answer to an attempt, unless it is late.
func (p *port) localized(attempt int, a *storm.LocalAssignment, topology *localizer.Topology, err error) slot.Event {
	f := p.files[a.TopologyID]
	if f == nil || f.attempt != attempt {
		return nil
	}
	if err != nil {
		return slot.LocalizationFailed{Attempt: attempt, Reason: err.Error()}
	}
	f.topology = topology
	return slot.Localized{Attempt: attempt, Limits: p.cfg.limits(topology, a)}
}

func (p *port) request(a *storm.LocalAssignment) localizer.Request {
	return localizer.Request{TopologyID: a.TopologyID, Owner: a.GetOwner(), Port: p.number, Changed: p.changed}
}

// changed is called by the localizer, in its goroutine.
func (p *port) changed(c *localizer.Change) {
	p.post(func() slot.Event {
		f := p.files[c.TopologyID]
		if f == nil {
			c.Agree()
			return nil
		}
		f.changes = append(f.changes, c)
		return slot.BlobsChanged{TopologyID: c.TopologyID}
	})
}

// updateBlobs agrees to all changes that were offered, waits until they are made, and looks at the files anew, since
// the conf may be another one. With no change offered it has Nimbus asked first; a change found so is offered before
// the answer to this attempt, and the machine orders another.
func (p *port) updateBlobs(attempt int, a *storm.LocalAssignment) {
	f := p.files[a.TopologyID]
	if f == nil {
		return
	}
	changes := f.changes
	f.changes = nil
	ctx, cancel := p.jobs.part()
	f.attempt, f.cancel = attempt, cancel
	p.inTurn(a.TopologyID, func(context.Context) {
		defer cancel()
		if len(changes) == 0 {
			checking, cancel := context.WithTimeout(ctx, checkTimeout)
			p.blobs.Check(checking)
			cancel()
		}
		for _, c := range changes {
			c.Agree()
		}
		for _, c := range changes {
			select {
			case <-c.Done():
			case <-ctx.Done():
			}
			if err := c.Err(); err != nil {
				p.log.Warn("blob was not exchanged", zap.String("key", c.Key), zap.String("topology_id", c.TopologyID), zap.Error(err))
			}
		}
		topology, err := p.blobs.Localize(ctx, p.request(a))
		p.post(func() slot.Event { return p.localized(attempt, a, topology, err) })
	})
}

func (p *port) release(topologyID string) {
	f := p.files[topologyID]
	if f != nil && f.cancel != nil {
		f.cancel()
	}
	delete(p.files, topologyID)
	p.inTurn(topologyID, func(context.Context) { p.blobs.Release(topologyID, p.number) })
}

func (p *port) launch(order slot.Launch) {
	seq, a := order.Seq, order.Assignment
	f, twin := p.files[a.TopologyID], p.takeTwin(order.Twin)
	switch {
	case f == nil || f.topology == nil:
		p.endTwin(twin)
		p.post(p.refuse(seq, errors.New("its files are not here")))
		return
	case p.unsaved:
		p.endTwin(twin)
		p.post(p.refuse(seq, errors.New("its assignment is not saved")))
		return
	}
	topology := f.topology
	p.jobs.run(func(ctx context.Context) {
		if err := p.states.begin(ctx, topology); err != nil {
			p.endTwin(twin)
			p.post(p.refuse(seq, err))
			return
		}
		w, err := p.startOrRelease(ctx, twin, topology, a)
		p.post(func() slot.Event {
			if err != nil {
				return p.refuse(seq, err)()
			}
			w.seq = seq
			p.alive[seq] = w
			if !p.stopping {
				p.follow(w)
			}
			return slot.Started{Seq: seq}
		})
	})
}

func (p *port) refuse(seq int, err error) report {
	p.refused.Add(1)
	return func() slot.Event { return slot.LaunchFailed{Seq: seq, Reason: err.Error()} }
}

// start approves a new worker id and starts the process: in this order, because a process that is not approved is ended by
// the next supervisor.
func (p *port) start(topology *localizer.Topology, a *storm.LocalAssignment) (*running, error) {
	cmd, err := p.freshCommand(topology, a)
	if err != nil {
		return nil, err
	}
	id := cmd.WorkerID
	if err := p.store.ApproveWorker(id, int32(p.number)); err != nil { //nolint:gosec // a port
		return nil, err
	}
	process, err := p.workers.Launch(cmd)
	if err != nil {
		return nil, errors.Join(err, p.abandon(id))
	}
	return &running{id: id, topologyID: a.TopologyID, process: process}, nil
}

// freshCommand is the command of a worker with an id that no other ever had.
func (p *port) freshCommand(topology *localizer.Topology, a *storm.LocalAssignment) (container.Command, error) {
	random, err := uuid.NewRandom()
	if err != nil {
		return container.Command{}, err
	}
	program, err := p.cfg.program(topology, a)
	if err != nil {
		return container.Command{}, err
	}
	return p.command(container.Command{
		Topology: container.Topology(*topology), Port: p.number, WorkerID: random.String(), Resources: a.Resources, Program: program,
	}), nil
}

// abandon removes what a launch that went wrong has left.
func (p *port) abandon(id string) error {
	left, err := p.workers.Adopt(id)
	if err == nil {
		err = left.CleanUp()
	}
	return errors.Join(err, p.store.ForgetWorker(id))
}

// follow reports the end of a worker's process.
func (p *port) follow(w *running) {
	p.jobs.run(func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-w.process.Done():
			p.post(func() slot.Event { return slot.Exited{Seq: w.seq, Reason: w.process.Exit().String()} })
		}
	})
}

func (p *port) stopWorker(a slot.Stop) {
	w := p.alive[a.Seq]
	if w == nil {
		p.post(func() slot.Event { return slot.Gone{Seq: a.Seq} })
		return
	}
	p.jobs.run(func(ctx context.Context) {
		err := w.process.Kill(ctx, a.Grace)
		p.post(func() slot.Event {
			if err != nil {
				return slot.KillFailed{Seq: a.Seq, Reason: err.Error()}
			}
			return slot.Gone{Seq: a.Seq}
		})
	})
}

func (p *port) remove(seq int) {
	w := p.alive[seq]
	if w == nil {
		return // it was never there
	}
	delete(p.alive, seq)
	p.board.setBeat(p.number, nil)
	p.jobs.run(func(context.Context) { p.discard(w) })
}
