// SPDX-License-Identifier: Apache-2.0

// This file moves entries from segments to others.

package segment

// Rebuild adds the entries of from to the segments to, which do not have them yet: each goes to the first of them whose prefix is that of the
// entry's hash. It says no when one of them is full, its kind does not fit, or nobody takes an entry; to is then of no more use. Entries come in the order
// of places, so that memory is read and written from the left to the right.
func Rebuild(to [][]byte, from []byte) (bool, error) {
	if err := checkHeader(from); err != nil {
		return false, err
	}
	if sameFixed(to, from) {
		if isFixed8(from) {
			return rebuildFixed8(to, from), nil
		}
		return rebuildFixed(to, from), nil
	}
	ok := true
	err := Each(from, func(key []byte, v Value) bool {
		hash := Hash(key)
		seg := taker(to, hash)
		ok = seg != nil && insert(seg, hash, key, v)
		return ok
	})
	return ok && err == nil, err
}

// taker is the first segment whose prefix is that of a hash, or nil.
func taker(to [][]byte, hash uint64) []byte {
	for _, seg := range to {
		if belongs(hash, Prefix(seg), Depth(seg)) {
			return seg
		}
	}
	return nil
}

// insert adds a key that is not there.
func insert(seg []byte, hash uint64, key []byte, v Value) bool {
	switch seg[atKind] {
	case Fixed:
		f := formOf(seg, hash)
		return len(key) == f.key && len(v.Bytes) == f.value && v.Flags == 0 && fixedInsert(seg, &f, hash, key, v.Bytes)
	case Packed:
		size := packedSize(len(key), len(v.Bytes))
		return size <= packedLargest && v.Flags == 0 && packedAppend(seg, hash, key, v.Bytes, size)
	default:
		at := recordsFree(seg, hash)
		return at < get32(seg, atBlocks) && recordsAppend(seg, at, hash, key, v)
	}
}

// recordsFree is the first index word from the key's place on that leads nowhere.
func recordsFree(seg []byte, hash uint64) uint32 {
	words := get32(seg, atBlocks)
	i := Place(hash, seg[atDepth], words)
	for range words {
		if word(seg, i) <= wordDeleted {
			return i
		}
		if i++; i == words {
			i = 0
		}
	}
	return words
}

// sameFixed says whether all are Fixed with entries of the same sizes.
func sameFixed(to [][]byte, from []byte) bool {
	form := [3]byte(from[atKind:])
	for _, seg := range to {
		if [3]byte(seg[atKind:]) != form {
			return false
		}
	}
	return form[0] == Fixed
}

// rebuildFixed is Rebuild between such segments.
func rebuildFixed(to [][]byte, from []byte) bool {
	f := formOf(from, 0)
	for i := range get32(from, atBlocks) {
		b := blockAt(from, i)
		for slot, tag := range b[:f.slots] {
			if tag == 0 {
				continue
			}
			start := f.entries + slot*(f.key+f.value)
			key := b[start : start+f.key]
			hash := Hash(key)
			seg := taker(to, hash)
			if seg == nil {
				return false
			}
			into := f
			into.blocks = get32(seg, atBlocks)
			into.home = Place(hash, seg[atDepth], into.blocks)
			if !fixedInsert(seg, &into, hash, key, f.valueAt(b, slot)) {
				return false
			}
		}
	}
	return true
}
