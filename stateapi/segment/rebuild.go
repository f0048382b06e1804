// SPDX-License-Identifier: Apache-2.0

// This file moves entries from segments to others.

package segment

// Rebuild adds the entries of from to the segments to, which do not have them yet: each goes to the first of them whose prefix is that of the
// entry's hash. It says no when one of them is full, its kind does not fit, or nobody takes an entry; to is then of no more use. Entries come in the order
// of places, so that memory is read and written from the left to the right.
func Rebuild(to [][]byte, from []byte) (bool, error) {
	if len(to) == 1 && sameFixed(to[0], from) {
		return rebuildFixed8(to[0], from)
	}
	ok := true
	err := Each(from, func(key []byte, v Value) bool {
		hash := Hash(key)
		ok = false
		for _, seg := range to {
			if belongs(hash, Prefix(seg), Depth(seg)) {
				ok = insert(seg, hash, key, v)
				break
			}
		}
		return ok
	})
	return ok && err == nil, err
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

// sameFixed says whether both are Fixed with keys and values of 8 bytes.
func sameFixed(to, from []byte) bool {
	return isFixed8(to) && isFixed8(from)
}
