// SPDX-License-Identifier: Apache-2.0

// What clients ask about the cluster and its topologies: lists, confs, code, history.

package nimbus

import (
	"cmp"
	"context"
	"slices"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology"
)

// GetClusterInfo returns supervisors, topologies and Nimbuses.
func (n *Nimbus) GetClusterInfo(context.Context) (*storm.ClusterSummary, error) {
	if err := n.ready(); err != nil {
		return nil, err
	}
	return n.clusterSummary(), nil
}

// GetTopologySummaries returns all topologies.
func (n *Nimbus) GetTopologySummaries(context.Context) ([]*storm.TopologySummary, error) {
	if err := n.ready(); err != nil {
		return nil, err
	}
	return n.topologySummaries(n.model.all()), nil
}

// GetTopologySummary returns one topology.
func (n *Nimbus) GetTopologySummary(_ context.Context, id string) (*storm.TopologySummary, error) {
	t, err := n.existing(id)
	if err != nil {
		if n.ready() == nil {
			err = unknownName(id) // this call says it in the other words
		}
		return nil, err
	}
	return n.topologySummary(t), nil
}

// GetTopologySummaryByName returns one topology.
func (n *Nimbus) GetTopologySummaryByName(_ context.Context, name string) (*storm.TopologySummary, error) {
	t, err := n.existingName(name)
	if err != nil {
		return nil, err
	}
	return n.topologySummary(t), nil
}

// existingName finds a topology by name for a call that only reads.
func (n *Nimbus) existingName(name string) (*topologyState, error) {
	if err := n.ready(); err != nil {
		return nil, err
	}
	if t := n.model.byName(name); t != nil {
		return t, nil
	}
	return nil, unknownName(name)
}

// GetNimbusConf returns Nimbus's conf as JSON, without its secrets.
func (n *Nimbus) GetNimbusConf(context.Context) (string, error) {
	text, err := config.Redact(n.cfg.Conf).JSON()
	return string(text), err
}

// GetTopologyConf returns the saved conf of a topology as JSON, without its secrets.
func (n *Nimbus) GetTopologyConf(_ context.Context, id string) (string, error) {
	t, err := n.existing(id)
	if err != nil {
		return "", err
	}
	text, err := config.Redact(t.code.conf).JSON()
	return string(text), err
}

// GetUserTopology returns a topology as it is stored.
func (n *Nimbus) GetUserTopology(_ context.Context, id string) (*storm.StormTopology, error) {
	t, err := n.existing(id)
	if err != nil {
		return nil, err
	}
	return t.code.user, nil
}

// GetTopology returns a topology with the system's components.
func (n *Nimbus) GetTopology(_ context.Context, id string) (*storm.StormTopology, error) {
	t, err := n.existing(id)
	if err != nil {
		return nil, err
	}
	if t.broken != nil {
		return nil, t.broken
	}
	return topology.System(config.Merge(n.cfg.Conf, t.code.conf), t.code.user)
}

// GetTopologyHistory returns the ids of topologies that run or were killed.
func (n *Nimbus) GetTopologyHistory(context.Context, string) (*storm.TopologyHistoryInfo, error) {
	if err := n.ready(); err != nil {
		return nil, err
	}
	ids := n.history.ids()
	for _, t := range n.model.all() {
		if t.assignment != nil {
			ids = append(ids, t.id)
		}
	}
	slices.Sort(ids)
	return &storm.TopologyHistoryInfo{TopoIds: slices.Compact(ids)}, nil
}

// GetOwnerResourceSummaries adds up topologies by owner; "" asks for all owners.
func (n *Nimbus) GetOwnerResourceSummaries(_ context.Context, owner string) ([]*storm.OwnerResourceSummary, error) {
	if err := n.ready(); err != nil {
		return nil, err
	}
	sums := map[string]*ownerSum{}
	for _, t := range n.model.all() {
		if o := t.base.GetOwner(); owner == "" || o == owner {
			if sums[o] == nil {
				sums[o] = &ownerSum{}
			}
			sums[o].add(n.topologySummary(t))
		}
	}
	if owner != "" && sums[owner] == nil {
		sums[owner] = &ownerSum{}
	}
	out := make([]*storm.OwnerResourceSummary, 0, len(sums))
	for o, sum := range sums {
		out = append(out, sum.summary(o))
	}
	slices.SortFunc(out, func(a, b *storm.OwnerResourceSummary) int { return cmp.Compare(a.Owner, b.Owner) })
	return out, nil
}

// ownerSum adds up the topologies of one owner.
type ownerSum struct {
	topologies, executors, workers, tasks                  int32
	onHeap, offHeap, cpu, givenOnHeap, givenOffHeap, given float64
}

func (s *ownerSum) add(t *storm.TopologySummary) {
	s.topologies++
	s.executors += t.NumExecutors
	s.workers += t.NumWorkers
	s.tasks += t.NumTasks
	s.onHeap += t.GetRequestedMemonheap()
	s.offHeap += t.GetRequestedMemoffheap()
	s.cpu += t.GetRequestedCPU()
	s.givenOnHeap += t.GetAssignedMemonheap()
	s.givenOffHeap += t.GetAssignedMemoffheap()
	s.given += t.GetAssignedCPU()
}

func (s *ownerSum) summary(owner string) *storm.OwnerResourceSummary {
	memory, wanted := s.givenOnHeap+s.givenOffHeap, s.onHeap+s.offHeap
	return &storm.OwnerResourceSummary{
		Owner: owner, TotalTopologies: &s.topologies, TotalExecutors: &s.executors, TotalWorkers: &s.workers, TotalTasks: &s.tasks,
		MemoryUsage: &memory, CPUUsage: &s.given, RequestedOnHeapMemory: &s.onHeap, RequestedOffHeapMemory: &s.offHeap,
		RequestedTotalMemory: &wanted, RequestedCPU: &s.cpu, AssignedOnHeapMemory: &s.givenOnHeap, AssignedOffHeapMemory: &s.givenOffHeap,
	}
}
