// SPDX-License-Identifier: Apache-2.0

// This file reads the fields of a body.

package wire

import (
	"encoding/binary"
	"fmt"
)

// Fields reads a body field by field. After the first fault every field is zero and Err tells the fault; so a reader of a message
// looks once, at the end. Byte strings lie in the body.
type Fields struct {
	rest []byte
	err  error
}

// NewFields reads body.
func NewFields(body []byte) *Fields { return &Fields{rest: body} }

// Err is the first fault.
func (f *Fields) Err() error { return f.err }

// End is Err, and that nothing is left.
func (f *Fields) End() error {
	if f.err == nil && len(f.rest) > 0 {
		f.err = fmt.Errorf("%d bytes too many: %w", len(f.rest), ErrMalformed)
	}
	return f.err
}

// Rest is what has not been read.
func (f *Fields) Rest() []byte { return f.rest }

func (f *Fields) take(n uint64) []byte {
	if f.err == nil && n > uint64(len(f.rest)) {
		f.err = fmt.Errorf("field of %d bytes, %d left: %w", n, len(f.rest), ErrMalformed)
	}
	if f.err != nil {
		return nil
	}
	out := f.rest[:n:n]
	f.rest = f.rest[n:]
	return out
}

func (f *Fields) number(size uint64) uint64 {
	var whole [8]byte
	copy(whole[:], f.take(size))
	return binary.LittleEndian.Uint64(whole[:])
}

// U8 reads a byte.
func (f *Fields) U8() uint8 { return uint8(f.number(1)) }

// U16 reads two bytes.
func (f *Fields) U16() uint16 { return uint16(f.number(2)) }

// U32 reads four bytes.
func (f *Fields) U32() uint32 { return uint32(f.number(4)) }

// U64 reads eight bytes.
func (f *Fields) U64() uint64 { return f.number(8) }

// Bool reads a byte that is 0 or 1.
func (f *Fields) Bool() bool { return f.U8() != 0 }

// Bytes reads a byte string.
func (f *Fields) Bytes() []byte {
	if f.err != nil {
		return nil
	}
	n, size := binary.Uvarint(f.rest)
	if size <= 0 {
		f.err = fmt.Errorf("length of a string: %w", ErrMalformed)
		return nil
	}
	f.take(uint64(size))
	return f.take(n)
}

// String reads a string.
func (f *Fields) String() string { return string(f.Bytes()) }
