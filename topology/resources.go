// SPDX-License-Identifier: Apache-2.0

// This file adds up what executors and workers need.

package topology

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/internal/java"
	"github.com/gust-stream/gust/thrift/storm"
)

// Names of resources in the maps of WorkerResources and SupervisorInfo.
const (
	cpuResource     = "cpu.pcore.percent"
	onHeapResource  = "onheap.memory.mb"
	offHeapResource = "offheap.memory.mb"
	memoryResource  = "memory.mb"
)

// Request is what one executor asks for: memory in MB, CPU in percent of a
// core, and whatever else the user named.
type Request struct {
	OnHeap, OffHeap, CPU float64
	Other                map[string]float64
}

// Memory is on-heap and off-heap memory together, in MB.
func (r Request) Memory() float64 { return r.OnHeap + r.OffHeap }

// Requests is what one executor of each component asks for, by component id.
type Requests map[string]Request

// RequestsOf reads them for a topology, best a system topology, which has all
// components; conf is the saved conf. A component's own conf wins over topology.component.resources.map, that
// over the scalar keys; acker and metrics consumers have keys of their own.
func RequestsOf(conf config.Conf, t *storm.StormTopology) (Requests, error) {
	out := Requests{}
	for _, c := range components(t) {
		own, err := c.conf()
		if err != nil {
			return nil, err
		}
		m := defaultRequest(conf, c.id)
		for _, k := range []string{
			config.TopologyComponentResourcesOnheapMemoryMb, config.TopologyComponentResourcesOffheapMemoryMb,
			config.TopologyComponentCpuPcorePercent,
		} {
			put(m, normalName(k), own, k)
		}
		maps.Copy(m, numbers(own.Map(config.TopologyComponentResourcesMap)))
		out[c.id] = toRequest(m)
	}
	return out, nil
}

// defaultRequest is what a component asks for that says nothing itself.
func defaultRequest(conf config.Conf, id string) map[string]float64 {
	m := map[string]float64{}
	put(m, cpuResource, conf, config.TopologyComponentCpuPcorePercent)
	put(m, offHeapResource, conf, config.TopologyComponentResourcesOffheapMemoryMb)
	put(m, onHeapResource, conf, config.TopologyComponentResourcesOnheapMemoryMb)
	maps.Copy(m, numbers(conf.Map(config.TopologyComponentResourcesMap)))
	switch {
	case id == AckerID:
		put(m, onHeapResource, conf, config.TopologyAckerResourcesOnheapMemoryMb)
		put(m, offHeapResource, conf, config.TopologyAckerResourcesOffheapMemoryMb)
		put(m, cpuResource, conf, config.TopologyAckerCpuPcorePercent)
	case strings.HasPrefix(id, MetricsPrefix):
		put(m, onHeapResource, conf, config.TopologyMetricsConsumerResourcesOnheapMemoryMb)
		put(m, offHeapResource, conf, config.TopologyMetricsConsumerResourcesOffheapMemoryMb)
		put(m, cpuResource, conf, config.TopologyMetricsConsumerCpuPcorePercent)
	}
	return m
}

// put copies a number from a conf if it is there.
func put(m map[string]float64, name string, conf config.Conf, key string) {
	if v, err := conf.RequireFloat(key); err == nil {
		m[name] = v
	}
}

// numbers takes the numbers of a resource map, under their short names.
func numbers(m map[string]any) map[string]float64 {
	out := make(map[string]float64, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		put(out, normalName(k), m, k)
	}
	return out
}

// normalName gives the short name of a resource that has a long one for historical reasons.
func normalName(name string) string {
	switch name {
	case config.TopologyComponentCpuPcorePercent, config.SupervisorCpuCapacity:
		return cpuResource
	case config.TopologyComponentResourcesOnheapMemoryMb:
		return onHeapResource
	case config.TopologyComponentResourcesOffheapMemoryMb:
		return offHeapResource
	case config.SupervisorMemoryCapacityMb:
		return memoryResource
	default:
		return name
	}
}

func toRequest(m map[string]float64) Request {
	r := Request{OnHeap: m[onHeapResource], OffHeap: m[offHeapResource], CPU: m[cpuResource]}
	for name, v := range m {
		switch name {
		case onHeapResource, offHeapResource, cpuResource, memoryResource:
		default:
			if r.Other == nil {
				r.Other = map[string]float64{}
			}
			r.Other[name] = v
		}
	}
	return r
}

