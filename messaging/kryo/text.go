// SPDX-License-Identifier: Apache-2.0

package kryo

// This file writes and reads strings: ASCII, or UTF-16 units of one to three bytes each.

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Kryo writes strings of this many ASCII characters without a length, the last one marked.
const minMarked, maxMarked = 2, 32

// mark is the bit that ends a marked string, and that tells its first byte from a length.
const mark = 0x80

// Half pairs are what CESU-8 can say and UTF-8 cannot.
const surrogateLead, surrogateMin, surrogateMax = 0xED, 0xA0, 0xBF

func appendText(b []byte, s string) []byte {
	if s == "" {
		return append(b, mark|1)
	}
	ascii := true
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	switch {
	case ascii && len(s) >= minMarked && len(s) <= maxMarked:
		b = append(b, s...)
		b[len(b)-1] |= mark
		return b
	case ascii:
		return append(appendFlagged(b, true, len(s)+1), s...)
	default:
		return appendUnits(appendFlagged(b, true, units(s)+1), s)
	}
}

// units counts the UTF-16 units of a string.
func units(s string) int {
	n := 0
	for i := 0; i < len(s); {
		size, halves, _ := next(s[i:])
		i += size
		n += halves
	}
	return n
}

// next looks at the first character: how many bytes it takes, how many UTF-16 units it is, and which rune. A lone surrogate is its
// three bytes; any other byte that is no UTF-8 is U+FFFD.
func next(s string) (size, halves int, r rune) {
	r, size = utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 && isSurrogate(s) {
		return 3, 1, rune(s[0]&0x0F)<<12 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F)
	}
	if r >= 0x10000 {
		return size, 2, r
	}
	return size, 1, r
}

func isSurrogate[T string | []byte](s T) bool {
	return len(s) >= 3 && s[0] == surrogateLead && s[1] >= surrogateMin && s[1] <= surrogateMax && s[2]&0xC0 == 0x80
}

func appendUnits(b []byte, s string) []byte {
	for i := 0; i < len(s); {
		size, halves, r := next(s[i:])
		if halves == 1 {
			b = appendUnit(b, r)
		} else {
			high, low := utf16.EncodeRune(r)
			b = appendUnit(appendUnit(b, high), low)
		}
		i += size
	}
	return b
}

func appendUnit(b []byte, r rune) []byte {
	switch {
	case r < 0x80:
		return append(b, byte(r))
	case r < 0x800:
		return append(b, 0xC0|byte(r>>6), 0x80|byte(r&0x3F))
	default:
		return append(b, 0xE0|byte(r>>12), 0x80|byte(r>>6&0x3F), 0x80|byte(r&0x3F))
	}
}

// text reads a string; ok is false for null.
func (d *Decoder) text() (s string, ok bool, err error) {
	if d.at >= len(d.buf) {
		return "", false, d.short("a string", 1)
	}
	if d.buf[d.at]&mark == 0 {
		return d.marked()
	}
	_, n, err := d.flagged()
	switch {
	case err != nil:
		return "", false, err
	case n == 0:
		return "", false, nil
	}
	n--
	// A unit takes a byte at least.
	if n > len(d.buf)-d.at {
		return "", false, d.short("a string", n)
	}
	for i, c := range d.buf[d.at : d.at+n] {
		if c >= utf8.RuneSelf {
			return d.units(n, i)
		}
	}
	s = string(d.buf[d.at : d.at+n])
	d.at += n
	return s, true, nil
}

func (d *Decoder) marked() (string, bool, error) {
	for i := d.at; i < len(d.buf); i++ {
		if d.buf[i]&mark == 0 {
			continue
		}
		d.scratch = append(d.scratch[:0], d.buf[d.at:i+1]...)
		d.scratch[i-d.at] &^= mark
		d.at = i + 1
		return string(d.scratch), true, nil
	}
	return "", false, d.short("a string", len(d.buf)-d.at+1)
}

// units reads n UTF-16 units, of which the first ascii take one byte each.
func (d *Decoder) units(n, ascii int) (string, bool, error) {
	out := make([]byte, ascii, n+n/2)
	copy(out, d.buf[d.at:])
	d.at += ascii
	for left := n - ascii; left > 0; left-- {
		r, err := d.unit()
		if err != nil {
			return "", false, err
		}
		if utf16.IsSurrogate(r) && left > 1 {
			before := d.at
			low, err := d.unit()
			if err != nil {
				return "", false, err
			}
			if whole := utf16.DecodeRune(r, low); whole != utf8.RuneError {
				out = utf8.AppendRune(out, whole)
				left--
				continue
			}
			d.at = before
		}
		out = appendUnit(out, r)
	}
	return string(out), true, nil
}

func (d *Decoder) unit() (rune, error) {
	if d.at >= len(d.buf) {
		return 0, d.short("a character", 1)
	}
	c := d.buf[d.at]
	size := 1
	switch c >> 4 {
	case 0xC, 0xD:
		size = 2
	case 0xE:
		size = 3
	case 8, 9, 0xA, 0xB, 0xF:
		return 0, d.errorf("a character begins with %#x", c)
	}
	if len(d.buf)-d.at < size {
		return 0, d.short("a character", size)
	}
	b := d.buf[d.at : d.at+size]
	d.at += size
	switch size {
	case 1:
		return rune(c), nil
	case 2:
		return rune(c&0x1F)<<6 | rune(b[1]&0x3F), nil
	default:
		return rune(c&0x0F)<<12 | rune(b[1]&0x3F)<<6 | rune(b[2]&0x3F), nil
	}
}
