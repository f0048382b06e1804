// SPDX-License-Identifier: Apache-2.0

// Encoded structs as trees, so that two encodings can be compared without
// regard to what has no order, and without trusting any generated code.

package thrift

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/thrift/lib/go/thrift"
)

// canonical returns an encoded struct with its fields in the order of their
// ids, and the entries of maps and sets in the order of their bytes.
func canonical(encoded []byte) ([]byte, error) {
	r := &reader{b: encoded}
	out, err := r.value(thrift.STRUCT)
	if err == nil && len(r.b) > 0 {
		err = fmt.Errorf("%d bytes are left over", len(r.b))
	}
	if err != nil {
		return nil, fmt.Errorf("after %d bytes: %w", len(encoded)-len(r.b), err)
	}
	return out, nil
}

// reader takes TBinaryProtocol values off a slice, rewriting them.
type reader struct {
	b []byte
	// widen makes every i32 field of these ids an i64 one, in the outermost struct.
	widen []int16
	depth int
}

var errShort = errors.New("bytes end too early")

func (r *reader) take(n int) ([]byte, error) {
	if n < 0 || n > len(r.b) {
		return nil, errShort
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b, nil
}

// value reads one value and returns its canonical bytes.
func (r *reader) value(kind thrift.TType) ([]byte, error) {
	switch kind {
	case thrift.BOOL, thrift.BYTE:
		return r.take(1)
	case thrift.I16:
		return r.take(2)
	case thrift.I32:
		return r.take(4)
	case thrift.I64, thrift.DOUBLE:
		return r.take(8)
	case thrift.STRING:
		if len(r.b) < 4 {
			return nil, errShort
		}
		return r.take(4 + int(int32(binary.BigEndian.Uint32(r.b))))
	case thrift.STRUCT:
		r.depth++
		defer func() { r.depth-- }()
		return r.fields()
	case thrift.LIST, thrift.SET:
		head, err := r.take(5)
		if err != nil {
			return nil, err
		}
		return r.items(head, kind == thrift.SET, thrift.TType(head[0]))
	case thrift.MAP:
		head, err := r.take(6)
		if err != nil {
			return nil, err
		}
		return r.items(head, true, thrift.TType(head[0]), thrift.TType(head[1]))
	}
	return nil, fmt.Errorf("no type %d", kind)
}

// items reads the elements of a container, each of one or two values.
func (r *reader) items(head []byte, sorted bool, kinds ...thrift.TType) ([]byte, error) {
	var all [][]byte
	for range binary.BigEndian.Uint32(head[len(head)-4:]) {
		var item []byte
		for _, kind := range kinds {
			b, err := r.value(kind)
			if err != nil {
				return nil, err
			}
			item = append(item, b...)
		}
		all = append(all, item)
	}
	if sorted {
		slices.SortFunc(all, bytes.Compare)
	}
	if len(all) == 0 && r.widen == nil { // an empty map says nothing about its types, and the languages differ in what they write
		return head[len(head)-4:], nil
	}
	return append(slices.Clone(head), bytes.Join(all, nil)...), nil
}

func (r *reader) fields() ([]byte, error) {
	byID := map[int16][]byte{}
	var ids []int16
	for {
		kind, err := r.take(1)
		if err != nil {
			return nil, err
		}
		if kind[0] == thrift.STOP {
			break
		}
		id, err := r.take(2)
		if err != nil {
			return nil, err
		}
		n := int16(binary.BigEndian.Uint16(id))
		if _, twice := byID[n]; twice {
			return nil, fmt.Errorf("field %d comes twice", n)
		}
		v, err := r.value(thrift.TType(kind[0]))
		if err != nil {
			return nil, fmt.Errorf("field %d: %w", n, err)
		}
		if kind[0] == thrift.I32 && r.depth == 1 && slices.Contains(r.widen, n) {
			kind = []byte{thrift.I64}
			v = binary.BigEndian.AppendUint64(nil, uint64(int32(binary.BigEndian.Uint32(v))))
		}
		byID[n] = slices.Concat(kind, id, v)
		ids = append(ids, n)
	}
	slices.Sort(ids)
	var out []byte
	for _, id := range ids {
		out = append(out, byID[id]...)
	}
	return append(out, thrift.STOP), nil
}
