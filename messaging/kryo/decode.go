// SPDX-License-Identifier: Apache-2.0

package kryo

// This file reads values. Lengths are checked against what there is before memory is taken.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/gust-stream/gust/tuple"
)

var (
	errTooDeep = fmt.Errorf("values hold one another more than %d deep", maxDepth)

	// ErrMalformed is in every error about bytes that are no values; an UnknownClassError is not one.
	ErrMalformed = errors.New("malformed values")
)

// maxNulls bounds the elements that take no byte: a list of nulls is a class and a length.
const maxNulls = 1 << 16

// maxElements bounds those of all lists and maps of a message: one takes a byte there, and up to a hundred where it is read.
const maxElements = 1 << 22

// Decoder reads values out of one message. Reset starts the next; nothing that it gives out refers to the message.
type Decoder struct {
	// Names is for errors about classes that only Java knows.
	Names Names

	buf     []byte
	at      int
	depth   int
	nulls   int
	budget  int
	scratch []byte
}

// Reset begins a message.
func (d *Decoder) Reset(message []byte) {
	d.buf, d.at, d.depth, d.nulls, d.budget = message, 0, maxDepth, maxNulls, min(len(message), maxElements)
}

// Rest is how many bytes are left.
func (d *Decoder) Rest() int { return len(d.buf) - d.at }

// Uvarint reads an unsigned varint of Kryo's, as before the values of a tuple.
func (d *Decoder) Uvarint() (uint32, error) { return d.uvarint() }

// Fixed64 reads eight little-endian bytes.
func (d *Decoder) Fixed64() (int64, error) {
	b, err := d.take("a number", 8)
	if err != nil {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint64(b)), nil //nolint:gosec // the same bits
}

// Values reads the values of a tuple: a list without its class.
func (d *Decoder) Values() ([]any, error) { return d.list() }

// Object reads a class and a value of it.
func (d *Decoder) Object() (any, error) { return d.object() }

func (d *Decoder) errorf(format string, args ...any) error {
	return fmt.Errorf("%w: byte %d of %d: "+format, append([]any{ErrMalformed, d.at, len(d.buf)}, args...)...)
}

func (d *Decoder) short(what string, need int) error {
	return d.errorf("%s needs %d bytes, there are %d", what, need, len(d.buf)-d.at)
}

func (d *Decoder) unknown(c class) error {
	return &UnknownClassError{ID: uint32(c), Name: d.Names.of(c)}
}

func (d *Decoder) take(what string, n int) ([]byte, error) {
	if n < 0 || n > len(d.buf)-d.at {
		return nil, d.short(what, n)
	}
	b := d.buf[d.at : d.at+n]
	d.at += n
	return b, nil
}

func (d *Decoder) octet(what string) (byte, error) {
	if d.at >= len(d.buf) {
		return 0, d.short(what, 1)
	}
	d.at++
	return d.buf[d.at-1], nil
}

func (d *Decoder) bool() (bool, error) {
	b, err := d.octet("a boolean")
	return b == 1, err
}

func (d *Decoder) uvarint() (uint32, error) {
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		b, err := d.octet("a varint")
		if err != nil {
			return 0, err
		}
		v |= uint32(b&0x7F) << shift
		if b < 0x80 {
			return v, nil
		}
	}
	return 0, d.errorf("a varint of more than 5 bytes")
}

func (d *Decoder) int() (int32, error) {
	u, err := d.uvarint()
	return int32(u>>1) ^ -int32(u&1), err //nolint:gosec // zigzag
}

func (d *Decoder) long() (int64, error) {
	var u uint64
	for i, b := range d.buf[d.at:min(d.at+9, len(d.buf))] {
		if i == 8 {
			u |= uint64(b) << 56
		} else {
			u |= uint64(b&0x7F) << (7 * i)
		}
		if i == 8 || b < 0x80 {
			d.at += i + 1
			return int64(u>>1) ^ -int64(u&1), nil //nolint:gosec // zigzag
		}
	}
	return 0, d.short("a varint", len(d.buf)-d.at+1)
}

// flagged reads a length whose first byte has a flag.
func (d *Decoder) flagged() (bool, int, error) {
	first, err := d.octet("a length")
	if err != nil {
		return false, 0, err
	}
	n := uint64(first & 0x3F)
	if first&0x40 != 0 {
		high, err := d.uvarint()
		if err != nil {
			return false, 0, err
		}
		n |= uint64(high) << 6
	}
	if n > math.MaxInt32 {
		return false, 0, d.errorf("a length of %d", n)
	}
	return first&mark != 0, int(n), nil //nolint:gosec // bounded above
}

// room takes n elements, of a byte at least each, off what the whole message can hold. So lists that lie in one another cannot each
// announce all that is left.
func (d *Decoder) room(what string, n int) error {
	if n > len(d.buf)-d.at {
		return d.short(what, n)
	}
	if d.budget -= n; d.budget < 0 {
		return d.errorf("%s of %d elements is more than the message can hold", what, n)
	}
	return nil
}

// count reads a length plus one, -1 for null, of things that take at least size bytes each.
func (d *Decoder) count(what string, size int) (int, error) {
	u, err := d.uvarint()
	if err != nil {
		return 0, err
	}
	n := int(u) - 1
	if n > (len(d.buf)-d.at)/size {
		return 0, d.short(what, n*size)
	}
	return n, nil
}

