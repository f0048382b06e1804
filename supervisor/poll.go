// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file takes assignments from Nimbus, pushed or asked for, and hands each port its own.

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/thrift/leader"
	"github.com/gust-stream/gust/thrift/storm"
)

// pollAssignments asks Nimbus for this node's assignments at once and then again and again, in case a push was lost. No
// answer, for whatever reason, leaves everything as it is.
func (s *Supervisor) pollAssignments(ctx context.Context) error {
	ticker := time.NewTicker(s.cfg.PollEvery)
	defer ticker.Stop()
	trouble := newTrouble(s.log, "assignments cannot be asked for, workers go on", "assignments can be asked for again")
	for {
		if err := s.pollOnce(ctx); ctx.Err() == nil {
			trouble.report(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-s.poll:
		}
	}
}

func (s *Supervisor) pollOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, nimbusCallTimeout)
	defer cancel()
	if err := s.nimbus.confirm(ctx); err != nil {
		return err
	}
	for {
		before := s.countPushes()
		var answer *storm.SupervisorAssignments
		err := s.nimbus.call(ctx, func(ctx context.Context, c *leader.Nimbus) (err error) {
			answer, err = c.GetSupervisorAssignments(ctx, s.id)
			return err
		})
		if none, ok := errors.AsType[thrift.TApplicationException](err); ok && none.TypeId() == thrift.MISSING_RESULT {
			return nil // Nimbus does not know yet
		}
		if err != nil || answer == nil {
			return err
		}
		if s.polled(answer.StormAssignment, before) {
			return nil
		}
	}
}

// askNow has the assignments polled without waiting for the next time.
func (s *Supervisor) askNow() {
	select {
	case s.poll <- struct{}{}:
	default:
	}
}

func (s *Supervisor) countPushes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pushes
}

func (s *Supervisor) pushed(assignments map[string]*storm.Assignment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pushes++
	s.assignments = assignments
	s.deliver()
}

// polled takes an answer, unless a push has come since it was asked for: which of the two is newer cannot be told, so it
// is asked for again.
func (s *Supervisor) polled(assignments map[string]*storm.Assignment, pushes int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pushes != pushes {
		return false
	}
	s.assignments = assignments
	s.deliver()
	return true
}

// deliver tells every port what it shall run. Callers hold mu.
func (s *Supervisor) deliver() {
	if s.start == nil || !s.cleared || !s.cfg.Enabled {
		return
	}
	slots := s.saved
	if s.assignments != nil {
		var faults []error
		slots, faults = slotsOf(s.id, s.assignments)
		for _, fault := range faults {
			s.log.Error("assignment is not served", zap.Error(fault))
		}
	}
	for _, number := range slices.Sorted(maps.Keys(slots)) {
		if s.port(number) == nil {
			s.log.Error("assignment is not served, its port is one too many that the conf does not name", zap.Int("port", number),
				zap.String("topology_id", slots[number].TopologyID))
		}
	}
	for number, p := range s.ports {
		want := slots[number]
		if before, told := s.given[number]; told && sameAssignment(before, want) {
			continue
		}
		s.given[number] = want
		p.assign(want)
	}
}

// sameAssignment says whether nothing at all differs, so that a port need not be told.
func sameAssignment(a, b *storm.LocalAssignment) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equals(b)
}

// maxOtherPorts is how many ports beyond those of the conf may be assigned. Assignments come from anybody who can reach the
// supervisor: one call can name all 65,535 ports, each of them a worker.
const maxOtherPorts = 64

// port returns the driver of a port, and makes and runs it if there is none: Nimbus may assign a port that the conf no
// longer names. Nil means that there are too many such ports. Callers hold mu.
func (s *Supervisor) port(number int) *port {
	p := s.ports[number]
	if p == nil {
		if len(s.ports) >= len(s.cfg.Ports)+maxOtherPorts {
			return nil
		}
		p = newPort(number, s)
		s.ports[number] = p
		s.start(p)
	}
	return p
}
