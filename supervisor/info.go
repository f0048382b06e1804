// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file keeps the supervisor's entry in the cluster state.

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/thrift/storm"
)

// tellInfo writes the entry at once, whenever a session was made, and every few seconds. Nimbus schedules nothing here
// without it.
func (s *Supervisor) tellInfo(ctx context.Context) error {
	if s.cfg.Resources[memoryResource] <= 0 || s.cfg.Resources[cpuResource] <= 0 || len(s.cfg.Ports) == 0 {
		s.log.Warn("supervisor offers no ports, memory or cpu, so it is not registered",
			zap.Any("resources", s.cfg.Resources), zap.Ints("ports", s.cfg.Ports))
		return nil
	}
	sessions := s.state.Sessions()
	ticker := time.NewTicker(s.cfg.InfoEvery)
	defer ticker.Stop()
	trouble := newTrouble(s.log, "supervisor cannot be registered in the cluster state, workers go on", "supervisor is registered again")
	for {
		writing, cancel := context.WithTimeout(ctx, s.cfg.InfoEvery)
		err := s.state.SetSupervisor(writing, s.id, s.info())
		cancel()
		if ctx.Err() != nil {
			return nil
		}
		trouble.report(err)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-sessions:
		}
	}
}

// info is the entry as it is now.
func (s *Supervisor) info() *storm.SupervisorInfo {
	uptime := int64(time.Since(s.origin).Seconds())
	port := int32(s.serverPort) //nolint:gosec // a port
	ports := make([]int64, 0, len(s.cfg.Ports))
	for _, p := range s.cfg.Ports {
		ports = append(ports, int64(p))
	}
	info := &storm.SupervisorInfo{
		TimeSecs:      time.Now().Unix(),
		Hostname:      s.cfg.Hostname,
		AssignmentID:  &s.id,
		UsedPorts:     s.board.usedPorts(),
		Meta:          ports,
		SchedulerMeta: s.cfg.SchedulerMeta,
		UptimeSecs:    &uptime,
		Version:       &s.cfg.StormVersion,
		ResourcesMap:  s.cfg.Resources,
		ServerPort:    &port,
	}
	cluster.SetMaxFrame(info, maxFrame)
	return info
}
