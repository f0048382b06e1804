// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file checks how assignments are cut down to the ports of one node.

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/thrift/storm"
)

func TestSlotsOf(t *testing.T) {
	t.Parallel()
	at := func(node string, port int64) *storm.NodeInfo { return &storm.NodeInfo{Node: node, Port: []int64{port}} }
	heap := 256.0
	res := &storm.WorkerResources{MemOnHeap: &heap}
	owner := "eve"
	wc := &storm.Assignment{
		Owner: &owner,
		ExecutorNodePort: map[storm.ExecutorID]*storm.NodeInfo{
			{5, 5}: at("me", 1), {1, 2}: at("me", 1), {3, 4}: at("other", 1), {6, 6}: at("me-numa-0", 2), {7, 7}: at("metoo", 3), {8, 8}: nil,
			{1 << 40, 1 << 40}: at("me", 9),
		},
		WorkerResources:    map[*storm.NodeInfo]*storm.WorkerResources{at("me", 1): res, at("other", 1): {}, at("me", 4): {}},
		TotalSharedOffHeap: map[string]float64{"me": 12, "other": 99},
	}
	x := &storm.Assignment{ExecutorNodePort: map[storm.ExecutorID]*storm.NodeInfo{{1, 1}: at("me", 1), {2, 2}: at("me", 3)}}
	slots, faults := slotsOf("me", map[string]*storm.Assignment{"wc-1-1": wc, "x-2-2": x, "none-3-3": nil, "../up": x})
	shared := 12.0
	want := map[int]*storm.LocalAssignment{
		1: {
			TopologyID: "wc-1-1", Executors: []*storm.ExecutorInfo{{TaskStart: 1, TaskEnd: 2}, {TaskStart: 5, TaskEnd: 5}},
			Resources: res, Owner: &owner, TotalNodeShared: &shared,
		},
		2: {TopologyID: "wc-1-1", Executors: []*storm.ExecutorInfo{{TaskStart: 6, TaskEnd: 6}}, Owner: &owner, TotalNodeShared: &shared},
		3: {TopologyID: "x-2-2", Executors: []*storm.ExecutorInfo{{TaskStart: 2, TaskEnd: 2}}},
	}
	if diff := cmp.Diff(want, slots); diff != "" {
		t.Errorf("slots (-want +got):\n%s", diff)
	}
	if len(faults) != 2 || !strings.Contains(faults[0].Error(), "../up") || !strings.Contains(faults[1].Error(), "port 1 is assigned to topologies wc-1-1 and x-2-2") {
		t.Errorf("faults are %v", faults)
	}
}
