// SPDX-License-Identifier: Apache-2.0

// This file is kind Packed: blocks of small entries of any size, one behind the other.

package segment

import (
	"fmt"
)

const (
	packedStart = 2                       // where a block's entries begin
	packedRoom  = BlockSize - packedStart // bytes for entries
	packedSpill = 1                       // where the block's spill is
	inNextByte  = 15                      // as a length in an entry's first byte

	// packedLargest is the largest entry that is taken. Larger ones would pass many blocks and make searches long.
	packedLargest = 80
	// packedReach is how many blocks an entry may pass before the segment must grow.
	packedReach = 64
)

// packedSize is the size of an entry.
func packedSize(keyLength, valueLength int) int {
	size := 1 + keyLength + valueLength
	if keyLength >= inNextByte {
		size++
	}
	if valueLength >= inNextByte {
		size++
	}
	return size
}

// packedEntry is where an entry's parts are in its block.
type packedEntry struct{ start, key, value, end int }

// parseEntry reads the entry at i of a block with entries up to end; ok says that it ends there or before.
func parseEntry(b *block, i, end int) (packedEntry, bool) {
	e := packedEntry{start: i}
	lengths := int(b[i&255])
	keyLength, valueLength := lengths>>4, lengths&15
	i++
	if keyLength == inNextByte {
		keyLength = int(b[i&255])
		i++
	}
	if valueLength == inNextByte {
		valueLength = int(b[i&255])
		i++
	}
	e.key = i
	e.value = i + keyLength
	e.end = e.value + valueLength
	return e, e.end <= end
}

// packedEnd is where a block's entries end.
func packedEnd(b *block) int { return packedStart + min(int(b[0]), packedRoom) }

// packedIn looks for a key in a block.
func packedIn(b *block, key []byte) (packedEntry, bool) {
	end := packedEnd(b)
	for i := packedStart; i < end; {
		e, ok := parseEntry(b, i, end)
		if !ok {
			break
		}
		if e.value-e.key == len(key) && string(b[e.key:e.value]) == string(key) {
			return e, true
		}
		i = e.end
	}
	return packedEntry{}, false
}

func packedSearch(seg []byte, hash uint64, key []byte) (b *block, at uint32, e packedEntry, found bool) {
	blocks := get32(seg, atBlocks)
	at = Place(hash, seg[atDepth], blocks)
	for range blocks {
		if b = blockAt(seg, at); b == nil {
			break
		}
		if e, found = packedIn(b, key); found {
			return b, at, e, true
		}
		if b[packedSpill] == 0 {
			break
		}
		if at++; at == blocks {
			at = 0
		}
	}
	return nil, 0, packedEntry{}, false
}

func packedFind(seg []byte, hash uint64, key []byte) (Value, bool) {
	b, _, e, found := packedSearch(seg, hash, key)
	if !found {
		return Value{}, false
	}
	return Value{Bytes: b[e.value:e.end:e.end]}, true
}

func packedPut(seg []byte, hash uint64, key []byte, v Value, undo Undo) Result {
	size := packedSize(len(key), len(v.Bytes))
	if size > packedLargest || v.Flags != 0 {
		return Unfit
	}
	b, at, e, found := packedSearch(seg, hash, key)
	if !found {
		if !packedHasRoom(seg, size) || !packedAppend(seg, hash, key, v.Bytes, size) {
			return Full
		}
		return Added
	}
	if e.end-e.value == len(v.Bytes) {
		store(b[e.value:e.end], v.Bytes)
		return Replaced
	}
	// The target is looked for first: nothing has changed when there is none.
	if grow := size - (e.end - e.start); packedEnd(b)+grow > BlockSize && !packedReachable(seg, hash, size) {
		return Full
	}
	old := e.end - e.start
	undoBlock(undo, at)
	if grow := size - old; packedEnd(b)+grow <= BlockSize {
		end := packedEnd(b)
		copy(b[e.end+grow:end+grow], b[e.end:end])
		packedWrite(b, e.start, key, v.Bytes)
		b[0] = byte(end + grow - packedStart)
		add32(seg, atUsed, grow)
		return Replaced
	}
	packedCut(seg, b, e)
	undo(0, 0)
	packedUnspill(seg, hash, at)
	packedAppend(seg, hash, key, v.Bytes, size)
	return Replaced
}

// undoBlock has a block saved.
func undoBlock(undo Undo, at uint32) { undo(int(HeaderSize+at*BlockSize), BlockSize) }

