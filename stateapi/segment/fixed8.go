// SPDX-License-Identifier: Apache-2.0

// This file is kind Fixed for keys and values of 8 bytes, which most memory is in: what fixed.go does, without what sizes cost.

package segment

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// What a block of keys and values of 8 bytes holds.
const (
	slots8   = (BlockSize - 1) / 17
	entries8 = slots8 + 1
)

func isFixed8(seg []byte) bool {
	const want = Fixed | 8<<8 | 8<<16
	return binary.LittleEndian.Uint32(seg[atDepth:])>>8 == want
}

// line8 is the cache line of a block where the entry of a key lies if there is room: a search then reads it together with the tags, and does not wait for
// memory twice.
func line8(hash uint64) int { return int((hash>>8&0xffff)*slots8>>16+1) >> 2 }

// lineSlots8 has a bit for each slot whose entry lies in a cache line.
func lineSlots8(line int) uint64 { return 0xf << (4 * uint(line)) >> 1 }

// find8 is where in seg the value of a key is, or below 0. It is short, since the processor works on several searches at once, as far as its window
// reaches. What else it returns is nothing: it is there so that the compiler leaves
// the read of the entry's line where it is. Where it looks is in bounds also while seg changes, so it serves all readers.
func find8(seg []byte, blocks uint32, depth uint8, hash, key uint64) (at int, touched byte) { //nolint:unparam // touched: see above
	i := Place(hash, depth, blocks)
	line, tag := line8(hash)*64, fixedTag(hash)
	all := uint64(tag) * lowBits
	for range blocks {
		start := HeaderSize + int(i)*BlockSize
		if start+BlockSize > len(seg) {
			break
		}
		b := (*block)(unsafe.Pointer(&seg[start])) // what it is all of has just been checked
		touched |= b[line&(BlockSize-64)]
		low := binary.LittleEndian.Uint64(b[0:8]) ^ all
		high := binary.LittleEndian.Uint64(b[8:16]) ^ all
		// The bit for slot s is 8*s of the first eight, 8*(s-8)+7 of the others; the spill byte has none.
		for m := zeroBytes(low)>>7 | zeroBytes(high)&(highBits>>8); m != 0; m &= m - 1 {
			bit := bits.TrailingZeros64(m)
			slot := bit>>3 + bit&1<<3
			entry := (entries8 + 16*slot) & (BlockSize - 16)
			// A bit may be wrong, and a free slot may have the key still.
			if binary.LittleEndian.Uint64(b[entry:]) == key && b[slot&15] == tag {
				return start + entry + 8, touched
			}
		}
		if b[slots8] == 0 {
			break
		}
		if i++; i == blocks {
			i = 0
		}
	}
	return -1, touched
}

// put8 is Put for a segment and an entry of this form.
func put8(seg []byte, hash, key, value uint64) Result {
	blocks, depth := get32(seg, atBlocks), seg[atDepth]
	if at, _ := find8(seg, blocks, depth, hash, key); at >= 0 {
		binary.LittleEndian.PutUint64(seg[at:], value)
		return Replaced
	}
	entries := get32(seg, atEntries)
	if entries >= MaxEntries || entries >= fixedLimit(blocks, slots8) {
		return Full
	}
	if !insertFixed8(seg, blocks, Place(hash, depth, blocks), hash, key, value) {
		return Full
	}
	set32(seg, atEntries, entries+1)
	return Added
}

// exactZeroBytes has the high bit of each byte of w that is 0.
func exactZeroBytes(w uint64) uint64 {
	return ^((w&^highBits + ^uint64(highBits)) | w | ^uint64(highBits))
}

// free8 has a bit for each free slot of a block.
func free8(b *block) uint64 {
	low := exactZeroBytes(binary.LittleEndian.Uint64(b[0:8]))
	high := exactZeroBytes(binary.LittleEndian.Uint64(b[8:16]))
	return (gather(low) | gather(high)<<8) & (1<<slots8 - 1)
}

// insertFixed8 adds an entry that is not there, from block at on. It does not count it.
func insertFixed8(seg []byte, blocks, at uint32, hash, key, value uint64) bool {
	preferred := lineSlots8(line8(hash))
	for range blocks {
		b := blockAt(seg, at)
		if b == nil {
			return false
		}
		if free := free8(b); free != 0 {
			if free&preferred != 0 {
				free &= preferred
			}
			slot := bits.TrailingZeros64(free)
			entry := (entries8 + 16*slot) & (BlockSize - 16)
			binary.LittleEndian.PutUint64(b[entry:], key)
			binary.LittleEndian.PutUint64(b[entry+8:], value)
			b[slot&15] = fixedTag(hash)
			return true
		}
		spill(b, slots8)
		if at++; at == blocks {
			at = 0
		}
	}
	return false
}

// rebuildFixed8 is rebuildFixed for this form.
func rebuildFixed8(to [][]byte, from []byte) bool {
	for i := range get32(from, atBlocks) {
		b := blockAt(from, i)
		for used := ^free8(b) & (1<<slots8 - 1); used != 0; used &= used - 1 {
			entry := (entries8 + 16*bits.TrailingZeros64(used)) & (BlockSize - 16)
			key, value := binary.LittleEndian.Uint64(b[entry:]), binary.LittleEndian.Uint64(b[entry+8:])
			hash := hash8(key)
			seg := taker(to, hash)
			if seg == nil {
				return false
			}
			blocks := get32(seg, atBlocks)
			if !insertFixed8(seg, blocks, Place(hash, seg[atDepth], blocks), hash, key, value) {
				return false
			}
			add32(seg, atEntries, 1)
		}
	}
	return true
}