// WorkerResources adds up what one worker needs: running has the component of
// each of its executors, t tells which memory
// components share. minCPU is storm.worker.min.cpu.pcore.percent.
func WorkerResources(t *storm.StormTopology, requests Requests, running []string, minCPU float64) *storm.WorkerResources {
	var sum Request
	other := map[string]float64{}
	for _, id := range running {
		r := requests[id]
		sum.OnHeap += r.OnHeap
		sum.OffHeap += r.OffHeap
		sum.CPU += r.CPU
		for name, v := range r.Other {
			other[name] += v
		}
	}
	sharedOn, sharedOff := shared(t, running)
	sum.OnHeap += sharedOn
	sum.OffHeap += sharedOff
	sum.CPU = max(sum.CPU, minCPU)
	other[onHeapResource], other[offHeapResource], other[cpuResource] = sum.OnHeap, sum.OffHeap, sum.CPU
	sharedMap := map[string]float64{}
	if sharedOn != 0 {
		sharedMap[onHeapResource] = sharedOn
	}
	if sharedOff != 0 {
		sharedMap[offHeapResource] = sharedOff
	}
	return &storm.WorkerResources{
		MemOnHeap: &sum.OnHeap, MemOffHeap: &sum.OffHeap, CPU: &sum.CPU,
		SharedMemOnHeap: &sharedOn, SharedMemOffHeap: &sharedOff,
		Resources: other, SharedResources: sharedMap,
	}
}

// shared is the memory that the components of a worker share, each region once.
func shared(t *storm.StormTopology, running []string) (onHeap, offHeap float64) {
	seen := map[string]bool{}
	for _, id := range running {
		for _, name := range t.ComponentToSharedMemory[id] {
			region := t.SharedMemory[name]
			if region == nil || seen[name] {
				continue
			}
			seen[name] = true
			onHeap += region.GetOnHeap()
			offHeap += region.GetOffHeapWorker()
		}
	}
	return onHeap, offHeap
}

// CheckHeap refuses a topology one of whose components asks for more memory
// than a worker may have: topology.worker.max.heap.size.mb of the submitted
// conf, else of Nimbus's. Requests count as submitted, without defaults. Under every scheduler, as in Storm.
func CheckHeap(submitted, nimbus config.Conf, t *storm.StormTopology) error {
	requests, err := RequestsOf(submitted, t)
	if err != nil {
		return err
	}
	largest := 0.0
	for id, r := range requests {
		if _, state := t.StateSpouts[id]; !state {
			largest = max(largest, r.Memory())
		}
	}
	most := nimbus.Float(config.TopologyWorkerMaxHeapSizeMb, math.Inf(1))
	if limit := submitted.Float(config.TopologyWorkerMaxHeapSizeMb, most); limit < largest {
		return invalid("Topology will not be able to be successfully scheduled: Config TOPOLOGY_WORKER_MAX_HEAP_SIZE_MB=%s < %s "+
			"(Largest memory requirement of a component in the topology). Perhaps set TOPOLOGY_WORKER_MAX_HEAP_SIZE_MB to a larger amount",
			java.Double(limit), java.Double(largest))
	}
	return nil
}

// OverrideResources gives the topology with other resource requests: overrides
// has, by component, values by resource name. Components that do not exist are ignored.
func OverrideResources(t *storm.StormTopology, overrides map[string]map[string]float64) (*storm.StormTopology, error) {
	out := clone(t)
	for _, c := range components(out) {
		wanted, ok := overrides[c.id]
		if _, state := out.StateSpouts[c.id]; !ok || state {
			continue
		}
		conf, err := c.conf()
		if err != nil {
			return nil, err
		}
		m := maps.Clone(conf.Map(config.TopologyComponentResourcesMap))
		if m == nil {
			m = map[string]any{}
		}
		_, isSpout := out.Spouts[c.id]
		for name, v := range wanted {
			if isSpout {
				name = normalName(name) // a bolt's stay as they are given; they mean the same
			}
			if old := longName(name); old != "" {
				delete(conf, old)
				delete(m, old)
			}
			m[name] = v
		}
		conf[config.TopologyComponentResourcesMap] = m
		if err := c.setConf(conf); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// longName is the key that a component's conf may have for a resource besides its short name.
func longName(name string) string {
	switch name {
	case cpuResource:
		return config.TopologyComponentCpuPcorePercent
	case onHeapResource:
		return config.TopologyComponentResourcesOnheapMemoryMb
	case offHeapResource:
		return config.TopologyComponentResourcesOffheapMemoryMb
	default:
		return ""
	}
}
