// SPDX-License-Identifier: Apache-2.0

package javaobject

// This file reads a stream.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Bounds on what is read. The objects that are looked for take a few kilobytes and a few hundred values.
const (
	MaxSize   = 4 << 20
	maxDepth  = 100
	maxChain  = 32
	maxValues = 1 << 16
)

// What the bytes in front of values mean.
const (
	tcNull = 0x70 + iota
	tcReference
	tcClassDesc
	tcObject
	tcString
	tcArray
	tcClass
	tcBlock
	tcEndBlock
	tcReset
	tcBlockLong
	tcException
	tcLongString
	tcProxyClass
	tcEnum
)

// Flags of a class.
const (
	scWriteMethod    = 1
	scSerializable   = 2
	scExternalizable = 4
	scBlockData      = 8
)

const firstHandle = 0x7e0000

// ErrMalformed is in the chain of every error about a stream.
var ErrMalformed = errors.New("not a serialized Java object")

type reader struct {
	rest    []byte
	handles []any
	classes []*Class
	depth   int
	values  int
}

// Read reads the one object of a stream. classes are all that have a descriptor in it.
func Read(data []byte) (o *Object, classes []*Class, err error) {
	if len(data) > MaxSize {
		return nil, nil, fmt.Errorf("%w: %d bytes, more than the %d that are looked at", ErrMalformed, len(data), MaxSize)
	}
	r, err := open(data)
	if err != nil {
		return nil, nil, err
	}
	v, err := r.value()
	if err != nil {
		return nil, nil, err
	}
	o, ok := v.(*Object)
	if !ok {
		return nil, nil, malformed("a %T in place of an object", v)
	}
	return o, r.classes, nil
}

// ReadClass reads no more than the class of the stream's object, however large that is.
func ReadClass(data []byte) (*Class, error) {
	r, err := open(data)
	if err != nil {
		return nil, err
	}
	tag, err := r.byte()
	if err != nil {
		return nil, err
	}
	if tag != tcObject {
		return nil, malformed("type %#x in place of an object", tag)
	}
	return r.class()
}

func open(data []byte) (*reader, error) {
	r := &reader{rest: data}
	head, err := r.take(4)
	if err != nil {
		return nil, err
	}
	if binary.BigEndian.Uint32(head) != 0xaced0005 {
		return nil, malformed("it begins with %x", head)
	}
	return r, nil
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}

