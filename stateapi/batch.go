// SPDX-License-Identifier: Apache-2.0

// This file writes and reads batches: puts and deletes in the order in which they were made.

package stateapi

import (
	"encoding/binary"
	"fmt"
)

// The operations of a batch.
const (
	OpPut    = 1
	OpDelete = 2
)

// batchHeader is the count's size at a batch's start.
const batchHeader = 4

// Batch collects operations in their encoded form. The zero value is an empty batch.
type Batch struct {
	encoded []byte
}

// Put adds a put; key and value are copied.
func (b *Batch) Put(key, value []byte) {
	b.begin(OpPut, len(key))
	b.encoded = binary.AppendUvarint(b.encoded, uint64(len(value)))
	b.encoded = append(b.encoded, key...)
	b.encoded = append(b.encoded, value...)
}

// Delete adds a delete; key is copied.
func (b *Batch) Delete(key []byte) {
	b.begin(OpDelete, len(key))
	b.encoded = append(b.encoded, key...)
}

func (b *Batch) begin(op byte, keyLength int) {
	if len(b.encoded) == 0 {
		b.encoded = append(b.encoded, 0, 0, 0, 0)
	}
	binary.LittleEndian.PutUint32(b.encoded, uint32(b.Len())+1)
	b.encoded = append(b.encoded, op)
	b.encoded = binary.AppendUvarint(b.encoded, uint64(keyLength))
}

// Len is the number of operations.
func (b *Batch) Len() int {
	if len(b.encoded) == 0 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(b.encoded))
}

// Bytes is the encoded batch, valid until the next change.
func (b *Batch) Bytes() []byte {
	if len(b.encoded) == 0 {
		return []byte{0, 0, 0, 0}
	}
	return b.encoded
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() { b.encoded = b.encoded[:0] }

// Operations calls each for every operation of an encoded batch; key and value lie in it. It checks as it goes: an operation before a
// fault has been reported when the error comes, so call Check first where that matters.
func Operations(encoded []byte, each func(op byte, key, value []byte) error) error {
	if len(encoded) < batchHeader {
		return fmt.Errorf("batch of %d bytes: %w", len(encoded), ErrCorrupt)
	}
	count, rest := binary.LittleEndian.Uint32(encoded), encoded[batchHeader:]
	for i := range count {
		var op byte
		var key, value []byte
		var err error
		if op, key, value, rest, err = operation(rest); err != nil {
			return fmt.Errorf("operation %d of %d: %w", i, count, err)
		}
		if err := each(op, key, value); err != nil {
			return err
		}
	}
	if len(rest) > 0 {
		return fmt.Errorf("%d bytes after the last operation: %w", len(rest), ErrCorrupt)
	}
	return nil
}

// Check says whether encoded is a whole, well-formed batch.
func Check(encoded []byte) error {
	return Operations(encoded, func(byte, []byte, []byte) error { return nil })
}

func operation(in []byte) (op byte, key, value, rest []byte, err error) {
	if len(in) == 0 {
		return 0, nil, nil, nil, fmt.Errorf("missing: %w", ErrCorrupt)
	}
	op, in = in[0], in[1:]
	keyLength, n := binary.Uvarint(in)
	if n <= 0 {
		return 0, nil, nil, nil, fmt.Errorf("key length: %w", ErrCorrupt)
	}
	in = in[n:]
	var valueLength uint64
	switch op {
	case OpPut:
		if valueLength, n = binary.Uvarint(in); n <= 0 {
			return 0, nil, nil, nil, fmt.Errorf("value length: %w", ErrCorrupt)
		}
		in = in[n:]
	case OpDelete:
	default:
		return 0, nil, nil, nil, fmt.Errorf("unknown kind %d: %w", op, ErrCorrupt)
	}
	if keyLength > uint64(len(in)) || valueLength > uint64(len(in))-keyLength {
		return 0, nil, nil, nil, fmt.Errorf("longer than the batch: %w", ErrCorrupt)
	}
	return op, in[:keyLength:keyLength], in[keyLength : keyLength+valueLength : keyLength+valueLength], in[keyLength+valueLength:], nil
}
