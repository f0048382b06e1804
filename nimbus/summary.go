// SPDX-License-Identifier: Apache-2.0

// Summaries of topologies, supervisors and Nimbuses, made from what is in memory.

package nimbus

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gust-stream/gust/thrift/storm"
)

// clusterSummary is the answer of getClusterInfo.
func (n *Nimbus) clusterSummary() *storm.ClusterSummary {
	topologies := n.model.all()
	return &storm.ClusterSummary{
		Supervisors: n.supervisorSummaries(topologies),
		Topologies:  n.topologySummaries(topologies),
		Nimbuses:    n.nimbusSummaries(),
	}
}

// supervisorSummaries lists the supervisors by host and id.
func (n *Nimbus) supervisorSummaries(topologies []*topologyState) []*storm.SupervisorSummary {
	infos, read := n.model.supervisorsRead()
	used := usedPorts(topologies)
	out := make([]*storm.SupervisorSummary, 0, len(infos))
	for id, info := range infos {
		out = append(out, n.supervisorSummary(id, info, len(used[id]), read))
	}
	slices.SortFunc(out, func(a, b *storm.SupervisorSummary) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.SupervisorID, b.SupervisorID))
	})
	return out
}

func (n *Nimbus) supervisorSummary(id string, info *storm.SupervisorInfo, used int, read time.Time) *storm.SupervisorSummary {
	s := storm.NewSupervisorSummary()
	s.Host, s.SupervisorID = info.Hostname, id
	s.UptimeSecs = int32(info.GetUptimeSecs() + int64(n.now().Sub(read)/time.Second))
	s.NumWorkers, s.NumUsedWorkers = int32(len(info.Meta)), int32(used)
	s.TotalResources = info.ResourcesMap
	if s.TotalResources == nil {
		s.TotalResources = map[string]float64{}
	}
	if info.Version != nil {
		s.Version = *info.Version
	}
	blacklisted := n.model.isBlacklisted(id)
	s.Blacklisted = &blacklisted
	return s
}

// usedPorts has the ports of each supervisor that run something.
func usedPorts(topologies []*topologyState) map[string]map[int64]bool {
	out := map[string]map[int64]bool{}
	for _, t := range topologies {
		if t.assignment == nil {
			continue
		}
		for _, info := range t.assignment.ExecutorNodePort {
			slot := keyOf(info)
			if out[slot.node] == nil {
				out[slot.node] = map[int64]bool{}
			}
			out[slot.node][slot.port] = true
		}
	}
	return out
}

func (n *Nimbus) topologySummaries(topologies []*topologyState) []*storm.TopologySummary {
	out := make([]*storm.TopologySummary, len(topologies))
	for i, t := range topologies {
		out[i] = n.topologySummary(t)
	}
	return out
}

func (n *Nimbus) topologySummary(t *topologyState) *storm.TopologySummary {
	s := &storm.TopologySummary{
		ID: t.id, Name: t.name(), UptimeSecs: n.uptime(t), Status: t.base.Status.String(),
		StormVersion: t.code.user.StormVersion, TopologyVersion: t.base.TopologyVersion, Owner: t.base.Owner,
	}
	if t.assignment != nil {
		for id := range t.assignment.ExecutorNodePort {
			s.NumTasks += int32(id[1] - id[0] + 1)
		}
		s.NumExecutors = int32(len(t.assignment.ExecutorNodePort))
		s.NumWorkers = int32(len(t.assignment.WorkerResources))
	}
	if t.status != "" {
		s.SchedStatus = &t.status
	}
	replicas := int32(1)
	s.ReplicationCount = &replicas
	wanted, given := requested(t), assigned(t)
	s.RequestedMemonheap, s.RequestedMemoffheap, s.RequestedCPU = &wanted.OnHeap, &wanted.OffHeap, &wanted.CPU
	s.RequestedGenericResources = wanted.Other
	s.AssignedMemonheap, s.AssignedMemoffheap, s.AssignedCPU = &given.OnHeap, &given.OffHeap, &given.CPU
	s.AssignedGenericResources = given.Other
	return s
}

// uptime is the time since the launch in seconds, never negative, whatever happened to the clock.
func (n *Nimbus) uptime(t *topologyState) int32 {
	return int32(max(0, n.now().Unix()-int64(t.base.GetLaunchTimeSecs())))
}

// summary is this Nimbus's own entry.
func (n *Nimbus) summary() *storm.NimbusSummary {
	tls := int32(n.self.TLSPort)
	return &storm.NimbusSummary{
		Host: n.self.Host, Port: int32(n.self.Port), UptimeSecs: int32(n.started.Unix()), Version: n.cfg.Version, TlsPort: &tls,
	}
}

// nimbusSummaries lists the Nimbuses as clients see them.
func (n *Nimbus) nimbusSummaries() []*storm.NimbusSummary {
	list, leader := n.model.nimbusesNow()
	out := make([]*storm.NimbusSummary, len(list))
	for i, s := range list {
		out[i] = n.shown(s, isNimbus(s, leader))
	}
	return out
}

// shown is an entry as a client sees it: with an uptime in place of the start.
func (n *Nimbus) shown(s *storm.NimbusSummary, leads bool) *storm.NimbusSummary {
	out := *s
	out.UptimeSecs = int32(max(0, n.now().Unix()-int64(s.UptimeSecs)))
	out.IsLeader = leads
	return &out
}

// isNimbus says whether an entry is the Nimbus that an election entry (host:port or host:port:tlsPort) names.
func isNimbus(s *storm.NimbusSummary, entry string) bool {
	rest, ok := strings.CutPrefix(entry, s.Host+":"+strconv.Itoa(int(s.Port)))
	return ok && (rest == "" || strings.HasPrefix(rest, ":"))
}

// amounts are memory in MB, CPU in percent of a core, and other resources by name.
type amounts struct {
	OnHeap, OffHeap, CPU float64
	Other                map[string]float64
}

// requested is what all executors of a topology ask for, and the memory that components share.
func requested(t *topologyState) amounts {
	sum := amounts{Other: map[string]float64{}}
	for _, id := range t.executors {
		r := t.code.requests[t.components[id]]
		sum.OnHeap += r.OnHeap
		sum.OffHeap += r.OffHeap
		sum.CPU += r.CPU
		for name, v := range r.Other {
			sum.Other[name] += v
		}
	}
	for _, shared := range t.code.user.SharedMemory {
		sum.OnHeap += shared.GetOnHeap()
		sum.OffHeap += shared.GetOffHeapWorker() + shared.GetOffHeapNode()
	}
	return sum
}

// assigned is what all workers of a topology were given.
func assigned(t *topologyState) amounts {
	sum := amounts{Other: map[string]float64{}}
	if t.assignment == nil {
		return sum
	}
	for _, r := range t.assignment.WorkerResources {
		sum.OnHeap += r.GetMemOnHeap()
		sum.OffHeap += r.GetMemOffHeap()
		sum.CPU += r.GetCPU()
		for name, v := range r.Resources {
			sum.Other[name] += v
		}
	}
	maps.DeleteFunc(sum.Other, func(name string, _ float64) bool {
		return slices.Contains([]string{"cpu.pcore.percent", "onheap.memory.mb", "offheap.memory.mb", "memory.mb"}, name)
	})
	return sum
}
