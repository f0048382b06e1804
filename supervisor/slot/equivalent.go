// SPDX-License-Identifier: Apache-2.0

package slot

// This file says which two assignments a worker cannot tell apart.

import (
	"maps"

	"github.com/gust-stream/gust/thrift/storm"
)

// Equivalent says whether a worker launched for a serves b as well: same topology, same set of executors, same
// resources. Owner and memory shared over the node do not count. Storm's class for this is EquivalenceUtils.
func Equivalent(a, b *storm.LocalAssignment) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a == b || a.TopologyID == b.TopologyID &&
		maps.Equal(executorSet(a.Executors), executorSet(b.Executors)) &&
		sameResources(a.Resources, b.Resources)
}

func executorSet(executors []*storm.ExecutorInfo) map[[2]int32]bool {
	set := make(map[[2]int32]bool, len(executors))
	for _, e := range executors {
		set[[2]int32{e.GetTaskStart(), e.GetTaskEnd()}] = true
	}
	return set
}

func sameResources(a, b *storm.WorkerResources) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.GetCPU() == b.GetCPU() &&
		a.GetMemOnHeap() == b.GetMemOnHeap() && a.GetMemOffHeap() == b.GetMemOffHeap() &&
		a.GetSharedMemOnHeap() == b.GetSharedMemOnHeap() && a.GetSharedMemOffHeap() == b.GetSharedMemOffHeap() &&
		maps.Equal(a.Resources, b.Resources) && maps.Equal(a.SharedResources, b.SharedResources)
}
