// SPDX-License-Identifier: Apache-2.0

// This file is kind Fixed: blocks of one-byte tags and entries that are all of one size.

package segment

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

type block = [BlockSize]byte

// blockAt is block i, or nil if it is not all in seg.
func blockAt(seg []byte, i uint32) *block {
	start := HeaderSize + uint64(i)*BlockSize
	if start+BlockSize > uint64(len(seg)) {
		return nil
	}
	return (*block)(seg[start:])
}

// fixedSlots is the number of entries a block has room for.
func fixedSlots(keySize, valueSize uint8) int {
	return (BlockSize - 1) / (1 + int(keySize) + int(valueSize))
}

// fixedTag is the tag of a key in its block.
func fixedTag(hash uint64) byte { return byte(1 + hash&255%255) }

// fixedForm is what of a segment's shape a search needs.
type fixedForm struct {
	blocks     uint32
	slots      int
	key, value int
	entries    int // where entries begin in a block
	home       uint32
}

func formOf(seg []byte, hash uint64) fixedForm {
	f := fixedForm{blocks: get32(seg, atBlocks), key: int(seg[atKeySize]), value: int(seg[atValueSize])}
	if f.key == 8 && f.value == 8 {
		f.slots = (BlockSize - 1) / 17
	} else {
		f.slots = fixedSlots(seg[atKeySize], seg[atValueSize])
	}
	f.entries = f.slots + 1
	f.home = Place(hash, seg[atDepth], f.blocks)
	return f
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// zeroBytes has the high bit of each byte of w that is 0. Bits above the lowest one that is set may be wrong.
func zeroBytes(w uint64) uint64 { return (w - lowBits) &^ w & highBits }

// gather makes 8 bits of the high bits of 8 bytes.
func gather(m uint64) uint64 { return m >> 7 * 0x0102040810204080 >> 56 }

// matches has a bit for each of 16 tags from first on (a multiple of 8) that is tag, and for some others: who searches compares tag and key. The lowest
// bit is right. It does not branch: a wrong guess costs as much as the memory that it waits for.
func matches(b *block, tag byte, first, slots int) uint64 {
	all := uint64(tag) * lowBits
	low := zeroBytes(binary.LittleEndian.Uint64(b[first&(BlockSize-8):]) ^ all)
	high := zeroBytes(binary.LittleEndian.Uint64(b[(first+8)&(BlockSize-8):]) ^ all)
	return (gather(low) | gather(high)<<8) & (1<<uint(slots-first) - 1)
}

// fixedSlot looks for a key in a block: its entry's slot, or -1.
func fixedSlot(b *block, f *fixedForm, tag byte, key []byte) int {
	for first := 0; first < f.slots; first += 16 {
		for m := matches(b, tag, first, f.slots); m != 0; m &= m - 1 {
			slot := first + bits.TrailingZeros64(m)
			start := f.entries + slot*(f.key+f.value)
			// A bit may be wrong, and a free slot may have the key still.
			if end := start + f.key; end <= BlockSize && string(b[start:end]) == string(key) && b[slot] == tag {
				return slot
			}
		}
	}
	return -1
}

// fixedSearch finds a key's block and slot.
func fixedSearch(seg []byte, f *fixedForm, hash uint64, key []byte) (b *block, at uint32, slot int) {
	tag, at := fixedTag(hash), f.home
	for range f.blocks {
		if b = blockAt(seg, at); b == nil {
			break
		}
		if slot = fixedSlot(b, f, tag, key); slot >= 0 {
			return b, at, slot
		}
		if b[f.slots] == 0 {
			break
		}
		if at++; at == f.blocks {
			at = 0
		}
	}
	return nil, 0, -1
}

func (f *fixedForm) valueAt(b *block, slot int) []byte {
	start := f.entries + slot*(f.key+f.value) + f.key
	end := min(start+f.value, BlockSize)
	return b[start:end:end]
}

func fixedFind(seg []byte, hash uint64, key []byte) (Value, bool) {
	f := formOf(seg, hash)
	if len(key) != f.key {
		return Value{}, false
	}
	b, _, slot := fixedSearch(seg, &f, hash, key)
	if slot < 0 {
		return Value{}, false
	}
	return Value{Bytes: f.valueAt(b, slot)}, true
}

// fixedLimit is how many entries n blocks take before they must become more.
func fixedLimit(blocks uint32, slots int) uint32 {
	all := blocks * uint32(slots)
	return all - all*fixedSlack/256
}

// fixedSlack is the share of slots, of 256, that stays free so that searches stay short.
const fixedSlack = 20

func fixedPut(seg []byte, hash uint64, key []byte, v Value) Result {
	f := formOf(seg, hash)
	if len(key) != f.key || len(v.Bytes) != f.value || v.Flags != 0 {
		return Unfit
	}
	if b, _, slot := fixedSearch(seg, &f, hash, key); slot >= 0 {
		store(f.valueAt(b, slot), v.Bytes)
		return Replaced
	}
	if entries := get32(seg, atEntries); entries >= MaxEntries || entries >= fixedLimit(f.blocks, f.slots) {
		return Full
	}
	if !fixedInsert(seg, &f, hash, key, v.Bytes) {
		return Full
	}
	return Added
}

// store copies a value; eight bytes in one piece.
func store(to, from []byte) {
	if len(to) == 8 && len(from) == 8 {
		binary.LittleEndian.PutUint64(to, binary.LittleEndian.Uint64(from))
		return
	}
	copy(to, from)
}

// fixedInsert adds a key that is not there.
func fixedInsert(seg []byte, f *fixedForm, hash uint64, key, value []byte) bool {
	if f.key == 8 && f.value == 8 {
		if !insertFixed8(seg, f.blocks, f.home, hash, binary.LittleEndian.Uint64(key), binary.LittleEndian.Uint64(value)) {
			return false
		}
		add32(seg, atEntries, 1)
		return true
	}
	at := f.home
	for range f.blocks {
		b := blockAt(seg, at)
		if b == nil {
			return false
		}
		if slot := fixedFree(b, f.slots); slot >= 0 {
			start := f.entries + slot*(f.key+f.value)
			store(b[start:start+f.key], key)
			store(f.valueAt(b, slot), value)
			b[slot] = fixedTag(hash)
			add32(seg, atEntries, 1)
			return true
		}
		spill(b, f.slots)
		if at++; at == f.blocks {
			at = 0
		}
	}
	return false
}

// fixedFree is a block's first free slot, or -1.
func fixedFree(b *block, slots int) int {
	for first := 0; first < slots; first += 16 {
		if m := matches(b, 0, first, slots); m != 0 {
			return first + bits.TrailingZeros64(m)
		}
	}
	return -1
}

// spill counts an entry that passed a full block. From 255 on nobody knows how many there are, and the count stays.
func spill(b *block, at int) {
	if b[at] < 255 {
		b[at]++
	}
}

func unspill(b *block, at int) {
	if b[at] > 0 && b[at] < 255 {
		b[at]--
	}
}

// unspillRange takes back a count in the blocks from first to before last, where an entry has been that is gone.
func unspillRange(seg []byte, first, last, blocks uint32, at int) {
	for i := first; i != last; {
		if b := blockAt(seg, i); b != nil {
			unspill(b, at)
		}
		if i++; i == blocks {
			i = 0
		}
	}
}

func fixedDelete(seg []byte, hash uint64, key []byte) bool {
	f := formOf(seg, hash)
	if len(key) != f.key {
		return false
	}
	b, at, slot := fixedSearch(seg, &f, hash, key)
	if slot < 0 {
		return false
	}
	b[slot] = 0
	add32(seg, atEntries, -1)
	unspillRange(seg, f.home, at, f.blocks, f.slots)
	return true
}

func fixedEach(seg []byte, yield func(key []byte, v Value) bool) error {
	f := formOf(seg, 0)
	for i := range f.blocks {
		b := blockAt(seg, i)
		if b == nil {
			return fmt.Errorf("block %d is outside: %w", i, ErrCorrupt)
		}
		for slot := range f.slots {
			if b[slot] == 0 {
				continue
			}
			start := f.entries + slot*(f.key+f.value)
			if !yield(b[start:start+f.key:start+f.key], Value{Bytes: f.valueAt(b, slot)}) {
				return nil
			}
		}
	}
	return nil
}
