// SPDX-License-Identifier: Apache-2.0

package codec

// This file reads JSON, strictly but for NaN, Infinity and control characters in strings, which children write and Storm takes.

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

type jsonWalker struct {
	raw     []byte
	at      int
	depth   int
	fresh   bool // a list or map was just entered: no comma yet
	narrow  bool // an integer that fits is an int32
	bad     *BadTextError
	scratch []byte
}

func (w *jsonWalker) Reset(raw []byte) {
	w.raw, w.at, w.depth, w.fresh, w.bad = raw, 0, 0, false, nil
}

func (w *jsonWalker) fault(reason string) error {
	return &SyntaxError{JSON, w.at, reason}
}

func (w *jsonWalker) space() byte {
	for w.at < len(w.raw) {
		c := w.raw[w.at]
		if c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c
		}
		w.at++
	}
	return 0
}

func (w *jsonWalker) Peek() Kind {
	c := w.space()
	switch {
	case c == '"':
		return Text
	case c == '[':
		return List
	case c == '{':
		return Map
	case c == '-' || c >= '0' && c <= '9' || c == 'N' || c == 'I':
		return Number
	default:
		return Other
	}
}

func (w *jsonWalker) enter(open byte, what string) error {
	if w.space() != open || w.at >= len(w.raw) {
		return w.fault("no " + what)
	}
	if w.depth >= maxDepth {
		return w.fault(fmt.Sprintf("lists and maps more than %d deep", maxDepth))
	}
	w.depth++
	w.at++
	w.fresh = true
	return nil
}

func (w *jsonWalker) Map() error  { return w.enter('{', "object") }
func (w *jsonWalker) List() error { return w.enter('[', "list") }

// more steps over a comma, or over the closing bracket.
func (w *jsonWalker) more(closing byte) (bool, error) {
	c := w.space()
	if c == closing {
		w.at++
		w.depth--
		w.fresh = false
		return false, nil
	}
	if !w.fresh {
		if c != ',' {
			return false, w.fault("no comma and no " + string(closing))
		}
		w.at++
		w.space()
	}
	w.fresh = false
	return true, nil
}

func (w *jsonWalker) More() (bool, error) { return w.more(']') }

func (w *jsonWalker) Key() ([]byte, error) {
	ok, err := w.more('}')
	if !ok || err != nil {
		return nil, err
	}
	key, err := w.Text()
	if err != nil {
		return nil, err
	}
	if w.space() != ':' {
		return nil, w.fault("no colon after a key")
	}
	w.at++
	if key == nil {
		key = []byte{}
	}
	return key, nil
}

func (w *jsonWalker) End() error {
	w.space()
	if w.at < len(w.raw) {
		return w.fault("something after the value")
	}
	return nil
}

func (w *jsonWalker) Bad() error {
	if w.bad == nil {
		return nil
	}
	return w.bad
}

