// SPDX-License-Identifier: Apache-2.0

// The reading side: a cursor over one frame that remembers its first error.

package jute

import (
	"encoding/binary"
	"fmt"
)

// Decoder reads values out of one frame. After the first fault every further call
// returns a zero value, so that callers check Err once at the end.
type Decoder struct {
	buf []byte
	off int
	err error
}

// NewDecoder reads from b, which must not change while values are in use.
func NewDecoder(b []byte) *Decoder { return &Decoder{buf: b} }

// Reset makes d read from b from its start.
func (d *Decoder) Reset(b []byte) { *d = Decoder{buf: b} }

// Err is the first fault, nil if all reads were in bounds.
func (d *Decoder) Err() error { return d.err }

// Remaining is how many bytes are still unread.
func (d *Decoder) Remaining() int { return len(d.buf) - d.off }

// take returns the next n bytes, nil once anything is wrong.
func (d *Decoder) take(n int, what string) []byte {
	if d.err != nil {
		return nil
	}
	if n < 0 || n > len(d.buf)-d.off {
		d.err = fmt.Errorf("%s at byte %d: %d bytes wanted, %d left", what, d.off, n, len(d.buf)-d.off)
		return nil
	}
	b := d.buf[d.off : d.off+n : d.off+n]
	d.off += n
	return b
}

// Bool reads one byte; everything but zero is true.
func (d *Decoder) Bool() bool {
	b := d.take(1, "bool")
	return b != nil && b[0] != 0
}

// Byte reads one byte.
func (d *Decoder) Byte() byte {
	if b := d.take(1, "byte"); b != nil {
		return b[0]
	}
	return 0
}

// Int reads a 32-bit integer.
func (d *Decoder) Int() int32 {
	if b := d.take(4, "int"); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

// Long reads a 64-bit integer.
func (d *Decoder) Long() int64 {
	if b := d.take(8, "long"); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// Buffer reads a byte buffer. It shares memory with the frame. A length of -1 is
// nil, which differs from an empty buffer.
func (d *Decoder) Buffer() []byte {
	n := d.Int()
	if n == -1 {
		return nil
	}
	return d.take(int(n), "buffer")
}

// String reads a string; a null string reads as the empty one.
func (d *Decoder) String() string {
	n := d.Int()
	if n == -1 {
		return ""
	}
	return string(d.take(int(n), "string"))
}

// Count reads the length of a vector whose elements take at least size bytes each.
// A null vector has no elements.
func (d *Decoder) Count(size int) int {
	n := d.Int()
	if n == -1 || d.err != nil {
		return 0
	}
	if n < 0 || int(n) > d.Remaining()/size {
		d.err = fmt.Errorf("vector at byte %d: %d elements announced, %d bytes left", d.off, n, d.Remaining())
		return 0
	}
	return int(n)
}

// Strings reads a vector of strings.
func (d *Decoder) Strings() []string {
	n := d.Count(4)
	if n == 0 {
		return nil
	}
	ss := make([]string, 0, n)
	for range n {
		ss = append(ss, d.String())
	}
	return ss
}

// ACLs reads a vector of ACL entries.
func (d *Decoder) ACLs() []ACL {
	n := d.Count(12)
	if n == 0 {
		return nil
	}
	as := make([]ACL, 0, n)
	for range n {
		as = append(as, ACL{Perms: d.Int(), ID: ID{Scheme: d.String(), ID: d.String()}})
	}
	return as
}

// Stat reads a znode's stat.
func (d *Decoder) Stat() Stat {
	return Stat{
		Czxid: d.Long(), Mzxid: d.Long(), Ctime: d.Long(), Mtime: d.Long(),
		Version: d.Int(), Cversion: d.Int(), Aversion: d.Int(), EphemeralOwner: d.Long(),
		DataLength: d.Int(), NumChildren: d.Int(), Pzxid: d.Long(),
	}
}
