// SPDX-License-Identifier: Apache-2.0

// The pages of the UI: one topology, one component, one supervisor. Numbers of executors, places, requests and errors are right;
// the statistics of tuples are zeros for now: adding them up over windows is package nimbus/stats's job, which does not exist yet.

package nimbus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
)

// windows are the spans over which statistics are kept, in seconds, as keys of maps.
func windows() []string { return []string{"600", "10800", "86400", ":all-time"} }

// GetTopologyPageInfo returns what the UI shows of a topology.
func (n *Nimbus) GetTopologyPageInfo(ctx context.Context, id, _ string, sys bool) (*storm.TopologyPageInfo, error) {
	t, err := n.existing(id)
	if err != nil {
		return nil, err
	}
	text, err := config.Redact(config.Merge(n.cfg.Conf, t.code.conf)).JSON()
	if err != nil {
		return nil, err
	}
	conf, name, status, uptime, replicas := string(text), t.name(), t.base.Status.String(), n.uptime(t), int32(1)
	summary := n.topologySummary(t)
	tasks := int32(len(t.code.tasks))
	workers := n.workerSummaries(t, sys, "")
	page := &storm.TopologyPageInfo{
		ID: t.id, Name: &name, UptimeSecs: &uptime, Status: &status, NumTasks: &tasks, NumWorkers: &summary.NumWorkers,
		NumExecutors: &summary.NumExecutors, TopologyConf: &conf, Owner: t.base.Owner, ReplicationCount: &replicas, Workers: workers,
		StormVersion: t.code.user.StormVersion, TopologyVersion: t.base.TopologyVersion, SchedStatus: summary.SchedStatus,
		DebugOptions: t.base.ComponentDebug[t.id], TopologyStats: emptyStats(),
		IDToSpoutAggStats: map[string]*storm.ComponentAggregateStats{}, IDToBoltAggStats: map[string]*storm.ComponentAggregateStats{},
	}
	for component := range t.code.system.Spouts {
		if page.IDToSpoutAggStats[component], err = n.componentStats(ctx, t, component, storm.ComponentType_SPOUT); err != nil {
			return nil, err
		}
	}
	for component := range t.code.system.Bolts {
		if isSystemID(component) && !sys {
			continue
		}
		if page.IDToBoltAggStats[component], err = n.componentStats(ctx, t, component, storm.ComponentType_BOLT); err != nil {
			return nil, err
		}
	}
	return page, nil
}

func isSystemID(component string) bool { return len(component) > 1 && component[:2] == "__" }

// emptyStats are statistics of a topology that has processed nothing.
func emptyStats() *storm.TopologyStats {
	counts := func() map[string]int64 {
		m := map[string]int64{}
		for _, w := range windows() {
			m[w] = 0
		}
		return m
	}
	latencies := map[string]float64{}
	for _, w := range windows() {
		latencies[w] = 0
	}
	return &storm.TopologyStats{
		WindowToEmitted: counts(), WindowToTransferred: counts(), WindowToAcked: counts(), WindowToFailed: counts(),
		WindowToCompleteLatenciesMs: latencies,
	}
}

// componentStats are the numbers of a component, with its last error.
func (n *Nimbus) componentStats(ctx context.Context, t *topologyState, component string, kind storm.ComponentType) (*storm.ComponentAggregateStats, error) {
	last, err := n.cluster.LastError(ctx, t.id, component)
	if err != nil && !n.damaged(ctx, err) {
		return nil, err
	}
	stats := aggregate(t, component, kind)
	stats.LastError = last
	return stats, nil
}

// aggregate are the numbers of a component, with zeros for what it processed.
func aggregate(t *topologyState, component string, kind storm.ComponentType) *storm.ComponentAggregateStats {
	var executors, tasks int32
	for _, id := range t.executors {
		if t.components[id] == component {
			executors++
		}
	}
	for _, c := range t.code.tasks {
		if c == component {
			tasks++
		}
	}
	zero := func() *int64 { return new(int64) }
	r := t.code.requests[component]
	resources := map[string]float64{"cpu.pcore.percent": r.CPU, "onheap.memory.mb": r.OnHeap, "offheap.memory.mb": r.OffHeap}
	maps.Copy(resources, r.Other)
	out := &storm.ComponentAggregateStats{
		Type: &kind,
		CommonStats: &storm.CommonAggregateStats{
			NumExecutors: &executors, NumTasks: &tasks, Emitted: zero(), Transferred: zero(), Acked: zero(), Failed: zero(), ResourcesMap: resources,
		},
		SpecificStats: &storm.SpecificAggregateStats{},
	}
	if kind == storm.ComponentType_SPOUT {
		out.SpecificStats.Spout = &storm.SpoutAggregateStats{CompleteLatencyMs: new(float64)}
	} else {
		out.SpecificStats.Bolt = &storm.BoltAggregateStats{
			ExecuteLatencyMs: new(float64), ProcessLatencyMs: new(float64), Executed: zero(), Capacity: new(float64),
		}
	}
	return out
}