func (r *reader) take(n int) ([]byte, error) {
	if n < 0 || n > len(r.rest) {
		return nil, malformed("it ends too early")
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b, nil
}

func (r *reader) byte() (byte, error) {
	b, err := r.take(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

func (r *reader) uint16() (int, error) {
	b, err := r.take(2)
	if err != nil {
		return 0, err
	}
	return int(binary.BigEndian.Uint16(b)), nil
}

func (r *reader) int32() (int, error) {
	b, err := r.take(4)
	if err != nil {
		return 0, err
	}
	return int(int32(binary.BigEndian.Uint32(b))), nil //nolint:gosec // the same 32 bits, signed
}

func (r *reader) name() (string, error) {
	n, err := r.uint16()
	if err != nil {
		return "", err
	}
	b, err := r.take(n)
	if err != nil {
		return "", err
	}
	return text(b)
}

func (r *reader) enter() error {
	if r.depth++; r.depth > maxDepth {
		return malformed("deeper than %d", maxDepth)
	}
	return nil
}

func (r *reader) remember(v any) { r.handles = append(r.handles, v) }

// count keeps what is made of a stream within bounds, since a few bytes can stand for many values.
func (r *reader) count() error {
	if r.values++; r.values > maxValues {
		return malformed("more than %d values", maxValues)
	}
	return nil
}

// value reads whatever comes next in place of a reference.
func (r *reader) value() (any, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer func() { r.depth-- }()
	tag, err := r.byte()
	if err != nil {
		return nil, err
	}
	switch tag {
	case tcNull:
		return nil, nil //nolint:nilnil // null is a value
	case tcReference:
		return r.reference()
	case tcObject:
		return r.object()
	case tcString, tcLongString:
		return r.string(tag)
	case tcArray:
		return r.array()
	case tcEnum:
		return r.enum()
	case tcClass:
		c, err := r.class()
		if err != nil {
			return nil, err
		}
		r.remember(c)
		return c, nil
	case tcClassDesc, tcProxyClass:
		return r.newClass(tag)
	default:
		return nil, malformed("type %#x", tag)
	}
}

func (r *reader) reference() (any, error) {
	n, err := r.int32()
	if err != nil {
		return nil, err
	}
	if n -= firstHandle; n < 0 || n >= len(r.handles) {
		return nil, malformed("a reference to nothing")
	}
	return r.handles[n], nil
}

func (r *reader) string(tag byte) (any, error) {
	length := uint64(0)
	if tag == tcString {
		n, err := r.uint16()
		if err != nil {
			return nil, err
		}
		length = uint64(n) //nolint:gosec // of 16 bits
	} else {
		b, err := r.take(8)
		if err != nil {
			return nil, err
		}
		length = binary.BigEndian.Uint64(b)
	}
	if length > uint64(len(r.rest)) {
		return nil, malformed("it ends too early")
	}
	b, err := r.take(int(length)) //nolint:gosec // not above the length of the rest
	if err != nil {
		return nil, err
	}
	s, err := text(b)
	if err != nil {
		return nil, err
	}
	r.remember(s)
	return s, nil
}

func (r *reader) array() (any, error) {
	c, err := r.needClass()
	if err != nil {
		return nil, err
	}
	a := &Array{Class: c}
	r.remember(a)
	n, err := r.int32()
	if err != nil {
		return nil, err
	}
	// An element takes a byte at least.
	if len(c.Name) < 2 || c.Name[0] != '[' || n < 0 || n > len(r.rest) {
		return nil, malformed("%d elements of a %q", n, c.Name)
	}
	for range n {
		v, err := r.field(c.Name[1])
		if err != nil {
			return nil, err
		}
		a.Values = append(a.Values, v)
	}
	return a, nil
}

func (r *reader) enum() (any, error) {
	c, err := r.needClass()
	if err != nil {
		return nil, err
	}
	e := &Enum{Class: c}
	r.remember(e)
	v, err := r.value()
	if err != nil {
		return nil, err
	}
	name, ok := v.(string)
	if !ok {
		return nil, malformed("a %T in place of a constant's name", v)
	}
	e.Name = name
	return e, nil
}

// field reads a value of the type that a descriptor names.
func (r *reader) field(kind byte) (any, error) {
	if err := r.count(); err != nil {
		return nil, err
	}
	size := map[byte]int{'B': 1, 'Z': 1, 'C': 2, 'S': 2, 'I': 4, 'F': 4, 'J': 8, 'D': 8}[kind]
	if size == 0 {
		if kind != 'L' && kind != '[' {
			return nil, malformed("a field of type %q", kind)
		}
		return r.value()
	}
	b, err := r.take(size)
	if err != nil {
		return nil, err
	}
	switch kind {
	case 'B':
		return int8(b[0]), nil //nolint:gosec // the same bits, signed
	case 'Z':
		return b[0] != 0, nil
	case 'C':
		return binary.BigEndian.Uint16(b), nil
	case 'S':
		return int16(binary.BigEndian.Uint16(b)), nil //nolint:gosec // the same bits, signed
	case 'I':
		return int32(binary.BigEndian.Uint32(b)), nil //nolint:gosec // the same bits, signed
	case 'F':
		return math.Float32frombits(binary.BigEndian.Uint32(b)), nil
	case 'J':
		return int64(binary.BigEndian.Uint64(b)), nil //nolint:gosec // the same bits, signed
	default:
		return math.Float64frombits(binary.BigEndian.Uint64(b)), nil
	}
}
