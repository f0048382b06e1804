// SPDX-License-Identifier: Apache-2.0

package javaobject

// This file decodes Java's own form of UTF-8.

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// text decodes modified UTF-8: NUL takes two bytes, and what UTF-16 needs a pair for takes three bytes for each half.
func text(b []byte) (string, error) {
	var out strings.Builder
	var high rune // the first half of a pair
	for len(b) > 0 {
		var unit rune
		size := 0
		switch c := b[0]; {
		case c&0x80 == 0:
			unit, size = rune(c), 1
		case c&0xe0 == 0xc0 && len(b) >= 2 && b[1]&0xc0 == 0x80:
			unit, size = rune(c&0x1f)<<6|rune(b[1]&0x3f), 2
		case c&0xf0 == 0xe0 && len(b) >= 3 && b[1]&0xc0 == 0x80 && b[2]&0xc0 == 0x80:
			unit, size = rune(c&0x0f)<<12|rune(b[1]&0x3f)<<6|rune(b[2]&0x3f), 3
		default:
			return "", malformed("a string that is none")
		}
		b = b[size:]
		switch {
		case high != 0:
			pair := utf16.DecodeRune(high, unit)
			if pair == utf8.RuneError {
				return "", malformed("a string with half a character")
			}
			out.WriteRune(pair)
			high = 0
		case utf16.IsSurrogate(unit):
			high = unit
		default:
			out.WriteRune(unit)
		}
	}
	if high != 0 {
		return "", malformed("a string with half a character")
	}
	return out.String(), nil
}
