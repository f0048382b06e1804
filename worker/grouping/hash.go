// SPDX-License-Identifier: Apache-2.0

package grouping

// This file holds the hash codes that Java gives to the values of a tuple.

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/gust-stream/gust/tuple"
)

// hash is the hashCode of what Java makes of a value, for byte slices that of Arrays. Values of types that tuples between Java and Go
// do not carry have the hash of their text.
func hash(v any) int32 {
	switch v := v.(type) {
	case string:
		return hashString(v)
	case int64:
		return hashLong(v)
	case int:
		return hashLong(int64(v))
	case nil:
		return 0
	case bool:
		if v {
			return 1231
		}
		return 1237
	case float64:
		return hashDouble(v)
	case int32:
		return v
	case []byte:
		h := int32(1)
		for _, b := range v {
			h = 31*h + int32(int8(b))
		}
		return h
	case []any:
		h := int32(1)
		for _, element := range v {
			h = 31*h + hash(element)
		}
		return h
	}
	return hashRare(v)
}

func hashRare(v any) int32 {
	var h int32
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			h += hashString(key) ^ hash(value)
		}
	case map[any]any:
		for key, value := range v {
			h += hash(key) ^ hash(value)
		}
	case tuple.Set:
		for _, element := range v {
			h += hash(element)
		}
	case float32:
		if math.IsNaN(float64(v)) {
			return 0x7fc00000
		}
		return int32(math.Float32bits(v))
	case int16:
		return int32(v)
	case int8:
		return int32(v)
	case tuple.Char:
		return int32(v)
	case uint8:
		return int32(v)
	case uint16:
		return int32(v)
	case uint32:
		return hashLong(int64(v))
	case uint:
		return hashUnsigned(uint64(v))
	case uint64:
		return hashUnsigned(v)
	case *big.Int:
		return hashBig(v)
	default:
		return hashOther(reflect.ValueOf(v))
	}
	return h
}

// hashOther is for types that only linked components emit: lists and maps of one type, and types of their own.
func hashOther(v reflect.Value) int32 {
	h := int32(1)
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			h = 31*h + hash(v.Index(i).Interface())
		}
		return h
	case reflect.Map:
		h = 0
		for entries := v.MapRange(); entries.Next(); {
			h += hash(entries.Key().Interface()) ^ hash(entries.Value().Interface())
		}
		return h
	default:
		return hashString(fmt.Sprint(v.Interface()))
	}
}

func hashLong(v int64) int32 { return int32(v) ^ int32(v>>32) }

func hashDouble(v float64) int32 {
	if math.IsNaN(v) {
		return 0x7ff80000
	}
	return hashLong(int64(math.Float64bits(v)))
}

// hashUnsigned is the hash of a Long, or of a BigInteger above its range.
func hashUnsigned(v uint64) int32 {
	if v <= math.MaxInt64 {
		return hashLong(int64(v))
	}
	return 31*int32(v>>32) + int32(v)
}

// hashBig goes over the magnitude by 32 bits, the highest first.
func hashBig(v *big.Int) int32 {
	if v == nil {
		return 0
	}
	var h int32
	for _, word := range slices.Backward(v.Bits()) {
		h = 31*h + int32(uint64(word)>>32)
		h = 31*h + int32(word)
	}
	return h * int32(v.Sign())
}

// Powers of 31, for eight characters at once.
const (
	p2 = 31 * 31
	p3 = p2 * 31
	p4 = p3 * 31
	p5 = p4 * 31
	p6 = p5 * 31
	p7 = p6 * 31 % (1 << 32)
	p8 = p7 * 31 % (1 << 32)

	high = 0x8080808080808080
)

// hashString goes over the units of UTF-16. Most strings are ASCII, where they are the bytes.
func hashString(s string) int32 {
	var h, seen uint32
	for ; len(s) >= 8; s = s[8:] {
		a, b := s[:4], s[4:8]
		if word(s)&high != 0 {
			return hashUnits(h, s)
		}
		h = h*p8 + uint32(a[0])*p7 + uint32(a[1])*p6 + uint32(a[2])*p5 + uint32(a[3])*p4 +
			uint32(b[0])*p3 + uint32(b[1])*p2 + uint32(b[2])*31 + uint32(b[3])
	}
	before := h
	for i := range len(s) {
		h = h*31 + uint32(s[i])
		seen |= uint32(s[i])
	}
	if seen >= utf8.RuneSelf {
		return hashUnits(before, s)
	}
	return int32(h)
}

// word is the first eight bytes; the compiler makes one load of it.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// hashUnits goes on with a string that is not all ASCII. A surrogate that has no partner has three bytes, as in CESU-8 and WTF-8; other bytes
// that are no UTF-8 count as U+FFFD each.
func hashUnits(h uint32, s string) int32 {
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 && isSurrogate(s) {
			r, size = 0xD000|rune(s[1]&0x3F)<<6|rune(s[2]&0x3F), 3
		}
		s = s[size:]
		if r > 0xFFFF {
			r -= 0x10000
			h = h*31 + uint32(0xD800+r>>10)
			r = 0xDC00 + r&0x3FF
		}
		h = h*31 + uint32(r)
	}
	return int32(h)
}

func isSurrogate(s string) bool {
	return len(s) >= 3 && s[0] == 0xED && s[1]&0xE0 == 0xA0 && s[2]&0xC0 == 0x80
}
