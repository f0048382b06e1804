// SPDX-License-Identifier: Apache-2.0

// This file orders slots as Java's hash map would list them, because Storm's
// choice between equally filled slots is that order.

package scheduler

import (
	"cmp"
	"slices"

	"github.com/gust-stream/gust/internal/java"
)

// inHashOrder gives the slots that a topology uses in the order in which Storm
// meets them: by bucket of a hash map with default load, and within a bucket by
// the first of their executors in such a map.
func (p *pass) inHashOrder(w *wish) []slotRef {
	type entry struct {
		bucket, rank uint32
		slot         slotRef
	}
	first := make(map[slotRef]uint32, len(w.used))
	executors := copiedTable(len(w.executors) - w.unplaced)
	for k, s := range w.place {
		if s == none {
			continue
		}
		e := w.executors[k]
		rank := java.Bucket(uint32(e.Start)+13*uint32(e.End), executors)
		if r, ok := first[s]; !ok || rank < r {
			first[s] = rank
		}
	}
	buckets := java.Buckets(len(w.used))
	entries := make([]entry, len(w.used))
	for k, s := range w.used {
		h := java.Hash(p.slots[s].Node) + 13*uint32(p.slots[s].Port)
		entries[k] = entry{java.Bucket(h, buckets), first[s], s}
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		if c := cmp.Compare(a.bucket, b.bucket); c != 0 {
			return c
		}
		return cmp.Compare(a.rank, b.rank)
	})
	out := make([]slotRef, len(entries))
	for k, e := range entries {
		out[k] = e.slot
	}
	return out
}

// copiedTable is the number of buckets of a map that was made as a copy of n entries.
func copiedTable(n int) uint32 {
	want := uint32(float32(n)/0.75 + 1)
	size := uint32(1)
	for size < want {
		size *= 2
	}
	return size
}
