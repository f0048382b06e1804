// SPDX-License-Identifier: Apache-2.0

// This file tests where copies go.

package replica_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gust-stream/gust/stateapi/replica"
)

func candidates(n, domains int) []replica.Candidate {
	var out []replica.Candidate
	for i := range n {
		c := replica.Candidate{Peer: replica.Peer(fmt.Sprintf("s%d", i))}
		if domains > 0 {
			c.Domain = fmt.Sprintf("rack%d", i%domains)
		}
		out = append(out, c)
	}
	return out
}

func loads(placed [][]replica.Peer) map[replica.Peer]int {
	held := map[replica.Peer]int{}
	for _, peers := range placed {
		for _, p := range peers {
			held[p]++
		}
	}
	return held
}

func TestPlaceBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, copies := rapid.IntRange(1, 20).Draw(t, "peers"), rapid.IntRange(0, 3).Draw(t, "copies")
		live := candidates(n, 0)
		placed := replica.Place(rapid.String().Draw(t, "task"), 32, copies, "s0", live, nil)
		want := min(copies, n-1)
		for shard, peers := range placed {
			if len(peers) != want || slices.Contains(peers, "s0") || len(slices.Compact(slices.Sorted(slices.Values(peers)))) != want {
				t.Fatalf("shard %d has copies %v, want %d different ones without the owner", shard, peers, want)
			}
		}
		for p, held := range loads(placed) {
			// With several copies a shard's own peers are no choice for it, which can cost one more.
			if slack := max(want-1, 0); held > 32*want/(n-1)+1+slack {
				t.Fatalf("%s holds %d of %d x 32 shards over %d peers", p, held, want, n-1)
			}
		}
	})
}

func TestPlaceUsesOtherDomains(t *testing.T) {
	t.Parallel()
	live := candidates(9, 3)
	placed := replica.Place("t", 32, 2, "s0", live, nil)
	for p, held := range loads(placed) {
		if held > 64/6+2 {
			t.Errorf("%s holds %d shards", p, held)
		}
	}
	for shard, peers := range placed {
		racks := map[string]bool{"rack0": true}
		for _, p := range peers {
			racks[live[slices.IndexFunc(live, func(c replica.Candidate) bool { return c.Peer == p })].Domain] = true
		}
		if len(racks) != 3 {
			t.Errorf("shard %d: %v are not in two racks apart from the owner's", shard, peers)
		}
	}
}

func TestPlaceKeepsWhatLives(t *testing.T) {
	t.Parallel()
	before := replica.Place("t", 32, 1, "s0", candidates(9, 0), nil)
	after := replica.Place("t", 32, 1, "s0", candidates(8, 0), before) // s8 is gone
	for shard := range before {
		if before[shard][0] != "s8" && after[shard][0] != before[shard][0] {
			t.Errorf("shard %d moved from %s to %s for nothing", shard, before[shard][0], after[shard][0])
		}
		if after[shard][0] == "s8" {
			t.Errorf("shard %d stays on a dead peer", shard)
		}
	}
}