// GetComponentPageInfo returns what the UI shows of a component.
func (n *Nimbus) GetComponentPageInfo(ctx context.Context, id, component, _ string, _ bool) (*storm.ComponentPageInfo, error) {
	t, err := n.existing(id)
	if err != nil {
		return nil, err
	}
	kind, err := kindOf(t, component)
	if err != nil {
		return nil, err
	}
	faults, err := n.cluster.Errors(ctx, t.id, component)
	if err != nil && !n.damaged(ctx, err) {
		return nil, err
	}
	if faults == nil {
		faults = []*storm.ErrorInfo{}
	}
	beats, err := n.beatsOf(ctx, t)
	if err != nil {
		return nil, err
	}
	name, status, stats := t.name(), t.base.Status.String(), aggregate(t, component, kind)
	page := &storm.ComponentPageInfo{
		ComponentID: component, ComponentType: kind, TopologyID: &t.id, TopologyName: &name, TopologyStatus: &status,
		NumExecutors: stats.CommonStats.NumExecutors, NumTasks: stats.CommonStats.NumTasks, Errors: faults,
		WindowToStats:    map[string]*storm.ComponentAggregateStats{},
		GsidToInputStats: map[*storm.GlobalStreamId]*storm.ComponentAggregateStats{}, SidToOutputStats: map[string]*storm.ComponentAggregateStats{},
		ExecStats: []*storm.ExecutorAggregateStats{}, DebugOptions: t.base.ComponentDebug[component], ResourcesMap: stats.CommonStats.ResourcesMap,
	}
	for _, w := range windows() {
		page.WindowToStats[w] = stats
	}
	for _, e := range executorSummaries(t, beats) {
		if e.ComponentID == component {
			page.ExecStats = append(page.ExecStats, &storm.ExecutorAggregateStats{ExecSummary: e, Stats: aggregate(t, component, kind)})
		}
	}
	return page, nil
}

func kindOf(t *topologyState, component string) (storm.ComponentType, error) {
	switch {
	case t.code.system.Spouts[component] != nil:
		return storm.ComponentType_SPOUT, nil
	case t.code.system.Bolts[component] != nil:
		return storm.ComponentType_BOLT, nil
	default:
		return 0, fmt.Errorf("topology %s has no component %s", t.id, component)
	}
}

// GetSupervisorPageInfo returns what the UI shows of one supervisor, or of all on a host.
func (n *Nimbus) GetSupervisorPageInfo(_ context.Context, id, host string, sys bool) (*storm.SupervisorPageInfo, error) {
	if err := n.ready(); err != nil {
		return nil, err
	}
	if id == "" && host == "" {
		return nil, errors.New("a supervisor page needs a supervisor id or a host")
	}
	infos, read := n.model.supervisorsRead()
	topologies := n.model.all()
	used := usedPorts(topologies)
	page := &storm.SupervisorPageInfo{SupervisorSummaries: []*storm.SupervisorSummary{}, WorkerSummaries: []*storm.WorkerSummary{}}
	for sup, info := range infos {
		if sup != id && (id != "" || info.Hostname != host) {
			continue
		}
		page.SupervisorSummaries = append(page.SupervisorSummaries, n.supervisorSummary(sup, info, len(used[sup]), read))
		for _, t := range topologies {
			page.WorkerSummaries = append(page.WorkerSummaries, n.workerSummaries(t, sys, sup)...)
		}
	}
	if len(page.SupervisorSummaries) == 0 {
		return nil, fmt.Errorf("no supervisor has the id %q or the host %q", id, host)
	}
	return page, nil
}

// workerSummaries lists the workers of a topology, all or those on one supervisor, by host and port.
func (n *Nimbus) workerSummaries(t *topologyState, sys bool, node string) []*storm.WorkerSummary {
	out := []*storm.WorkerSummary{}
	if t.assignment == nil {
		return out
	}
	resources := map[slotKey]*storm.WorkerResources{}
	for info, r := range t.assignment.WorkerResources {
		resources[keyOf(info)] = r
	}
	for slot, executors := range group(slotMap(t.assignment)) {
		if node != "" && slot.node != node {
			continue
		}
		out = append(out, n.workerSummary(t, slot, executors, resources[slot], sys))
	}
	slices.SortFunc(out, func(a, b *storm.WorkerSummary) int {
		if *a.Host != *b.Host {
			return slices.Compare([]byte(*a.Host), []byte(*b.Host))
		}
		return int(*a.Port - *b.Port)
	})
	return out
}

func (n *Nimbus) workerSummary(t *topologyState, slot slotKey, executors []storm.ExecutorID, r *storm.WorkerResources, sys bool) *storm.WorkerSummary {
	host, port, count, name := t.assignment.NodeHost[slot.node], int32(slot.port), int32(len(executors)), t.name()
	tasks := map[string]int64{}
	for _, id := range executors {
		if c := t.components[id]; sys || !isSystemID(c) {
			tasks[c] += id[1] - id[0] + 1
		}
	}
	// How long the worker is up is known from its place's age until statistics are read.
	uptime := int32(max(0, n.now().Sub(t.placed[executors[0]]).Seconds()))
	onHeap, offHeap, cpu := r.GetMemOnHeap(), r.GetMemOffHeap(), r.GetCPU()
	return &storm.WorkerSummary{
		SupervisorID: &slot.node, Host: &host, Port: &port, TopologyID: &t.id, TopologyName: &name, NumExecutors: &count,
		ComponentToNumTasks: tasks, UptimeSecs: &uptime, Owner: t.base.Owner, AssignedMemonheap: &onHeap, AssignedMemoffheap: &offHeap,
		AssignedCPU: &cpu, RequestedMemonheap: &onHeap, RequestedMemoffheap: &offHeap, RequestedCPU: &cpu,
	}
}
