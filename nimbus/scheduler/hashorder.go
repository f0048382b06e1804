// SPDX-License-Identifier: Apache-2.0

// This file orders strings as Java compares them and slots as Java's hash map
// would list them, because Storm's choice between equally filled slots is
// that order.

package scheduler

import (
	"cmp"
	"slices"
	"unicode/utf16"
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
	execMask := copiedTable(len(w.executors)-w.unplaced) - 1
	for k, s := range w.place {
		if s == none {
			continue
		}
		e := w.executors[k]
		rank := spread(uint32(e.Start)+13*uint32(e.End)) & execMask
		if r, ok := first[s]; !ok || rank < r {
			first[s] = rank
		}
	}
	mask := grownTable(len(w.used)) - 1
	entries := make([]entry, len(w.used))
	for k, s := range w.used {
		h := hashJava(p.slots[s].Node) + 13*uint32(p.slots[s].Port)
		entries[k] = entry{spread(h) & mask, first[s], s}
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

// spread mixes the high half of a hash into the low one, which picks the bucket.
func spread(h uint32) uint32 { return h ^ h>>16 }

// grownTable is the number of buckets of a map that n entries were put into one by one.
func grownTable(n int) uint32 {
	size := uint32(16)
	for n > int(size)/4*3 {
		size *= 2
	}
	return size
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

// hashJava is the hash code of a Java string: over UTF-16 units.
func hashJava(s string) uint32 {
	h := uint32(0)
	for i := range len(s) {
		if s[i] >= 0x80 {
			h = 0
			for _, u := range utf16.Encode([]rune(s)) {
				h = 31*h + uint32(u)
			}
			return h
		}
		h = 31*h + uint32(s[i])
	}
	return h
}

// compareJava orders strings as Java does, by UTF-16 units. That differs from
// the order of bytes only when a character beyond the 16-bit plane meets one
// of the last 8192 inside it.
func compareJava(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] >= 0x80 || b[i] >= 0x80 {
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		}
		if a[i] != b[i] {
			return cmp.Compare(a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b))
}
