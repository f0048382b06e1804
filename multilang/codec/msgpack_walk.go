// SPDX-License-Identifier: Apache-2.0

package codec

// This file reads msgpack.

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"unicode/utf8"
)

// class is what a first byte of msgpack begins.
type class byte

const (
	classNil class = iota
	classBool
	classInt
	classUint
	classFloat
	classText
	classBytes
	classList
	classMap
	classExt
	classNone // the byte that msgpack leaves out
)

// head is the beginning of a value: its class, how many bytes the length (or the number) takes behind the first byte, and the
// length or number itself if the first byte holds it.
type head struct {
	class class
	bytes int
	n     int64
}

// headOf reads a first byte.
func headOf(c byte) head {
	switch {
	case c <= 0x7F:
		return head{classInt, 0, int64(c)}
	case c <= 0x8F:
		return head{classMap, 0, int64(c & 0x0F)}
	case c <= 0x9F:
		return head{classList, 0, int64(c & 0x0F)}
	case c <= 0xBF:
		return head{classText, 0, int64(c & 0x1F)}
	case c >= 0xE0:
		return head{classInt, 0, int64(int8(c))}
	}
	switch c {
	case 0xC0:
		return head{classNil, 0, 0}
	case 0xC2, 0xC3:
		return head{classBool, 0, int64(c & 1)}
	case 0xC4, 0xC5, 0xC6:
		return head{classBytes, 1 << (c - 0xC4), 0}
	case 0xC7, 0xC8, 0xC9:
		return head{classExt, 1 << (c - 0xC7), 0}
	case 0xCA, 0xCB:
		return head{classFloat, 4 << (c - 0xCA), 0}
	case 0xCC, 0xCD, 0xCE, 0xCF:
		return head{classUint, 1 << (c - 0xCC), 0}
	case 0xD0, 0xD1, 0xD2, 0xD3:
		return head{classInt, 1 << (c - 0xD0), 0}
	case 0xD4, 0xD5, 0xD6, 0xD7, 0xD8:
		return head{classExt, 0, 1 << (c - 0xD4)}
	case 0xD9, 0xDA, 0xDB:
		return head{classText, 1 << (c - 0xD9), 0}
	case 0xDC, 0xDD:
		return head{classList, 2 << (c - 0xDC), 0}
	case 0xDE, 0xDF:
		return head{classMap, 2 << (c - 0xDE), 0}
	}
	return head{classNone, 0, 0}
}

// bigEndian reads 1, 2, 4 or 8 bytes.
func bigEndian(b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.BigEndian.Uint16(b))
	case 4:
		return uint64(binary.BigEndian.Uint32(b))
	default:
		return binary.BigEndian.Uint64(b)
	}
}

// payload is how many bytes of its own and how many values a value has behind its head.
func (h head) payload(n int64) (size, values int64) {
	switch h.class {
	case classText, classBytes:
		return n, 0
	case classExt:
		return n + 1, 0
	case classList:
		return 0, n
	case classMap:
		return 0, 2 * n
	default:
		return 0, 0
	}
}

type msgpackWalker struct {
	raw  []byte
	at   int
	left []int64 // how many elements or entries the open lists and maps still have
	bad  *BadTextError
	// narrow: an integer that fits is an int32
	narrow bool
}

func (w *msgpackWalker) Reset(raw []byte) {
	w.raw, w.at, w.left, w.bad = raw, 0, w.left[:0], nil
}

func (w *msgpackWalker) fault(reason string) error {
	return &SyntaxError{Msgpack, w.at, reason}
}

func (w *msgpackWalker) Peek() Kind {
	if w.at >= len(w.raw) {
		return Other
	}
	switch headOf(w.raw[w.at]).class {
	case classText:
		return Text
	case classInt, classUint, classFloat:
		return Number
	case classList:
		return List
	case classMap:
		return Map
	default:
		return Other
	}
}

// head reads the beginning of a value: its length or its number's bits.
func (w *msgpackWalker) head() (head, uint64, error) {
	if w.at >= len(w.raw) {
		return head{}, 0, w.fault("nothing")
	}
	h := headOf(w.raw[w.at])
	if h.class == classNone {
		return h, 0, w.fault("a byte that msgpack does not have")
	}
	if len(w.raw)-w.at-1 < h.bytes {
		return h, 0, w.fault("half a value")
	}
	w.at++
	if h.bytes == 0 {
		return h, uint64(h.n), nil
	}
	n := bigEndian(w.raw[w.at : w.at+h.bytes])
	w.at += h.bytes
	return h, n, nil
}

// take gives the next n bytes.
func (w *msgpackWalker) take(n uint64) ([]byte, error) {
	if uint64(len(w.raw)-w.at) < n {
		return nil, w.fault("half a value")
	}
	b := w.raw[w.at : w.at+int(n)]
	w.at += int(n)
	return b, nil
}

