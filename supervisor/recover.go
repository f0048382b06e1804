// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file finds at a start what an earlier supervisor, gust's or Storm's, has left: workers to adopt and workers to end.

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/supervisor/container"
	"github.com/gust-stream/gust/supervisor/localizer"
	"github.com/gust-stream/gust/supervisor/slot"
	"github.com/gust-stream/gust/thrift/storm"
)

// recover adopts every worker that runs for a saved assignment, makes and starts the ports, and returns the ids of the
// workers that are nobody's.
func (s *Supervisor) recover(ctx context.Context) (strays []string) {
	assignments, approved := s.readState()
	ids, err := s.workers.ListWorkers()
	if err != nil {
		s.log.Error("workers of an earlier supervisor cannot be listed", zap.Error(err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved = assignments
	for _, number := range s.cfg.Ports {
		s.ports[number] = newPort(number, s)
	}
	for _, id := range ids {
		number, ok := approved[id]
		a := assignments[int(number)]
		if !ok || a == nil || !s.adopt(ctx, id, int(number), a) {
			strays = append(strays, id)
		}
	}
	for id := range approved {
		if !slices.Contains(ids, id) {
			if err := s.store.ForgetWorker(id); err != nil {
				s.log.Warn("worker could not be struck off the approved ones", zap.String("worker_id", id), zap.Error(err))
			}
		}
	}
	for _, number := range slices.Sorted(maps.Keys(s.ports)) {
		s.start(s.ports[number])
	}
	return strays
}

// readState reads what was saved. What cannot be read is set aside, and this supervisor begins anew: then running workers
// are ended as strays, and Nimbus says what to run.
func (s *Supervisor) readState() (map[int]*storm.LocalAssignment, map[string]int32) {
	saved, err := s.store.LocalAssignments()
	approved, err2 := s.store.ApprovedWorkers()
	if err = errors.Join(err, err2); err != nil {
		aside, err2 := s.store.SetAside()
		s.log.Error("saved state cannot be read, beginning anew", zap.String("set_aside", aside), zap.Error(errors.Join(err, err2)))
		return map[int]*storm.LocalAssignment{}, nil
	}
	assignments := make(map[int]*storm.LocalAssignment, len(saved))
	for port, a := range saved {
		if err := localstate.CheckName("topology id", a.TopologyID); err != nil {
			s.log.Error("saved assignment is passed over", zap.Int32("port", port), zap.Error(err))
			continue
		}
		assignments[int(port)] = a
	}
	return assignments, approved
}

// adopt takes a worker over, if its process runs and its topology's files are here. Callers hold mu.
func (s *Supervisor) adopt(ctx context.Context, id string, number int, a *storm.LocalAssignment) bool {
	logger := s.log.With(zap.String("worker_id", id), zap.Int("port", number), zap.String("topology_id", a.TopologyID))
	w, err := s.workers.Adopt(id)
	if err != nil {
		logger.Warn("worker cannot be adopted", zap.Error(err))
		return false
	}
	select {
	case <-w.Done():
		logger.Info("worker has ended while there was no supervisor")
		return false
	default:
	}
	p := s.ports[number]
	if p == nil {
		p = newPort(number, s)
	}
	topology, err := s.blobs.Adopt(ctx, p.request(a))
	if err != nil {
		logger.Warn("files of a running worker's topology are not whole, it will be started anew", zap.Error(err))
		return false
	}
	s.ports[number] = p
	s.given[number] = a
	p.adopt(w, a, topology)
	logger.Info("worker adopted", zap.Int("pid", w.Pid()))
	return true
}

// adopt makes the port begin with a running worker. It is called before run.
func (p *port) adopt(w *container.Worker, a *storm.LocalAssignment, topology *localizer.Topology) {
	beat, err := w.Heartbeat()
	if err != nil {
		p.log.Warn("worker heartbeat cannot be read", zap.String("worker_id", w.ID()), zap.Error(err))
	}
	r := &running{id: w.ID(), topologyID: a.TopologyID, process: w}
	if beat != nil {
		r.version = beat.Version
		p.board.setBeat(p.number, &beat.LSWorkerHeartbeat)
	}
	p.files[a.TopologyID] = &files{topology: topology}
	p.step(slot.Adopted{Assignment: a, Limits: p.cfg.limits(topology, a), Beating: beat != nil})
	r.seq = p.machine.Worker()
	p.alive[r.seq] = r
}

// endStrays ends all workers that are nobody's and removes what is left of them, so that their ports are free. One that
// does not end in good time is given up: the worker that follows it will say that the port is taken.
func (s *Supervisor) endStrays(ctx context.Context, ids []string) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, id := range ids {
		all.Go(func() {
			limit, cancel := context.WithTimeout(ctx, s.cfg.Slot.KillGrace+s.cfg.Slot.KillRetry)
			defer cancel()
			if err := s.endStray(limit, id); err != nil {
				s.log.Error("worker that is nobody's could not be ended", zap.String("worker_id", id), zap.Error(err))
			}
		})
	}
}

func (s *Supervisor) endStray(ctx context.Context, id string) error {
	w, err := s.workers.Adopt(id)
	if err != nil {
		return err
	}
	if err := w.Kill(ctx, s.cfg.Slot.KillGrace); err != nil {
		return err
	}
	s.log.Info("worker that is nobody's ended", zap.String("worker_id", id))
	return errors.Join(w.CleanUp(), s.store.ForgetWorker(id))
}