func (w *jsonWalker) Text() ([]byte, error) {
	if w.space() != '"' {
		return nil, w.fault("no string")
	}
	from := w.at + 1
	ascii := true
	for i := from; i < len(w.raw); i++ {
		switch c := w.raw[i]; {
		case c == '"':
			w.at = i + 1
			text := w.raw[from:i]
			if !ascii {
				text = w.valid(text)
			}
			return text, nil
		case c == '\\':
			return w.escaped(from, i)
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, w.fault("no end of a string")
}

// valid gives text that is UTF-8, and remembers if it was not.
func (w *jsonWalker) valid(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	if w.bad == nil {
		w.bad = badText(text)
	}
	return bytes.ToValidUTF8(text, []byte("\uFFFD"))
}

// escaped reads a string whose first backslash is at i.
func (w *jsonWalker) escaped(from, i int) ([]byte, error) {
	out := w.scratch[:0]
	plain := from // where text begins that goes over as it is
	for i < len(w.raw) {
		c := w.raw[i]
		if c != '"' && c != '\\' {
			i++
			continue
		}
		if i > plain {
			out = append(out, w.valid(w.raw[plain:i])...)
		}
		if c == '"' {
			w.at = i + 1
			w.scratch = out
			return out, nil
		}
		if i+1 >= len(w.raw) {
			break
		}
		var err error
		if out, i, err = w.escape(out, i+1); err != nil {
			return nil, err
		}
		plain = i
	}
	return nil, w.fault("no end of a string")
}

// escape reads what follows a backslash, and gives where text goes on.
func (w *jsonWalker) escape(out []byte, i int) ([]byte, int, error) {
	switch c := w.raw[i]; c {
	case '"', '\\', '/':
		return append(out, c), i + 1, nil
	case 'b':
		return append(out, '\b'), i + 1, nil
	case 'f':
		return append(out, '\f'), i + 1, nil
	case 'n':
		return append(out, '\n'), i + 1, nil
	case 'r':
		return append(out, '\r'), i + 1, nil
	case 't':
		return append(out, '\t'), i + 1, nil
	case 'u':
		unit, ok := hexUnit(w.raw, i+1)
		if !ok {
			break
		}
		i += 5
		r := rune(unit)
		if !utf16.IsSurrogate(r) {
			return utf8.AppendRune(out, r), i, nil
		}
		if i+1 < len(w.raw) && w.raw[i] == '\\' && w.raw[i+1] == 'u' {
			if second, ok := hexUnit(w.raw, i+2); ok {
				if pair := utf16.DecodeRune(r, rune(second)); pair != utf8.RuneError {
					return utf8.AppendRune(out, pair), i + 6, nil
				}
			}
		}
		return appendUnit(out, unit), i, nil
	}
	w.at = i
	return nil, 0, w.fault("an escape that JSON does not have")
}

func hexUnit(raw []byte, at int) (uint16, bool) {
	if at+4 > len(raw) {
		return 0, false
	}
	var unit uint16
	for _, c := range raw[at : at+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		unit = unit<<4 | uint16(c)
	}
	return unit, true
}

func (w *jsonWalker) Value() (any, error) {
	c := w.space()
	if w.at >= len(w.raw) {
		return nil, w.fault("nothing")
	}
	switch c {
	case '"':
		text, err := w.Text()
		if err != nil {
			return nil, err
		}
		return string(text), nil
	case '[':
		return w.list()
	case '{':
		return w.object()
	case 't':
		return true, w.word("true")
	case 'f':
		return false, w.word("false")
	case 'n':
		return nil, w.word("null")
	case 'N':
		return math.NaN(), w.word("NaN")
	case 'I':
		return math.Inf(1), w.word("Infinity")
	default:
		return w.number()
	}
}

func (w *jsonWalker) Stock() (any, error) {
	w.narrow = true
	v, err := w.Value()
	w.narrow = false
	return v, err
}

func (w *jsonWalker) word(word string) error {
	if len(w.raw)-w.at < len(word) || string(w.raw[w.at:w.at+len(word)]) != word {
		return w.fault("no value")
	}
	w.at += len(word)
	return nil
}

func (w *jsonWalker) list() (any, error) {
	if err := w.List(); err != nil {
		return nil, err
	}
	list := []any{}
	for {
		ok, err := w.More()
		if err != nil {
			return nil, err
		}
		if !ok {
			return list, nil
		}
		v, err := w.Value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
}

func (w *jsonWalker) object() (any, error) {
	if err := w.Map(); err != nil {
		return nil, err
	}
	object := map[string]any{}
	for {
		key, err := w.Key()
		if err != nil {
			return nil, err
		}
		if key == nil {
			return object, nil
		}
		name := string(key)
		v, err := w.Value()
		if err != nil {
			return nil, err
		}
		object[name] = v
	}
}

// number reads a number, by JSON's grammar.
func (w *jsonWalker) number() (any, error) {
	from := w.at
	i := from
	negative := i < len(w.raw) && w.raw[i] == '-'
	if negative {
		i++
		if i < len(w.raw) && w.raw[i] == 'I' {
			w.at = i
			return math.Inf(-1), w.word("Infinity")
		}
	}
	digits := i
	var n uint64
	for i < len(w.raw) && w.raw[i] >= '0' && w.raw[i] <= '9' {
		n = n*10 + uint64(w.raw[i]-'0')
		i++
	}
	if i == digits || i-digits > 1 && w.raw[digits] == '0' {
		return nil, w.fault("no value")
	}
	whole := i
	if i < len(w.raw) && (w.raw[i] == '.' || w.raw[i]|0x20 == 'e') {
		return w.float(from, i)
	}
	w.at = whole
	switch {
	case whole-digits <= 18:
		v := int64(n)
		if negative {
			v = -v
		}
		return sized(v, w.narrow), nil
	case whole-digits > maxDigits:
		w.at = from
		return nil, w.fault(fmt.Sprintf("an integer of more than %d digits", maxDigits))
	}
	if v, err := strconv.ParseInt(string(w.raw[from:whole]), 10, 64); err == nil {
		return v, nil
	}
	v, _ := new(big.Int).SetString(string(w.raw[from:whole]), 10)
	return v, nil
}

// float reads the rest of a number behind its first digits.
func (w *jsonWalker) float(from, i int) (any, error) {
	digits := func() bool {
		start := i
		for i < len(w.raw) && w.raw[i] >= '0' && w.raw[i] <= '9' {
			i++
		}
		return i > start
	}
	if w.raw[i] == '.' {
		i++
		if !digits() {
			return nil, w.fault("no digit after a point")
		}
	}
	if i < len(w.raw) && w.raw[i]|0x20 == 'e' {
		i++
		if i < len(w.raw) && (w.raw[i] == '+' || w.raw[i] == '-') {
			i++
		}
		if !digits() {
			return nil, w.fault("no digit in an exponent")
		}
	}
	v, err := strconv.ParseFloat(string(w.raw[from:i]), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // beyond the range is infinity, as in Java and Python
		return nil, w.fault("no number")
	}
	w.at = i
	return v, nil
}

func (w *jsonWalker) Skip() error {
	switch w.Peek() {
	case Text:
		_, err := w.Text()
		return err
	default:
		_, err := w.Value()
		return err
	}
}
