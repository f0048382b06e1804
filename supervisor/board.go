// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file is where the ports write what the rest of the supervisor tells Nimbus.

import (
	"maps"
	"slices"
	"sync"

	"github.com/gust-stream/gust/thrift/storm"
)

// board holds the newest heartbeat and the current assignment of each port.
type board struct {
	mu      sync.Mutex
	beats   map[int]*storm.LSWorkerHeartbeat
	current map[int]*storm.LocalAssignment
}

func newBoard() *board {
	return &board{beats: map[int]*storm.LSWorkerHeartbeat{}, current: map[int]*storm.LocalAssignment{}}
}

func (b *board) setBeat(port int, beat *storm.LSWorkerHeartbeat) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if beat == nil {
		delete(b.beats, port)
		return
	}
	b.beats[port] = beat
}

func (b *board) setCurrent(port int, a *storm.LocalAssignment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a == nil {
		delete(b.current, port)
		return
	}
	b.current[port] = a
}

// heartbeats gives the newest of each worker, by port; never nil, because an empty list tells Nimbus something too.
func (b *board) heartbeats() []*storm.SupervisorWorkerHeartbeat {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := []*storm.SupervisorWorkerHeartbeat{}
	for _, port := range slices.Sorted(maps.Keys(b.beats)) {
		beat := b.beats[port]
		list = append(list, &storm.SupervisorWorkerHeartbeat{StormID: beat.TopologyID, Executors: beat.Executors, TimeSecs: beat.TimeSecs})
	}
	return list
}

// usedPorts gives the ports with a current assignment, ascending.
func (b *board) usedPorts() []int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	ports := make([]int64, 0, len(b.current))
	for _, port := range slices.Sorted(maps.Keys(b.current)) {
		ports = append(ports, int64(port))
	}
	return ports
}

// serves says whether a topology has a current assignment on a port here.
func (b *board) serves(topologyID string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.current {
		if a.TopologyID == topologyID {
			return true
		}
	}
	return false
}

// topologies gives the ids of the topologies that have a current assignment here, ascending.
func (b *board) topologies() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids := map[string]bool{}
	for _, a := range b.current {
		ids[a.TopologyID] = true
	}
	return slices.Sorted(maps.Keys(ids))
}
