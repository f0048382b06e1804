// SPDX-License-Identifier: Apache-2.0

package transfer

// This file works out who may wait for whom.

import (
	"maps"
	"slices"
)

// Gates says for each sender and receiver of a graph of components, given as receivers[sender], which components' inboxes the sender has to
// heed when it sends to the receiver.
//
// Waiting is only allowed along edges that lead out of a circle, else executors of a circle could all wait for each other. So an edge within a
// circle has no gate; and one that leads into a circle is gated by all components of the circle, for what goes round in it can be
// kept bounded only by whoever feeds it. A receiver that is in no circle is the only gate of its edges.
//
// Edges from ackers to spouts are not given: ackers never wait, and a spout takes answers even while it waits.
func Gates(receivers map[string][]string) map[[2]string][]string {
	reach := reachable(receivers)
	gates := map[[2]string][]string{}
	for sender, list := range receivers {
		for _, receiver := range list {
			if reach[receiver][sender] {
				gates[[2]string{sender, receiver}] = nil
				continue
			}
			circle := []string{receiver}
			for other := range reach[receiver] {
				if other != receiver && reach[other][receiver] {
					circle = append(circle, other)
				}
			}
			slices.Sort(circle)
			gates[[2]string{sender, receiver}] = circle
		}
	}
	return gates
}

// reachable gives for each component those that its tuples can come to, itself only if it is in a circle.
func reachable(receivers map[string][]string) map[string]map[string]bool {
	reach := map[string]map[string]bool{}
	var from func(seen map[string]bool, at string)
	from = func(seen map[string]bool, at string) {
		for _, next := range receivers[at] {
			if !seen[next] {
				seen[next] = true
				from(seen, next)
			}
		}
	}
	for sender := range maps.Keys(receivers) {
		reach[sender] = map[string]bool{}
		from(reach[sender], sender)
	}
	return reach
}
