// SPDX-License-Identifier: Apache-2.0

// This file has the operations on a segment and hands them to the kinds.

package segment

import (
	"encoding/binary"
	"fmt"

	"github.com/gust-stream/gust/stateapi"
)

// ErrCorrupt says that a segment's bytes are not what a writer leaves behind.
var ErrCorrupt = fmt.Errorf("damaged segment: %w", stateapi.ErrCorrupt)

// Flags of a value. They need kind Records.
const (
	Deflated = 1 // the bytes are the full length (LEB128) and a deflate stream
	Outside  = 2 // the bytes are a reference: u64 offset, u32 length, u32 CRC-32C
)

// Value is a value as it is stored.
type Value struct {
	Bytes []byte
	Flags byte
}

// Result says what Put did.
type Result uint8

// What Put does.
const (
	Added    Result = iota
	Replaced        // the key was there
	Full            // nothing; the segment must grow
	Unfit           // nothing; another kind must take over
)

// Undo is called before Put and Delete shift bytes, with their place in the segment: saved and put back, they undo a shift that was cut off. A call
// with length 0 says that what was saved last is no longer to be put back. The caller drops what it saved when Put or Delete has returned.
type Undo func(start, length int)

// Find looks for a key. The value lies in seg. On damaged bytes it answers anything that is in seg.
func Find(seg []byte, hash uint64, key []byte) (Value, bool) {
	if isFixed8(seg) && len(key) == 8 {
		if at, _ := find8(seg, get32(seg, atBlocks), seg[atDepth], hash, binary.LittleEndian.Uint64(key)); at >= 0 {
			return Value{Bytes: seg[at : at+8 : at+8]}, true
		}
		return Value{}, false
	}
	switch seg[atKind] {
	case Fixed:
		return fixedFind(seg, hash, key)
	case Packed:
		return packedFind(seg, hash, key)
	case Records:
		return recordsFind(seg, hash, key)
	}
	return Value{}, false
}

// Put sets a key's value. Key and value are not in seg.
func Put(seg []byte, hash uint64, key []byte, v Value, undo Undo) Result {
	if isFixed8(seg) && len(key) == 8 && len(v.Bytes) == 8 && v.Flags == 0 {
		return put8(seg, hash, binary.LittleEndian.Uint64(key), binary.LittleEndian.Uint64(v.Bytes))
	}
	switch seg[atKind] {
	case Fixed:
		return fixedPut(seg, hash, key, v)
	case Packed:
		return packedPut(seg, hash, key, v, undo)
	case Records:
		return recordsPut(seg, hash, key, v)
	}
	return Unfit
}

// Delete removes a key and says whether it was there.
func Delete(seg []byte, hash uint64, key []byte, undo Undo) bool {
	switch seg[atKind] {
	case Fixed:
		return fixedDelete(seg, hash, key)
	case Packed:
		return packedDelete(seg, hash, key, undo)
	case Records:
		return recordsDelete(seg, hash, key)
	}
	return false
}

// Each yields every entry, in the order of places, until yield says false. Keys and values lie in seg. It ends with an error on damaged bytes; what it
// has yielded before is in bounds, no more.
func Each(seg []byte, yield func(key []byte, v Value) bool) error {
	if err := checkHeader(seg); err != nil {
		return err
	}
	switch seg[atKind] {
	case Fixed:
		return fixedEach(seg, yield)
	case Packed:
		return packedEach(seg, yield)
	default:
		return recordsEach(seg, yield)
	}
}

// checkHeader says whether the parts that the header speaks of are inside of seg.
func checkHeader(seg []byte) error {
	if len(seg) < HeaderSize {
		return fmt.Errorf("%d bytes: %w", len(seg), ErrCorrupt)
	}
	s := ShapeOf(seg)
	need := uint64(HeaderSize)
	switch s.Kind {
	case Fixed:
		if fixedSlots(s.KeySize, s.ValueSize) == 0 {
			return fmt.Errorf("fixed entries of %d and %d bytes: %w", s.KeySize, s.ValueSize, ErrCorrupt)
		}
		need += uint64(s.Blocks) * BlockSize
	case Packed:
		need += uint64(s.Blocks) * BlockSize
	case Records:
		need += uint64(s.Blocks) * 4
		if used := uint64(get32(seg, atUsed)); used < need || used > uint64(s.Length) {
			return fmt.Errorf("records in use up to %d of %d bytes: %w", used, s.Length, ErrCorrupt)
		}
	default:
		return fmt.Errorf("kind %d: %w", s.Kind, ErrCorrupt)
	}
	if s.Blocks == 0 || need > uint64(s.Length) || int64(s.Length) > int64(len(seg)) || s.Length > SlotSize || Depth(seg) > 64 {
		return fmt.Errorf("kind %d, %d blocks, length %d of %d bytes: %w", s.Kind, s.Blocks, s.Length, len(seg), ErrCorrupt)
	}
	return nil
}
