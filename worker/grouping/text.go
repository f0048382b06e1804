// SPDX-License-Identifier: Apache-2.0

package grouping

// This file writes values as Java's toString does, which is the key of a partial key grouping that names no fields.

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gust-stream/gust/tuple"
)

// appendText appends the UTF-8 of a value's text. Doubles are the shortest text, as Java writes since release 19. Maps and sets are in the
// order of their text, since Java's depends on their history; byte slices are their bytes, since Java's text of them is an address.
func appendText(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case string:
		return appendUTF8(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return appendFloat(b, v, 64)
	case float32:
		return appendFloat(b, float64(v), 32)
	case tuple.Char:
		if v >= 0xD800 && v < 0xE000 {
			return append(b, '?')
		}
		return utf8.AppendRune(b, rune(v))
	case []byte:
		return append(b, v...)
	case []any:
		return appendList(b, v)
	case tuple.Set:
		return appendSorted(b, '[', texts(v), ']')
	case map[string]any:
		var entries []string
		for key, value := range v {
			entries = append(entries, string(appendText(append(appendUTF8(nil, key), '='), value)))
		}
		return appendSorted(b, '{', entries, '}')
	case map[any]any:
		var entries []string
		for key, value := range v {
			entries = append(entries, string(appendText(append(appendText(nil, key), '='), value)))
		}
		return appendSorted(b, '{', entries, '}')
	}
	return fmt.Append(b, v)
}

func appendList(b []byte, list []any) []byte {
	b = append(b, '[')
	for i, element := range list {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendText(b, element)
	}
	return append(b, ']')
}

func texts(values []any) []string {
	var out []string
	for _, v := range values {
		out = append(out, string(appendText(nil, v)))
	}
	return out
}

func appendSorted(b []byte, open byte, texts []string, end byte) []byte {
	slices.Sort(texts)
	return append(append(append(b, open), strings.Join(texts, ", ")...), end)
}

// appendUTF8 appends what Java's getBytes gives: a pair of surrogates becomes one character, and a lone one a question mark.
func appendUTF8(b []byte, s string) []byte {
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r != utf8.RuneError || size != 1 {
			b, s = append(b, s[:size]...), s[size:]
			continue
		}
		if !isSurrogate(s) {
			b, s = utf8.AppendRune(b, r), s[1:]
			continue
		}
		if rest := s[3:]; s[1] < 0xB0 && isSurrogate(rest) && rest[1] >= 0xB0 {
			b = utf8.AppendRune(b, 0x10000+(rune(s[1]&0xF)<<6|rune(s[2]&0x3F))<<10+(rune(rest[1]&0xF)<<6|rune(rest[2]&0x3F)))
			s = s[6:]
			continue
		}
		b, s = append(b, '?'), s[3:]
	}
	return b
}

// appendFloat writes as Java's Double.toString and Float.toString.
func appendFloat(b []byte, v float64, bits int) []byte {
	switch abs := math.Abs(v); {
	case math.IsNaN(v):
		return append(b, "NaN"...)
	case math.IsInf(v, 1):
		return append(b, "Infinity"...)
	case math.IsInf(v, -1):
		return append(b, "-Infinity"...)
	case v == 0 || abs >= 1e-3 && abs < 1e7:
		start := len(b)
		b = strconv.AppendFloat(b, v, 'f', -1, bits)
		if !slices.Contains(b[start:], '.') {
			b = append(b, ".0"...)
		}
		return b
	}
	text := strconv.FormatFloat(v, 'e', -1, bits)
	mantissa, exponent, _ := strings.Cut(text, "e")
	b = append(b, mantissa...)
	if !strings.Contains(mantissa, ".") {
		b = append(b, ".0"...)
	}
	number, _ := strconv.Atoi(exponent) // FormatFloat wrote it
	return strconv.AppendInt(append(b, 'E'), int64(number), 10)
}
