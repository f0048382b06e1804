// SPDX-License-Identifier: Apache-2.0

// What a running topology does: its executors and errors.

package nimbus

import (
	"context"
	"slices"

	"github.com/gust-stream/gust/thrift/storm"
)

// GetTopologyInfo returns executors and all kept errors of a topology.
func (n *Nimbus) GetTopologyInfo(ctx context.Context, id string) (*storm.TopologyInfo, error) {
	return n.GetTopologyInfoWithOpts(ctx, id, nil)
}

// GetTopologyInfoWithOpts returns executors and, as asked for, errors of a topology.
func (n *Nimbus) GetTopologyInfoWithOpts(ctx context.Context, id string, options *storm.GetInfoOptions) (*storm.TopologyInfo, error) {
	t, err := n.existing(id)
	if err != nil {
		return nil, err
	}
	return n.topologyInfo(ctx, t, options)
}

// GetTopologyInfoByName is GetTopologyInfo for a name.
func (n *Nimbus) GetTopologyInfoByName(ctx context.Context, name string) (*storm.TopologyInfo, error) {
	return n.GetTopologyInfoByNameWithOpts(ctx, name, nil)
}

// GetTopologyInfoByNameWithOpts is GetTopologyInfoWithOpts for a name.
func (n *Nimbus) GetTopologyInfoByNameWithOpts(ctx context.Context, name string, options *storm.GetInfoOptions) (*storm.TopologyInfo, error) {
	t, err := n.existingName(name)
	if err != nil {
		return nil, err
	}
	return n.topologyInfo(ctx, t, options)
}

func (n *Nimbus) topologyInfo(ctx context.Context, t *topologyState, options *storm.GetInfoOptions) (*storm.TopologyInfo, error) {
	choice := storm.NumErrorsChoice_ALL
	if options != nil && options.NumErrChoice != nil {
		choice = *options.NumErrChoice
	}
	faults, err := n.errorsOf(ctx, t, choice)
	if err != nil {
		return nil, err
	}
	beats, err := n.beatsOf(ctx, t)
	if err != nil {
		return nil, err
	}
	replicas := int32(1)
	info := &storm.TopologyInfo{
		ID: t.id, Name: t.name(), UptimeSecs: n.uptime(t), Executors: executorSummaries(t, beats), Status: t.base.Status.String(),
		Errors: faults, ComponentDebug: t.base.ComponentDebug, StormVersion: t.code.user.StormVersion, Owner: t.base.Owner,
		ReplicationCount: &replicas,
	}
	if t.status != "" {
		info.SchedStatus = &t.status
	}
	return info, nil
}

// errorsOf reads the errors of all components that have tasks.
func (n *Nimbus) errorsOf(ctx context.Context, t *topologyState, choice storm.NumErrorsChoice) (map[string][]*storm.ErrorInfo, error) {
	out := map[string][]*storm.ErrorInfo{}
	for _, component := range t.code.tasks {
		if _, done := out[component]; done {
			continue
		}
		list := []*storm.ErrorInfo{}
		switch choice {
		case storm.NumErrorsChoice_NONE:
		case storm.NumErrorsChoice_ONE:
			last, err := n.cluster.LastError(ctx, t.id, component)
			if err != nil && !n.damaged(ctx, err) {
				return nil, err
			}
			if last != nil {
				list = append(list, last)
			}
		case storm.NumErrorsChoice_ALL:
			all, err := n.cluster.Errors(ctx, t.id, component)
			if err != nil && !n.damaged(ctx, err) {
				return nil, err
			}
			list = append(list, all...)
		}
		out[component] = list
	}
	return out, nil
}

// executorBeat is what a worker last wrote about one executor.
type executorBeat struct {
	stats  *storm.ExecutorStats
	uptime int32
}

// beatsOf reads what the workers of a topology last wrote. Beats of slots that it has left do not count, nor do those that are no
// beats: workers write them, so they may be anything.
func (n *Nimbus) beatsOf(ctx context.Context, t *topologyState) (map[storm.ExecutorID]executorBeat, error) {
	out := map[storm.ExecutorID]executorBeat{}
	if t.assignment == nil {
		return out, nil
	}
	for slot, executors := range group(slotMap(t.assignment)) {
		beat, err := n.cluster.WorkerBeat(ctx, t.id, slot.node, slot.port)
		if err != nil && !n.damaged(ctx, err) {
			return nil, err
		}
		if beat == nil {
			continue
		}
		for e, stats := range beat.ExecutorStats {
			if id := (storm.ExecutorID{int64(e.TaskStart), int64(e.TaskEnd)}); slices.Contains(executors, id) {
				out[id] = executorBeat{stats: stats, uptime: beat.UptimeSecs}
			}
		}
	}
	return out, nil
}

// executorSummaries lists the assigned executors by ascending first task.
func executorSummaries(t *topologyState, beats map[storm.ExecutorID]executorBeat) []*storm.ExecutorSummary {
	out := []*storm.ExecutorSummary{}
	if t.assignment == nil {
		return out
	}
	ids := make([]storm.ExecutorID, 0, len(t.assignment.ExecutorNodePort))
	for id := range t.assignment.ExecutorNodePort {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, compareExecutors)
	for _, id := range ids {
		slot := keyOf(t.assignment.ExecutorNodePort[id])
		out = append(out, &storm.ExecutorSummary{
			ExecutorInfo: &storm.ExecutorInfo{TaskStart: int32(id[0]), TaskEnd: int32(id[1])},
			ComponentID:  t.components[id], Host: t.assignment.NodeHost[slot.node], Port: int32(slot.port),
			UptimeSecs: beats[id].uptime, Stats: beats[id].stats,
		})
	}
	return out
}
