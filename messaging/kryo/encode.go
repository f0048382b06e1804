// SPDX-License-Identifier: Apache-2.0

package kryo

// This file writes values.

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"

	"github.com/gust-stream/gust/tuple"
)

// maxDepth bounds how far values may hold one another: a list that holds itself is an error, and so is what would use up a stack.
const maxDepth = 100

// AppendValues appends the values of a tuple: a list without its class. On an error what was appended is no list.
func AppendValues(b []byte, vs []any) ([]byte, error) { return appendList(b, vs, maxDepth) }

// AppendObject appends a class and a value of it.
func AppendObject(b []byte, v any) ([]byte, error) { return appendObject(b, v, maxDepth) }

func appendObject(b []byte, v any, depth int) ([]byte, error) {
	c := classOf(v)
	if c == other {
		converted, err := convert(v)
		if err != nil {
			return b, err
		}
		v, c = converted, classOf(converted)
	}
	b = binary.AppendUvarint(b, uint64(c))
	if c == null {
		return b, nil
	}
	return appendBody(b, c, v, depth)
}

// appendBody appends a value without its class.
func appendBody(b []byte, c class, v any, depth int) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return appendText(b, v), nil
	case int64:
		return appendLong(b, v), nil
	case int:
		return appendLong(b, int64(v)), nil
	case float64:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(v)), nil
	case bool:
		if v {
			return append(b, 1), nil
		}
		return append(b, 0), nil
	case []byte:
		return append(binary.AppendUvarint(b, uint64(len(v)+1)), v...), nil
	case []any:
		return appendList(b, v, depth-1)
	case map[string]any:
		return appendStringMap(b, v, depth-1)
	case map[any]any:
		return appendMap(b, v, depth-1)
	case int32:
		return appendInt(b, v), nil
	case float32:
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(v)), nil
	case int16:
		return binary.LittleEndian.AppendUint16(b, uint16(v)), nil //nolint:gosec // the same bits
	case int8:
		return append(b, byte(v)), nil //nolint:gosec // the same bits
	case tuple.Char:
		return binary.LittleEndian.AppendUint16(b, uint16(v)), nil
	case tuple.Set:
		return appendList(b, v, depth-1)
	case *big.Int:
		return appendBig(b, v), nil
	default:
		return appendStruct(b, c, v, depth)
	}
}

// appendList appends the body of a collection. Its elements are written without their classes where all have the same.
func appendList(b []byte, vs []any, depth int) ([]byte, error) {
	if depth <= 0 {
		return b, errTooDeep
	}
	if len(vs) == 0 {
		return append(b, 1), nil
	}
	all, nulls, same := null, false, true
	for i, v := range vs {
		c := classOf(v)
		if c == other {
			converted, err := convertAll(vs, i)
			if err != nil {
				return b, err
			}
			return appendList(b, converted, depth)
		}
		switch {
		case c == null:
			nulls = true
		case all == null:
			all = c
		case c != all:
			same = false
		}
	}
	b = appendFlagged(b, same, len(vs)+1)
	if !same {
		return appendMixed(b, vs, depth)
	}
	b = append(b, byte(all))
	if all == null {
		return b, nil
	}
	b = appendBool(b, nulls)
	var err error
	for _, v := range vs {
		if nulls && !all.knowsNull() {
			b = appendBool(b, v != nil)
			if v == nil {
				continue
			}
		}
		if v == nil {
			b = appendNull(b, all)
			continue
		}
		if b, err = appendBody(b, all, v, depth); err != nil {
			return b, err
		}
	}
	return b, nil
}

func appendMixed(b []byte, vs []any, depth int) ([]byte, error) {
	var err error
	for _, v := range vs {
		if b, err = appendObject(b, v, depth); err != nil {
			return b, err
		}
	}
	return b, nil
}

// convertAll is a copy of a list in which classOf knows everything; the first i elements it knows already.
func convertAll(vs []any, i int) ([]any, error) {
	out := make([]any, len(vs))
	copy(out, vs[:i])
	for ; i < len(vs); i++ {
		out[i] = vs[i]
		if classOf(vs[i]) == other {
			converted, err := convert(vs[i])
			if err != nil {
				return nil, err
			}
			out[i] = converted
		}
	}
	return out, nil
}

// knowsNull says whether a class has a null of its own, so that no mark is written before each element.
func (c class) knowsNull() bool {
	switch c {
	case text, octets, list, hashMap, hashSet, bigInteger, delegate, values, consList:
		return true
	default:
		return false
	}
}

// appendNull appends the null of a class that has one.
func appendNull(b []byte, c class) []byte {
	if c == text {
		return append(b, mark)
	}
	return append(b, 0)
}

func appendStringMap(b []byte, m map[string]any, depth int) ([]byte, error) {
	if depth <= 0 {
		return b, errTooDeep
	}
	b = binary.AppendUvarint(b, uint64(len(m)+1))
	var err error
	for k, v := range m {
		b = appendText(append(b, byte(text)), k)
		if b, err = appendObject(b, v, depth); err != nil {
			return b, fmt.Errorf("under key %q: %w", k, err)
		}
	}
	return b, nil
}

func appendMap(b []byte, m map[any]any, depth int) ([]byte, error) {
	if depth <= 0 {
		return b, errTooDeep
	}
	b = binary.AppendUvarint(b, uint64(len(m)+1))
	var err error
	for k, v := range m {
		if b, err = appendObject(b, k, depth); err != nil {
			return b, err
		}
		if b, err = appendObject(b, v, depth); err != nil {
			return b, fmt.Errorf("under key %v: %w", k, err)
		}
	}
	return b, nil
}

// appendFlagged appends a length whose first byte has room for a flag.
func appendFlagged(b []byte, flag bool, n int) []byte {
	first := byte(n & 0x3F)
	if flag {
		first |= mark
	}
	if n>>6 == 0 {
		return append(b, first)
	}
	return binary.AppendUvarint(append(b, first|0x40), uint64(n)>>6) //nolint:gosec // a length
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendInt(b []byte, v int32) []byte {
	return binary.AppendUvarint(b, uint64(uint32(v)<<1^uint32(v>>31))) //nolint:gosec // zigzag
}

// appendLong differs from a varint of Go in its ninth byte, which is the last and has eight bits.
func appendLong(b []byte, v int64) []byte {
	u := uint64(v)<<1 ^ uint64(v>>63) //nolint:gosec // zigzag
	for range 8 {
		if u < 0x80 {
			return append(b, byte(u))
		}
		b = append(b, byte(u)|0x80)
		u >>= 7
	}
	return append(b, byte(u))
}

// appendBig appends an integer as Java does: big-endian two's complement, as short as can be.
func appendBig(b []byte, v *big.Int) []byte {
	if v == nil {
		return append(b, 0)
	}
	// One bit more than the value for the sign; a negative one is the inverse of the one above it.
	abs := v
	if v.Sign() < 0 {
		abs = new(big.Int).Not(v)
	}
	size := abs.BitLen()/8 + 1
	b = binary.AppendUvarint(b, uint64(size)+1) //nolint:gosec // a length
	start := len(b)
	b = append(b, make([]byte, size)...)
	abs.FillBytes(b[start:])
	if v.Sign() < 0 {
		for i := start; i < len(b); i++ {
			b[i] = ^b[i]
		}
	}
	return b
}
