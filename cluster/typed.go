// SPDX-License-Identifier: Apache-2.0

// This file holds the typed reads and writes of topologies, assignments, supervisors, heartbeats and errors.

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/thrift/lib/go/thrift"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/thrift/storm"
)

// Storms returns the ids of all topologies, sorted.
func (s *State) Storms(ctx context.Context) ([]string, error) { return s.sorted(ctx, stormsDir) }

// Storm returns the state of a topology, or nil.
func (s *State) Storm(ctx context.Context, topologyID string) (*storm.StormBase, error) {
	return read(ctx, s, stormsDir, topologyID, storm.NewStormBase())
}

// SetStorm writes the state of a topology whole.
func (s *State) SetStorm(ctx context.Context, topologyID string, base *storm.StormBase) error {
	return s.put(ctx, stormsDir, topologyID, base)
}

// Assignments returns the ids of all topologies that have an assignment, sorted.
func (s *State) Assignments(ctx context.Context) ([]string, error) {
	return s.sorted(ctx, assignmentsDir)
}

// Assignment returns the assignment of a topology, or nil.
func (s *State) Assignment(ctx context.Context, topologyID string) (*storm.Assignment, error) {
	return read(ctx, s, assignmentsDir, topologyID, storm.NewAssignment())
}

// SetAssignment writes the assignment of a topology whole.
func (s *State) SetAssignment(ctx context.Context, topologyID string, assignment *storm.Assignment) error {
	return s.put(ctx, assignmentsDir, topologyID, assignment)
}

// RemoveAssignment removes the assignment of a topology.
func (s *State) RemoveAssignment(ctx context.Context, topologyID string) error {
	return s.drop(ctx, assignmentsDir, topologyID)
}

// Supervisors returns what every live supervisor last wrote, by supervisor id. An entry that is not readable is logged and left
// out, so that it hides none of the others.
func (s *State) Supervisors(ctx context.Context) (map[string]*storm.SupervisorInfo, error) {
	ids, err := s.children(ctx, supervisorsDir)
	if err != nil {
		return nil, err
	}
	infos := make(map[string]*storm.SupervisorInfo, len(ids))
	for _, id := range ids {
		data, err := s.get(ctx, supervisorsDir+"/"+id)
		if err != nil {
			return nil, err
		}
		if data == nil {
			continue // it left between the two reads
		}
		info := storm.NewSupervisorInfo()
		if err := Decode(ctx, data, info); err != nil {
			s.log.Warn("entry of a supervisor is not readable", zap.String("node", id), zap.Error(err))
			continue
		}
		infos[id] = info
	}
	return infos, nil
}

// SetSupervisor writes a supervisor's own entry, which lives as long as this session.
func (s *State) SetSupervisor(ctx context.Context, id string, info *storm.SupervisorInfo) error {
	node, err := child(supervisorsDir, id)
	if err != nil {
		return err
	}
	data, err := Encode(ctx, info)
	if err != nil {
		return err
	}
	return s.setEphemeral(ctx, node, data)
}

// RemoveSupervisor removes a supervisor's entry.
func (s *State) RemoveSupervisor(ctx context.Context, id string) error {
	return s.drop(ctx, supervisorsDir, id)
}

// WatchSupervisors calls changed after each arrival or loss of a supervisor, until ctx ends; it returns then. The first
// call comes at once. A session that breaks is watched again.
func (s *State) WatchSupervisors(ctx context.Context, changed func()) error {
	return s.watchChildren(ctx, supervisorsDir, changed)
}

// WorkerBeat returns the statistics that the worker on a slot last wrote, or nil.
func (s *State) WorkerBeat(ctx context.Context, topologyID, node string, port int64) (*storm.ClusterWorkerHeartbeat, error) {
	dir, err := child(workerBeatsDir, topologyID)
	if err != nil {
		return nil, err
	}
	return read(ctx, s, dir, fmt.Sprintf("%s-%d", node, port), storm.NewClusterWorkerHeartbeat())
}

// WorkerBeatTopologies returns the ids of topologies that have a place for statistics, dead ones included.
func (s *State) WorkerBeatTopologies(ctx context.Context) ([]string, error) {
	return s.sorted(ctx, workerBeatsDir)
}

// RemoveWorkerBeats removes all statistics of a topology.
func (s *State) RemoveWorkerBeats(ctx context.Context, topologyID string) error {
	return s.drop(ctx, workerBeatsDir, topologyID)
}

// Errors returns the errors that a component reported and that are still kept, the newest first.
func (s *State) Errors(ctx context.Context, topologyID, component string) ([]*storm.ErrorInfo, error) {
	dir, err := errorsPath(topologyID, component)
	if err != nil {
		return nil, err
	}
	found, err := readAll(ctx, s, dir, storm.NewErrorInfo)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(found, func(a, b *storm.ErrorInfo) int { return cmp.Compare(b.ErrorTimeSecs, a.ErrorTimeSecs) })
	return found, nil
}

// LastError returns the last error that a component reported, or nil.
func (s *State) LastError(ctx context.Context, topologyID, component string) (*storm.ErrorInfo, error) {
	dir, err := child(errorsDir, topologyID)
	if err != nil {
		return nil, err
	}
	return read(ctx, s, dir, componentNode(component)+lastErrorSuffix, storm.NewErrorInfo())
}

// ErrorTopologies returns the ids of topologies that have a place for errors, dead ones included.
func (s *State) ErrorTopologies(ctx context.Context) ([]string, error) {
	return s.sorted(ctx, errorsDir)
}

// RemoveErrors removes all errors of a topology.
func (s *State) RemoveErrors(ctx context.Context, topologyID string) error {
	return s.drop(ctx, errorsDir, topologyID)
}

func (s *State) sorted(ctx context.Context, dir string) ([]string, error) {
	names, err := s.children(ctx, dir)
	slices.SortFunc(names, strings.Compare)
	return names, err
}

// structOf is a pointer to a generated struct.
type structOf[T any] interface {
	*T
	thrift.TStruct
}

// read returns a child of dir decoded into value, or nil when it is absent.
func read[T any, P structOf[T]](ctx context.Context, s *State, dir, name string, value P) (P, error) {
	node, err := child(dir, name)
	if err != nil {
		return nil, err
	}
	found, err := s.fetch(ctx, node, value)
	if err != nil || !found {
		return nil, err
	}
	return value, nil
}

// readAll returns all children of dir decoded, by name, without those that vanished meanwhile.
func readAll[T any, P structOf[T]](ctx context.Context, s *State, dir string, fresh func() P) ([]P, error) {
	names, err := s.sorted(ctx, dir)
	if err != nil {
		return nil, err
	}
	var found []P
	for _, name := range names {
		value, err := read(ctx, s, dir, name, fresh())
		if err != nil {
			return nil, err
		}
		if value != nil {
			found = append(found, value)
		}
	}
	return found, nil
}