func (d *Decoder) class() (class, error) {
	c, err := d.uvarint()
	return class(c), err
}

func (d *Decoder) object() (any, error) {
	c, err := d.class()
	if err != nil || c == null {
		return nil, err
	}
	return d.body(c)
}

func (d *Decoder) body(c class) (any, error) {
	if c < text || c > bigInteger {
		return d.nested(c)
	}
	switch c {
	case text:
		s, ok, err := d.text()
		if err != nil || !ok {
			return nil, err
		}
		return s, nil
	case long:
		return boxed(d.long())
	case double:
		b, err := d.take("a double", 8)
		if err != nil {
			return nil, err
		}
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), nil
	case boolean:
		return boxed(d.bool())
	case float:
		b, err := d.take("a float", 4)
		if err != nil {
			return nil, err
		}
		return math.Float32frombits(binary.LittleEndian.Uint32(b)), nil
	case short, character:
		b, err := d.take("a short", 2)
		if err != nil {
			return nil, err
		}
		u := binary.LittleEndian.Uint16(b)
		if c == character {
			return tuple.Char(u), nil
		}
		return int16(u), nil //nolint:gosec // the same bits
	case octet:
		b, err := d.octet("a byte")
		return int8(b), err //nolint:gosec // the same bits
	case octets:
		return d.octets()
	case bigInteger:
		return d.bigInteger()
	default:
		return d.nested(c)
	}
}

// boxed keeps a reader's error from being taken for a value.
func boxed[T any](v T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// nested reads what can hold other values.
func (d *Decoder) nested(c class) (any, error) {
	if c == integer {
		return boxed(d.int())
	}
	if d.depth--; d.depth <= 0 {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, errTooDeep)
	}
	defer func() { d.depth++ }()
	switch c {
	case list, delegate, values:
		vs, err := d.list()
		if err != nil || vs == nil {
			return nil, err
		}
		return vs, nil
	case hashSet:
		vs, err := d.list()
		if err != nil || vs == nil {
			return nil, err
		}
		return tuple.Set(vs), nil
	case hashMap:
		return d.hashMap()
	default:
		return d.record(c)
	}
}

func (d *Decoder) octets() (any, error) {
	n, err := d.count("a byte[]", 1)
	if err != nil || n < 0 {
		return nil, err
	}
	b, err := d.take("a byte[]", n)
	if err != nil {
		return nil, err
	}
	return append(make([]byte, 0, n), b...), nil
}

func (d *Decoder) bigInteger() (any, error) {
	n, err := d.count("a BigInteger", 1)
	if err != nil || n < 0 {
		return nil, err
	}
	if n == 0 {
		return nil, d.errorf("a BigInteger of no bytes")
	}
	b, err := d.take("a BigInteger", n)
	if err != nil {
		return nil, err
	}
	v := new(big.Int).SetBytes(b)
	if b[0]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(n)*8)) //nolint:gosec // a length
	}
	return v, nil
}

// list reads the body of a collection, nil for null.
func (d *Decoder) list() ([]any, error) {
	same, n, err := d.flagged()
	if err != nil || n == 0 {
		return nil, err
	}
	n--
	if n == 0 {
		return []any{}, nil
	}
	if !same {
		if err := d.room("a list", n); err != nil {
			return nil, err
		}
		vs := make([]any, n)
		for i := range vs {
			if vs[i], err = d.object(); err != nil {
				return nil, err
			}
		}
		return vs, nil
	}
	return d.sameList(n)
}

// sameList reads n elements of one class.
func (d *Decoder) sameList(n int) ([]any, error) {
	c, err := d.class()
	if err != nil {
		return nil, err
	}
	if c == null {
		if d.nulls -= n; d.nulls < 0 {
			return nil, d.errorf("more than %d nulls in lists of nothing else", maxNulls)
		}
		return make([]any, n), nil
	}
	if !c.known() {
		return nil, d.unknown(c)
	}
	nulls, err := d.bool()
	if err != nil {
		return nil, err
	}
	if err := d.room("a list", n); err != nil {
		return nil, err
	}
	vs := make([]any, n)
	for i := range vs {
		if nulls && !c.knowsNull() {
			there, err := d.bool()
			if err != nil {
				return nil, err
			}
			if !there {
				continue
			}
		}
		if vs[i], err = d.body(c); err != nil {
			return nil, err
		}
	}
	return vs, nil
}

// hashMap reads a map: with strings for keys only until another key comes.
func (d *Decoder) hashMap() (any, error) {
	n, err := d.count("a map", 2)
	if err != nil || n < 0 {
		return nil, err
	}
	if err := d.room("a map", 2*n); err != nil {
		return nil, err
	}
	named := make(map[string]any, n)
	var mixed map[any]any
	for range n {
		k, err := d.object()
		if err != nil {
			return nil, err
		}
		v, err := d.object()
		if err != nil {
			return nil, err
		}
		name, ok := k.(string)
		if ok && mixed == nil {
			named[name] = v
			continue
		}
		if mixed == nil {
			mixed = make(map[any]any, n)
			for name, v := range named {
				mixed[name] = v
			}
		}
		switch k.(type) {
		case nil, string, bool, int8, int16, int32, int64, float32, float64, tuple.Char, *big.Int:
			mixed[k] = v
		default:
			return nil, d.errorf("a map with a %T for a key", k)
		}
	}
	if mixed != nil {
		return mixed, nil
	}
	return named, nil
}
