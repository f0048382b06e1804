// SPDX-License-Identifier: Apache-2.0

package codec

// This file writes JSON.

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/gust-stream/gust/tuple"
)

func appendJSON(dst []byte, v any, depth int) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case string:
		return appendJSONString(dst, v)
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case float64:
		return appendJSONFloat(dst, v, 64), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int32:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case float32:
		return appendJSONFloat(dst, float64(v), 32), nil
	case []byte:
		dst = append(dst, '"')
		return append(base64.StdEncoding.AppendEncode(dst, v), '"'), nil
	case []any:
		return appendJSONList(dst, v, depth)
	case tuple.Set:
		return appendJSONList(dst, v, depth)
	case map[string]any:
		return appendJSONMap(dst, v, depth)
	case *big.Int:
		if v == nil {
			return append(dst, "null"...), nil
		}
		return v.Append(dst, 10), nil
	case tuple.Char:
		return appendJSONString(dst, charText(v))
	default:
		plain, err := plainValue(JSON, v)
		if err != nil {
			return dst, err
		}
		return appendJSON(dst, plain, depth)
	}
}

func appendJSONList(dst []byte, list []any, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return dst, tooDeep(JSON)
	}
	dst = append(dst, '[')
	var err error
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendJSON(dst, v, depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func appendJSONMap(dst []byte, m map[string]any, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return dst, tooDeep(JSON)
	}
	dst = append(dst, '{')
	var err error
	first := true
	for k, v := range m {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if dst, err = appendJSONString(dst, k); err != nil {
			return dst, err
		}
		dst = append(dst, ':')
		if dst, err = appendJSON(dst, v, depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// appendJSONFloat keeps a float a float for the reader: 1 is written 1.0. NaN and the infinities are written bare, as Python has them
// and Storm writes NaN; Node cannot read them, but null would be another value.
func appendJSONFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, v, 'g', -1, bits)
	if !slices.ContainsFunc(dst[from:], func(c byte) bool { return c == '.' || c == 'e' }) {
		dst = append(dst, ".0"...)
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// plainBytes are those that a JSON string holds as they are, ASCII only.
func plainByte(c byte) bool { return c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\' }

func appendJSONString(dst []byte, s string) ([]byte, error) {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plainByte(c) {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
			unit, ok := surrogate(s[i:])
			if !ok {
				return dst, &UnwritableError{JSON, badText([]byte(s[max(0, i-excerptLength/2):])).Error()}
			}
			dst = append(dst, s[start:i]...)
			dst = append(dst, '\\', 'u', hexDigits[unit>>12], hexDigits[unit>>8&15], hexDigits[unit>>4&15], hexDigits[unit&15])
			i += 3
			start = i
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"'), nil
}

// surrogate is the UTF-16 unit that the three bytes of WTF-8 at the start of s stand for.
func surrogate(s string) (uint16, bool) {
	if len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 || s[1] > 0xBF || s[2]&0xC0 != 0x80 {
		return 0, false
	}
	return 0xD000 | uint16(s[1]&0x3F)<<6 | uint16(s[2]&0x3F), true
}

// appendUnit appends a UTF-16 unit that is half of no pair.
func appendUnit(dst []byte, unit uint16) []byte {
	return append(dst, 0xE0|byte(unit>>12), 0x80|byte(unit>>6&0x3F), 0x80|byte(unit&0x3F))
}

func charText(c tuple.Char) string {
	if c >= 0xD800 && c <= 0xDFFF {
		return string(appendUnit(nil, uint16(c)))
	}
	return string(rune(c))
}

func tooDeep(f Format) error {
	return &UnwritableError{f, fmt.Sprintf("lists and maps more than %d deep", maxDepth)}
}

// plainValue turns the rarer types into those that the writers know.
func plainValue(f Format, v any) (any, error) {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Bool:
		return r.Bool(), nil
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		return r.Int(), nil
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		if r.Uint() > math.MaxInt64 {
			return new(big.Int).SetUint64(r.Uint()), nil
		}
		return int64(r.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return r.Float(), nil
	case reflect.String:
		return r.String(), nil
	case reflect.Slice, reflect.Array:
		list := make([]any, r.Len())
		for i := range list {
			list[i] = r.Index(i).Interface()
		}
		return list, nil
	case reflect.Map:
		return plainMap(f, r)
	default:
		return nil, &UnwritableError{f, fmt.Sprintf("a value of type %T", v)}
	}
}

// plainMap makes text of the keys, as Storm's writer does.
func plainMap(f Format, r reflect.Value) (any, error) {
	m := make(map[string]any, r.Len())
	for it := r.MapRange(); it.Next(); {
		switch k := it.Key().Interface().(type) {
		case nil:
			m["null"] = it.Value().Interface()
		case string:
			m[k] = it.Value().Interface()
		case bool, int, int8, int16, int32, int64, uint8, uint16, uint32, uint64, uint:
			m[fmt.Sprint(k)] = it.Value().Interface()
		case float32:
			m[string(appendJSONFloat(nil, float64(k), 32))] = it.Value().Interface()
		case float64:
			m[string(appendJSONFloat(nil, k, 64))] = it.Value().Interface()
		case tuple.Char:
			m[charText(k)] = it.Value().Interface()
		default:
			return nil, &UnwritableError{f, fmt.Sprintf("a map with a key of type %T", k)}
		}
	}
	return m, nil
}