func (w *msgpackWalker) enter(want class, what string) error {
	from := w.at
	h, n, err := w.head()
	if err != nil {
		return err
	}
	if h.class != want {
		w.at = from
		return w.fault("no " + what)
	}
	if len(w.left) >= maxDepth {
		return w.fault(fmt.Sprintf("lists and maps more than %d deep", maxDepth))
	}
	if _, values := h.payload(int64(n)); values > int64(len(w.raw)-w.at) { // each takes a byte or more
		return w.fault("half a value")
	}
	w.left = append(w.left, int64(n))
	return nil
}

func (w *msgpackWalker) Map() error  { return w.enter(classMap, "map") }
func (w *msgpackWalker) List() error { return w.enter(classList, "list") }

func (w *msgpackWalker) More() (bool, error) {
	last := len(w.left) - 1
	if w.left[last] == 0 {
		w.left = w.left[:last]
		return false, nil
	}
	w.left[last]--
	return true, nil
}

func (w *msgpackWalker) Key() ([]byte, error) {
	ok, err := w.More()
	if !ok || err != nil {
		return nil, err
	}
	return w.Text()
}

func (w *msgpackWalker) End() error {
	if w.at < len(w.raw) {
		return w.fault("something after the value")
	}
	return nil
}

func (w *msgpackWalker) Bad() error {
	if w.bad == nil {
		return nil
	}
	return w.bad
}

func (w *msgpackWalker) Text() ([]byte, error) {
	from := w.at
	h, n, err := w.head()
	if err != nil {
		return nil, err
	}
	if h.class != classText {
		w.at = from
		return nil, w.fault("no string")
	}
	return w.text(n)
}

func (w *msgpackWalker) text(n uint64) ([]byte, error) {
	text, err := w.take(n)
	if err != nil || utf8.Valid(text) {
		return text, err
	}
	if w.bad == nil {
		w.bad = badText(text)
	}
	return bytes.ToValidUTF8(text, []byte("\uFFFD")), nil
}

func (w *msgpackWalker) Value() (any, error) {
	from := w.at
	h, n, err := w.head()
	if err != nil {
		return nil, err
	}
	switch h.class {
	case classNil:
		return nil, nil
	case classBool:
		return n == 1, nil
	case classInt:
		return sized(signed(n, h.bytes), w.narrow), nil
	case classUint:
		if n > math.MaxInt64 {
			return new(big.Int).SetUint64(n), nil
		}
		return sized(int64(n), w.narrow), nil
	case classFloat:
		if h.bytes == 4 {
			return float64(math.Float32frombits(uint32(n))), nil
		}
		return math.Float64frombits(n), nil
	case classText:
		text, err := w.text(n)
		return string(text), err
	case classBytes:
		b, err := w.take(n)
		return bytes.Clone(b), err
	case classList:
		w.at = from
		return w.list()
	case classMap:
		w.at = from
		return w.object()
	default:
		w.at = from
		return nil, w.fault("an extension type")
	}
}

func (w *msgpackWalker) Stock() (any, error) {
	w.narrow = true
	v, err := w.Value()
	w.narrow = false
	return v, err
}

func signed(n uint64, size int) int64 {
	switch size {
	case 1:
		return int64(int8(n))
	case 2:
		return int64(int16(n))
	case 4:
		return int64(int32(n))
	default: // eight bytes, or a number out of the first byte
		return int64(n)
	}
}

func (w *msgpackWalker) list() (any, error) {
	if err := w.List(); err != nil {
		return nil, err
	}
	list := make([]any, 0, min(w.left[len(w.left)-1], 64))
	for {
		if ok, _ := w.More(); !ok {
			return list, nil
		}
		v, err := w.Value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
}

// object reads a map: by strings if all keys are, else by whatever they are.
func (w *msgpackWalker) object() (any, error) {
	if err := w.Map(); err != nil {
		return nil, err
	}
	named := map[string]any{}
	var mixed map[any]any
	for {
		if ok, _ := w.More(); !ok {
			break
		}
		key, err := w.Value()
		if err != nil {
			return nil, err
		}
		v, err := w.Value()
		if err != nil {
			return nil, err
		}
		if name, ok := key.(string); ok && mixed == nil {
			named[name] = v
			continue
		}
		switch key.(type) {
		case nil, bool, int32, int64, float64, string:
		default:
			return nil, w.fault(fmt.Sprintf("a map with a key of type %T", key))
		}
		if mixed == nil {
			mixed = make(map[any]any, len(named)+1)
			for name, v := range named {
				mixed[name] = v
			}
		}
		mixed[key] = v
	}
	if mixed != nil {
		return mixed, nil
	}
	return named, nil
}

// Skip needs no recursion: it counts the values that are still to come.
func (w *msgpackWalker) Skip() error {
	for left := int64(1); left > 0; left-- {
		h, n, err := w.head()
		if err != nil {
			return err
		}
		size, values := h.payload(int64(n))
		if _, err := w.take(uint64(size)); err != nil {
			return err
		}
		left += values
	}
	return nil
}
