// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file answers Nimbus, which pushes assignments, and the workers, which ask for theirs.

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/thrift/storm"
)

// service is the Thrift service on supervisor.thrift.port.
type service struct{ s *Supervisor }

var _ storm.Supervisor = (*service)(nil)

// SendSupervisorAssignments takes the whole set of this host's assignments in place of the one before.
func (v *service) SendSupervisorAssignments(_ context.Context, assignments *storm.SupervisorAssignments) error {
	if assignments == nil {
		return errors.New("no assignments were sent")
	}
	v.s.log.Info("assignments were pushed", zap.Int("topologies", len(assignments.StormAssignment)))
	v.s.pushed(assignments.StormAssignment)
	return nil
}

// GetLocalAssignmentForStorm tells a worker where its topology runs. A worker that gets an exception reads the cluster
// state instead, so this does not.
func (v *service) GetLocalAssignmentForStorm(_ context.Context, id string) (*storm.Assignment, error) {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	if a := v.s.assignments[id]; a != nil {
		return a, nil
	}
	text := fmt.Sprintf("No local assignment assigned for storm: %s for node: %s", id, v.s.cfg.Hostname)
	return nil, &storm.NotAliveException{Msg: text}
}

// SendSupervisorWorkerHeartbeat changes nothing, as in Storm: whether a worker lives is read from its heartbeat file, since
// anybody can make this call. A worker of a topology that is not here is told so.
func (v *service) SendSupervisorWorkerHeartbeat(_ context.Context, heartbeat *storm.SupervisorWorkerHeartbeat) error {
	if heartbeat == nil {
		return errors.New("no heartbeat was sent")
	}
	if !v.s.board.serves(heartbeat.StormID) {
		return &storm.NotAliveException{Msg: heartbeat.StormID + " does not appear to be alive, you should probably exit"}
	}
	return nil
}
