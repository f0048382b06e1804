// SPDX-License-Identifier: Apache-2.0

package codec

// This file writes msgpack, each number in its shortest form, as pystorm's library does.

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"unicode/utf8"

	"github.com/gust-stream/gust/tuple"
)

func appendMsgpack(dst []byte, v any, depth int) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, 0xC0), nil
	case string:
		return appendMsgpackString(dst, v)
	case int64:
		return appendMsgpackInt(dst, v), nil
	case float64:
		return binary.BigEndian.AppendUint64(append(dst, 0xCB), math.Float64bits(v)), nil
	case bool:
		if v {
			return append(dst, 0xC3), nil
		}
		return append(dst, 0xC2), nil
	case int:
		return appendMsgpackInt(dst, int64(v)), nil
	case int32:
		return appendMsgpackInt(dst, int64(v)), nil
	case float32:
		return binary.BigEndian.AppendUint32(append(dst, 0xCA), math.Float32bits(v)), nil
	case []byte:
		dst, err := appendMsgpackHead(dst, len(v), 0, 0, 0xC4, 0xC5)
		return append(dst, v...), err
	case []any:
		return appendMsgpackList(dst, v, depth)
	case tuple.Set:
		return appendMsgpackList(dst, v, depth)
	case map[string]any:
		return appendMsgpackMap(dst, v, depth)
	case map[any]any:
		return appendMsgpackAnyMap(dst, v, depth)
	case *big.Int:
		switch {
		case v == nil:
			return append(dst, 0xC0), nil
		case v.IsInt64():
			return appendMsgpackInt(dst, v.Int64()), nil
		case v.IsUint64():
			return binary.BigEndian.AppendUint64(append(dst, 0xCF), v.Uint64()), nil
		}
		return dst, &UnwritableError{Msgpack, fmt.Sprintf("an integer of %d bits", v.BitLen())}
	case tuple.Char:
		return appendMsgpackString(dst, charText(v))
	default:
		plain, err := plainValue(Msgpack, v)
		if err != nil {
			return dst, err
		}
		return appendMsgpack(dst, plain, depth)
	}
}

// appendMsgpackHead writes the length of a string, list or map: into the first byte up to fixed, else behind a code for one (0: none),
// two or four bytes; the code for four follows that for two.
func appendMsgpackHead(dst []byte, n, fixed int, fix, one, two byte) ([]byte, error) {
	switch {
	case n < fixed:
		return append(dst, fix|byte(n)), nil
	case n <= math.MaxUint8 && one != 0:
		return append(dst, one, byte(n)), nil
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, two), uint16(n)), nil
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, two+1), uint32(n)), nil
	}
	return dst, &UnwritableError{Msgpack, fmt.Sprintf("a length of %d", n)}
}

func appendMsgpackString(dst []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return dst, &UnwritableError{Msgpack, badText([]byte(s)).Error()}
	}
	dst, err := appendMsgpackHead(dst, len(s), 32, 0xA0, 0xD9, 0xDA)
	return append(dst, s...), err
}

func appendMsgpackInt(dst []byte, v int64) []byte {
	switch {
	case v >= -32 && v <= math.MaxInt8:
		return append(dst, byte(v))
	case v >= 0 && v <= math.MaxUint8:
		return append(dst, 0xCC, byte(v))
	case v >= 0 && v <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, 0xCD), uint16(v))
	case v >= 0 && v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, 0xCE), uint32(v))
	case v >= 0:
		return binary.BigEndian.AppendUint64(append(dst, 0xCF), uint64(v))
	case v >= math.MinInt8:
		return append(dst, 0xD0, byte(v))
	case v >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(dst, 0xD1), uint16(v))
	case v >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(dst, 0xD2), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(dst, 0xD3), uint64(v))
}

func appendMsgpackList(dst []byte, list []any, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return dst, tooDeep(Msgpack)
	}
	dst, err := appendMsgpackHead(dst, len(list), 16, 0x90, 0, 0xDC)
	for _, v := range list {
		if err != nil {
			return dst, err
		}
		dst, err = appendMsgpack(dst, v, depth+1)
	}
	return dst, err
}

func appendMsgpackMap(dst []byte, m map[string]any, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return dst, tooDeep(Msgpack)
	}
	dst, err := appendMsgpackHead(dst, len(m), 16, 0x80, 0, 0xDE)
	for k, v := range m {
		if err != nil {
			return dst, err
		}
		if dst, err = appendMsgpackString(dst, k); err == nil {
			dst, err = appendMsgpack(dst, v, depth+1)
		}
	}
	return dst, err
}

func appendMsgpackAnyMap(dst []byte, m map[any]any, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return dst, tooDeep(Msgpack)
	}
	dst, err := appendMsgpackHead(dst, len(m), 16, 0x80, 0, 0xDE)
	for k, v := range m {
		if err != nil {
			return dst, err
		}
		if dst, err = appendMsgpack(dst, k, depth+1); err == nil {
			dst, err = appendMsgpack(dst, v, depth+1)
		}
	}
	return dst, err
}
