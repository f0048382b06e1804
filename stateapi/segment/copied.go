// SPDX-License-Identifier: Apache-2.0

// This file looks for keys in a segment that another process may change at the same time.

package segment

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
)

// Copy is what a reader copies of a segment before it looks at it. The zero value is ready; a Copy serves one goroutine.
type Copy struct {
	header [HeaderSize]byte
	block  block
	record []byte
}

// firstOfRecord is how much of a record is copied before its length is known.
const firstOfRecord = 256

// FindCopied looks for a key in bytes that may change under it or be no segment any more: the answer, which lies in c until the next call, holds
// only if the sequence number is then still what it was. ErrCorrupt holds on the same condition.
func FindCopied(seg []byte, c *Copy, hash uint64, key []byte) (Value, bool, error) {
	if len(seg) < HeaderSize {
		return Value{}, false, fmt.Errorf("%d bytes: %w", len(seg), ErrCorrupt)
	}
	copy(c.header[:], seg)
	if isFixed8(c.header[:]) && len(key) == 8 {
		return c.fixed8(seg, hash, binary.LittleEndian.Uint64(key))
	}
	switch c.header[atKind] {
	case Fixed:
		return c.fixed(seg, hash, key)
	case Packed:
		return c.packed(seg, hash, key)
	case Records:
		return c.records(seg, hash, key)
	}
	return Value{}, false, fmt.Errorf("kind %d: %w", c.header[atKind], ErrCorrupt)
}

// next copies block i and says which one follows.
func (c *Copy) next(seg []byte, i, blocks uint32) (uint32, error) {
	b := blockAt(seg, i)
	if b == nil {
		return 0, fmt.Errorf("block %d of %d is outside of %d bytes: %w", i, blocks, len(seg), ErrCorrupt)
	}
	c.block = *b
	if i++; i == blocks {
		i = 0
	}
	return i, nil
}

func (c *Copy) fixed(seg []byte, hash uint64, key []byte) (v Value, found bool, err error) {
	f := formOf(c.header[:], hash)
	if len(key) != f.key {
		return Value{}, false, nil
	}
	if f.slots == 0 {
		return Value{}, false, fmt.Errorf("fixed entries of %d and %d bytes: %w", f.key, f.value, ErrCorrupt)
	}
	at, tag := f.home, fixedTag(hash)
	for range f.blocks {
		if at, err = c.next(seg, at, f.blocks); err != nil {
			return Value{}, false, err
		}
		if slot := fixedSlot(&c.block, &f, tag, key); slot >= 0 {
			return Value{Bytes: f.valueAt(&c.block, slot)}, true, nil
		}
		if c.block[f.slots] == 0 {
			break
		}
	}
	return Value{}, false, nil
}

// fixed8 is fixed for keys and values of 8 bytes.
func (c *Copy) fixed8(seg []byte, hash, key uint64) (v Value, found bool, err error) {
	blocks := get32(c.header[:], atBlocks)
	if need := HeaderSize + uint64(blocks)*BlockSize; need > uint64(len(seg)) {
		return Value{}, false, fmt.Errorf("%d blocks in %d bytes: %w", blocks, len(seg), ErrCorrupt)
	}
	at, _ := find8(seg, blocks, c.header[atDepth], hash, key)
	if at < 0 {
		return Value{}, false, nil
	}
	binary.LittleEndian.PutUint64(c.block[:], binary.LittleEndian.Uint64(seg[at:]))
	return Value{Bytes: c.block[:8]}, true, nil
}

func (c *Copy) packed(seg []byte, hash uint64, key []byte) (v Value, found bool, err error) {
	blocks := get32(c.header[:], atBlocks)
	at := Place(hash, c.header[atDepth], blocks)
	for range blocks {
		if at, err = c.next(seg, at, blocks); err != nil {
			return Value{}, false, err
		}
		if e, found := packedIn(&c.block, key); found {
			return Value{Bytes: c.block[e.value:e.end:e.end]}, true, nil
		}
		if c.block[packedSpill] == 0 {
			break
		}
	}
	return Value{}, false, nil
}

// wordsAtOnce is how many index words are copied together.
const wordsAtOnce = BlockSize / 4

func (c *Copy) records(seg []byte, hash uint64, key []byte) (Value, bool, error) {
	words, end := get32(c.header[:], atBlocks), get32(c.header[:], atUsed)
	if words > mostWords || recordStart(words) > end || uint64(end) > uint64(len(seg)) {
		return Value{}, false, fmt.Errorf("%d index words, use up to %d of %d bytes: %w", words, end, len(seg), ErrCorrupt)
	}
	index := seg[HeaderSize:recordStart(words)]
	i, tag := Place(hash, c.header[atDepth], words), recordTag(hash)
	for left := int(words); left > 0; {
		n := copy(c.block[:4*min(wordsAtOnce, left)], index[4*i:])
		for at := 0; at < n; at += 4 {
			w := binary.LittleEndian.Uint32(c.block[at&(BlockSize-4):])
			if w == wordFree {
				return Value{}, false, nil
			}
			if w&^0xffff != tag || w == wordDeleted {
				continue
			}
			r, err := c.take(seg, w, words, end)
			if err != nil {
				return Value{}, false, err
			}
			if bytes.Equal(r.key, key) {
				return Value{Bytes: r.value, Flags: r.flags}, true, nil
			}
		}
		left -= n / 4
		if i += uint32(n / 4); i >= words {
			i = 0
		}
	}
	return Value{}, false, nil
}

// take copies the record that an index word leads to.
func (c *Copy) take(seg []byte, w, words, end uint32) (record, error) {
	start := wordOffset(w)
	if start < recordStart(words) || start >= end {
		return record{}, fmt.Errorf("record at %d of %d bytes in use: %w", start, end, ErrCorrupt)
	}
	whole := seg[start:end]
	c.record = append(c.record[:0], whole[:min(firstOfRecord, len(whole))]...)
	if r, ok := parseRecord(c.record); ok {
		return r, nil
	}
	size, ok := recordLength(c.record)
	if !ok || size > uint64(len(whole)) {
		return record{}, fmt.Errorf("record at %d passes the end of use at %d: %w", start, end, ErrCorrupt)
	}
	c.record = append(slices.Grow(c.record[:0], int(size)), whole[:size]...)
	r, ok := parseRecord(c.record)
	if !ok {
		return record{}, fmt.Errorf("record at %d changed: %w", start, ErrCorrupt)
	}
	return r, nil
}

// recordLength reads how long the record at the start of b is, without padding; b may be a part of it.
func recordLength(b []byte) (uint64, bool) {
	keyLength, n := binary.Uvarint(b[1:])
	if n <= 0 {
		return 0, false
	}
	valueLength, m := binary.Uvarint(b[1+n:])
	if m <= 0 || keyLength > SlotSize || valueLength > SlotSize {
		return 0, false
	}
	return uint64(1+n+m) + keyLength + valueLength, true
}
