// SPDX-License-Identifier: Apache-2.0

// This file chooses the peers that keep copies of a task's shards.

package replica

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// Candidate is a peer that could keep copies.
type Candidate struct {
	Peer   Peer
	Domain string // what fails together, such as a rack; empty: itself
}

// Place names the copies of each of a task's shards, at most copies each, never on the owner: those that are kept already and still live, then
// others by rendezvous hashing, bounded so that no peer holds more than one shard above the task's mean, and from as many failure domains as there
// are. With too few peers a shard has fewer copies. The result depends on the arguments only.
func Place(task string, shards, copies int, owner Peer, live []Candidate, kept [][]Peer) [][]Peer {
	domains := map[Peer]string{}
	for _, c := range live {
		domains[c.Peer] = cmp.Or(c.Domain, string(c.Peer))
	}
	peers := eligible(domains, owner, copies)
	placed := make([][]Peer, shards)
	if len(peers) == 0 {
		return placed
	}
	copies = min(copies, len(peers))
	held := map[Peer]int{}
	for i := range min(len(kept), shards) {
		for _, p := range kept[i] {
			if slices.Contains(peers, p) && len(placed[i]) < copies {
				placed[i] = append(placed[i], p)
				held[p]++
			}
		}
	}
	for i := range placed {
		ranked := rank(task, i, peers)
		// The bound grows with the shards, or one peer that is seldom first leaves too little choice for the last of them.
		most := (i+1)*copies/len(peers) + 1
		for len(placed[i]) < copies {
			p := best(ranked, placed[i], domains, held, most)
			placed[i] = append(placed[i], p)
			held[p]++
		}
	}
	return placed
}

// rank orders the peers by their rendezvous hash for a shard.
func rank(task string, shard int, peers []Peer) []Peer {
	prefix := task + "/" + strconv.Itoa(shard) + "/"
	ranked := slices.Clone(peers)
	slices.SortFunc(ranked, func(a, b Peer) int {
		ha, hb := xxhash.Sum64String(prefix+string(a)), xxhash.Sum64String(prefix+string(b))
		return cmp.Or(cmp.Compare(hb, ha), cmp.Compare(a, b))
	})
	return ranked
}

// eligible are the peers outside the owner's domain, where there are enough other domains, else all but the owner; in order.
func eligible(domains map[Peer]string, owner Peer, copies int) []Peer {
	var all, outside []Peer
	others := map[string]bool{}
	for _, p := range slices.Sorted(maps.Keys(domains)) {
		if p == owner {
			continue
		}
		all = append(all, p)
		if domains[p] != domains[owner] {
			outside = append(outside, p)
			others[domains[p]] = true
		}
	}
	if len(others) >= copies {
		return outside
	}
	return all
}

// best is the first peer with room in a domain of its own, else the first with room, else the one that holds least.
func best(ranked, taken []Peer, domains map[Peer]string, held map[Peer]int, most int) Peer {
	free := slices.DeleteFunc(slices.Clone(ranked), func(p Peer) bool { return slices.Contains(taken, p) })
	apart := func(p Peer) bool {
		return !slices.ContainsFunc(taken, func(t Peer) bool { return domains[t] == domains[p] })
	}
	if i := slices.IndexFunc(free, func(p Peer) bool { return held[p] < most && apart(p) }); i >= 0 {
		return free[i]
	}
	if i := slices.IndexFunc(free, func(p Peer) bool { return held[p] < most }); i >= 0 {
		return free[i]
	}
	return slices.MinFunc(free, func(a, b Peer) int { return cmp.Compare(held[a], held[b]) })
}
