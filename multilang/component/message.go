// SPDX-License-Identifier: Apache-2.0

package component

// This file writes what a child sends.

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// message is one message of a child, its keys in order.
type message []entry

type entry struct {
	key   string
	value any
}

func (m message) appendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, '{')
	for i, e := range m {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(quote(dst, e.key), ':')
		var err error
		if dst, err = appendJSON(dst, e.value); err != nil {
			return nil, fmt.Errorf("encode %q: %w", e.key, err)
		}
	}
	return append(dst, '}'), nil
}

// appendJSON writes a value. A float keeps its point, so that the parent does not take it for an integer; bytes become base64.
func appendJSON(dst []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case string:
		return quote(dst, v), nil
	case []byte:
		return append(base64.StdEncoding.AppendEncode(append(dst, '"'), v), '"'), nil
	case uint64: // the only integers beyond int64
		return strconv.AppendUint(dst, v, 10), nil
	case uint:
		return strconv.AppendUint(dst, uint64(v), 10), nil
	case float32:
		return appendFloat(dst, float64(v), 32)
	case float64:
		return appendFloat(dst, v, 64)
	case []any:
		return appendList(dst, v)
	case []string:
		return appendList(dst, v)
	case map[string]any:
		return appendMap(dst, v)
	}
	if n, ok := integer(value); ok {
		return strconv.AppendInt(dst, n, 10), nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return append(dst, text...), nil
}

func appendFloat(dst []byte, f float64, bits int) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("JSON has no %v", f)
	}
	before := len(dst)
	dst = strconv.AppendFloat(dst, f, 'g', -1, bits)
	if !slices.ContainsFunc(dst[before:], func(c byte) bool { return c == '.' || c == 'e' }) {
		dst = append(dst, ".0"...)
	}
	return dst, nil
}

func appendList[T any](dst []byte, list []T) ([]byte, error) {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendJSON(dst, list[i]); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendMap(dst []byte, m map[string]any) ([]byte, error) {
	dst = append(dst, '{')
	first := true
	for k, v := range m {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(quote(dst, k), ':')
		var err error
		if dst, err = appendJSON(dst, v); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// quote writes a string. Bytes that are no UTF-8 become the replacement character each.
func quote(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i]...), "\ufffd"...)
				start = i + 1
			}
			i += size
			continue
		case c == '"' || c == '\\':
			dst = append(append(dst, s[start:i]...), '\\', c)
			start = i + 1
		case c < ' ':
			dst = append(append(dst, s[start:i]...), '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			start = i + 1
		}
		i++
	}
	return append(append(dst, s[start:]...), '"')
}
