// SPDX-License-Identifier: Apache-2.0

// This file has the fields of a segment's header.

package segment

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// Sizes of the layout.
const (
	HeaderSize = 64
	BlockSize  = 256
	SlotSize   = 256 << 10 // longest segment
	MaxEntries = 8192
	LongValue  = 32 << 10 // longer values lie outside of segments
	MaxKey     = 32 << 10 // keys lie in segments
)

// A segment's kind says how its entries lie.
const (
	Fixed   = 1 // all keys of one size and all values of one size
	Packed  = 2 // small entries of any size
	Records = 3 // anything
)

// Where the header's fields are.
const (
	atSequence  = 0
	atNamespace = 8
	atPrefix    = 16
	atDepth     = 24
	atKind      = 25
	atKeySize   = 26
	atValueSize = 27
	atEntries   = 28
	atBlocks    = 32
	atLength    = 36
	atUsed      = 40
	atDead      = 44
	atPosition  = 48
	atDeleted   = 56
	atChecksum  = 60
)

// Shape is a segment's kind and size.
type Shape struct {
	Kind, KeySize, ValueSize uint8
	Blocks                   uint32 // index words in kind Records
	Length                   uint32 // bytes, header included
}

// Sequence is the segment's sequence number in place, which is odd while the segment changes.
func Sequence(seg []byte) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&seg[:HeaderSize][atSequence]))
}

// Namespace is the id of the namespace that the segment belongs to.
func Namespace(seg []byte) uint64 { return binary.LittleEndian.Uint64(seg[atNamespace:]) }

// Prefix has the hash bits that all the segment's keys share, from the top; Depth says how many.
func Prefix(seg []byte) uint64 { return binary.LittleEndian.Uint64(seg[atPrefix:]) }

// Depth is the number of bits of Prefix that count.
func Depth(seg []byte) uint8 { return seg[atDepth] }

// Kind is Fixed, Packed or Records.
func Kind(seg []byte) uint8 { return seg[atKind] }

// Entries is the number of entries.
func Entries(seg []byte) int { return int(binary.LittleEndian.Uint32(seg[atEntries:])) }

// Length is the segment's length, header included.
func Length(seg []byte) int { return int(binary.LittleEndian.Uint32(seg[atLength:])) }

// Position is the journal position of the last change.
func Position(seg []byte) uint64 { return binary.LittleEndian.Uint64(seg[atPosition:]) }

// SetPosition sets the journal position of the last change.
func SetPosition(seg []byte, position uint64) {
	binary.LittleEndian.PutUint64(seg[atPosition:], position)
}

// SetNamespace sets the id of the namespace: an image gets that of the table in which it is installed.
func SetNamespace(seg []byte, id uint64) { binary.LittleEndian.PutUint64(seg[atNamespace:], id) }

// ShapeOf is the segment's shape.
func ShapeOf(seg []byte) Shape {
	return Shape{
		Kind: seg[atKind], KeySize: seg[atKeySize], ValueSize: seg[atValueSize],
		Blocks: get32(seg, atBlocks), Length: get32(seg, atLength),
	}
}

// Init makes an empty segment of shape s at the start of dst, which must have s.Length bytes of any content. The sequence number stays as it is.
func Init(dst []byte, s Shape, namespace, prefix uint64, depth uint8) {
	dst = dst[:s.Length]
	clear(dst[atNamespace:HeaderSize])
	binary.LittleEndian.PutUint64(dst[atNamespace:], namespace)
	binary.LittleEndian.PutUint64(dst[atPrefix:], prefix)
	dst[atDepth], dst[atKind], dst[atKeySize], dst[atValueSize] = depth, s.Kind, s.KeySize, s.ValueSize
	set32(dst, atBlocks, s.Blocks)
	set32(dst, atLength, s.Length)
	switch s.Kind {
	case Records:
		start := recordStart(s.Blocks)
		clear(dst[HeaderSize:start])
		set32(dst, atUsed, start)
	default:
		clear(dst[HeaderSize:])
	}
}

// belongs says whether a key with this hash is one of a segment of this prefix and depth.
func belongs(hash, prefix uint64, depth uint8) bool { return (hash^prefix)>>(64-depth) == 0 }

func get32(seg []byte, at int) uint32 { return binary.LittleEndian.Uint32(seg[at:]) }

func set32(seg []byte, at int, v uint32) { binary.LittleEndian.PutUint32(seg[at:], v) }

func add32(seg []byte, at, v int) { set32(seg, at, get32(seg, at)+uint32(v)) }