// packedHasRoom says whether one more entry keeps the segment below its limit of use.
func packedHasRoom(seg []byte, size int) bool {
	entries, used, blocks := get32(seg, atEntries), get32(seg, atUsed), get32(seg, atBlocks)
	return entries < MaxEntries && used+uint32(size) <= packedLimit(blocks, used+uint32(size), entries+1)
}

// packedLimit is how many bytes of entries go into blocks before they must become more: what is left when half an entry is lost at a block's end.
func packedLimit(blocks, used, entries uint32) uint32 {
	if blocks == 1 {
		return packedRoom
	}
	all := blocks * (packedRoom - used/entries/2)
	return all - all*packedSlack/256
}

// packedSlack is the share of a block's bytes, of 256, that stays free so that searches stay short.
const packedSlack = 20

// packedReachable says whether a block near a key's place has room for size bytes.
func packedReachable(seg []byte, hash uint64, size int) bool {
	blocks := get32(seg, atBlocks)
	at := Place(hash, seg[atDepth], blocks)
	for range min(blocks, packedReach) {
		b := blockAt(seg, at)
		if b == nil {
			return false
		}
		if packedEnd(b)+size <= BlockSize {
			return true
		}
		if at++; at == blocks {
			at = 0
		}
	}
	return false
}

// packedAppend adds a key that is not there behind the entries of the first block with room. What it writes counts only with its last store.
func packedAppend(seg []byte, hash uint64, key, value []byte, size int) bool {
	blocks := get32(seg, atBlocks)
	home := Place(hash, seg[atDepth], blocks)
	at := home
	for range min(blocks, packedReach) {
		b := blockAt(seg, at)
		if b == nil {
			return false
		}
		if end := packedEnd(b); end+size <= BlockSize {
			for i := home; i != at; {
				spill(blockAt(seg, i), packedSpill)
				if i++; i == blocks {
					i = 0
				}
			}
			packedWrite(b, end, key, value)
			b[0] = byte(end + size - packedStart)
			add32(seg, atEntries, 1)
			add32(seg, atUsed, size)
			return true
		}
		if at++; at == blocks {
			at = 0
		}
	}
	return false
}

func packedWrite(b *block, i int, key, value []byte) {
	head := i
	i++
	keyLength, valueLength := len(key), len(value)
	if keyLength >= inNextByte {
		b[i] = byte(keyLength)
		keyLength = inNextByte
		i++
	}
	if valueLength >= inNextByte {
		b[i] = byte(valueLength)
		valueLength = inNextByte
		i++
	}
	b[head] = byte(keyLength<<4 | valueLength)
	i += copy(b[i:], key)
	copy(b[i:], value)
}

// packedCut takes an entry out of its block.
func packedCut(seg []byte, b *block, e packedEntry) {
	end, size := packedEnd(b), e.end-e.start
	copy(b[e.start:], b[e.end:end])
	b[0] = byte(end - size - packedStart)
	add32(seg, atEntries, -1)
	add32(seg, atUsed, -size)
}

func packedUnspill(seg []byte, hash uint64, at uint32) {
	blocks := get32(seg, atBlocks)
	unspillRange(seg, Place(hash, seg[atDepth], blocks), at, blocks, packedSpill)
}

func packedDelete(seg []byte, hash uint64, key []byte, undo Undo) bool {
	b, at, e, found := packedSearch(seg, hash, key)
	if !found {
		return false
	}
	if e.end < packedEnd(b) {
		undoBlock(undo, at)
	}
	packedCut(seg, b, e)
	undo(0, 0)
	packedUnspill(seg, hash, at)
	return true
}

func packedEach(seg []byte, yield func(key []byte, v Value) bool) error {
	for i := range get32(seg, atBlocks) {
		b := blockAt(seg, i)
		if b == nil || b[0] > packedRoom {
			return fmt.Errorf("block %d is outside or holds too much: %w", i, ErrCorrupt)
		}
		end := packedEnd(b)
		for at := packedStart; at < end; {
			e, ok := parseEntry(b, at, end)
			if !ok {
				return fmt.Errorf("block %d: entry at %d passes the end at %d: %w", i, at, end, ErrCorrupt)
			}
			if !yield(b[e.key:e.value:e.value], Value{Bytes: b[e.value:e.end:e.end]}) {
				return nil
			}
			at = e.end
		}
	}
	return nil
}
