// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file cuts the assignments of topologies down to the ports of one node.

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/thrift/storm"
)

// slotsOf gives what each port of a node shall run. Assignments of other nodes are in the set and are passed over; an
// assignment that cannot be served is left out and is one of the faults, and does not touch the others.
func slotsOf(nodeID string, assignments map[string]*storm.Assignment) (map[int]*storm.LocalAssignment, []error) {
	slots := map[int]*storm.LocalAssignment{}
	var faults []error
	for _, id := range slices.Sorted(maps.Keys(assignments)) {
		a := assignments[id]
		if a == nil {
			continue
		}
		if err := checkAssignment(id, a); err != nil {
			faults = append(faults, err)
			continue
		}
		for port, local := range localAssignments(nodeID, id, a) {
			if other, taken := slots[port]; taken {
				faults = append(faults, fmt.Errorf("port %d is assigned to topologies %s and %s, keeping the first", port, other.TopologyID, id))
				continue
			}
			slots[port] = local
		}
	}
	return slots, faults
}

// checkAssignment refuses names that must not become paths.
func checkAssignment(topologyID string, a *storm.Assignment) error {
	if err := localstate.CheckName("topology id", topologyID); err != nil {
		return fmt.Errorf("assignment: %w", err)
	}
	if a.Owner == nil {
		return nil
	}
	if err := localstate.CheckName("owner", *a.Owner); err != nil {
		return fmt.Errorf("assignment of %s: %w", topologyID, err)
	}
	return nil
}

// localAssignments gives the part of one topology that runs on a node, by port.
func localAssignments(nodeID, topologyID string, a *storm.Assignment) map[int]*storm.LocalAssignment {
	locals := map[int]*storm.LocalAssignment{}
	for executor, at := range a.ExecutorNodePort {
		if at == nil || !isNode(at.Node, nodeID) || executor[0] != int64(int32(executor[0])) || executor[1] != int64(int32(executor[1])) { //nolint:gosec // this is the check
			continue
		}
		for _, port := range at.Port {
			if port < 1 || port > 65535 {
				continue
			}
			local := locals[int(port)]
			if local == nil {
				local = &storm.LocalAssignment{TopologyID: topologyID, Owner: a.Owner}
				locals[int(port)] = local
			}
			local.Executors = append(local.Executors, &storm.ExecutorInfo{TaskStart: int32(executor[0]), TaskEnd: int32(executor[1])})
		}
	}
	for at, resources := range a.WorkerResources {
		if at == nil || !isNode(at.Node, nodeID) {
			continue
		}
		for _, port := range at.Port {
			if local := locals[int(port)]; local != nil {
				local.Resources = resources
			}
		}
	}
	for _, local := range locals {
		slices.SortFunc(local.Executors, func(a, b *storm.ExecutorInfo) int {
			return cmp.Or(cmp.Compare(a.TaskStart, b.TaskStart), cmp.Compare(a.TaskEnd, b.TaskEnd))
		})
		if shared, ok := a.TotalSharedOffHeap[nodeID]; ok {
			local.TotalNodeShared = &shared
		}
	}
	return locals
}

// isNode says whether node is this supervisor or a NUMA zone of it; zones have ids that begin with the supervisor's.
func isNode(node, id string) bool {
	rest, ok := strings.CutPrefix(node, id)
	return ok && (rest == "" || strings.HasPrefix(rest, "-"))
}
