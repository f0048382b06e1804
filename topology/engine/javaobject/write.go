// SPDX-License-Identifier: Apache-2.0

package javaobject

// This file writes an object that was read, perhaps with other values, so that Java can read it.

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf16"
)

type writer struct {
	out     []byte
	handles map[any]uint32
	err     error
}

// Write gives the stream of an object. Its classes come from a Read; values are those that [Part] lists, of the types of their fields.
func Write(o *Object) ([]byte, error) {
	w := &writer{out: []byte{0xac, 0xed, 0, 5}, handles: map[any]uint32{}}
	w.value(o)
	return w.out, w.err
}

func (w *writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("write a Java object: "+format, args...)
	}
}

// known writes a reference to what is in the stream already.
func (w *writer) known(v any) bool {
	n, ok := w.handles[v]
	if ok {
		w.out = binary.BigEndian.AppendUint32(append(w.out, tcReference), n)
	}
	return ok
}

func (w *writer) remember(v any) { w.handles[v] = firstHandle + uint32(len(w.handles)) } //nolint:gosec // far below 4 billion

func (w *writer) value(v any) {
	switch x := v.(type) {
	case nil:
		w.out = append(w.out, tcNull)
	case string:
		if w.known(v) {
			return
		}
		w.remember(v)
		b := modified(x)
		if len(b) > math.MaxUint16 {
			w.out = binary.BigEndian.AppendUint64(append(w.out, tcLongString), uint64(len(b)))
		} else {
			w.out = binary.BigEndian.AppendUint16(append(w.out, tcString), uint16(len(b))) //nolint:gosec // it fits
		}
		w.out = append(w.out, b...)
	case *Class:
		if !w.known(v) {
			w.class(x)
		}
	case *Object:
		if w.known(v) {
			return
		}
		w.out = append(w.out, tcObject)
		w.class(x.Class)
		w.remember(v)
		for _, p := range x.Parts {
			w.part(p)
		}
	case *Array:
		if w.known(v) {
			return
		}
		w.out = append(w.out, tcArray)
		w.class(x.Class)
		w.remember(v)
		w.out = binary.BigEndian.AppendUint32(w.out, uint32(len(x.Values))) //nolint:gosec // Java's own bound is lower
		for _, e := range x.Values {
			w.field(x.Class.Name[1], e)
		}
	case *Enum:
		if w.known(v) {
			return
		}
		w.out = append(w.out, tcEnum)
		w.class(x.Class)
		w.remember(v)
		w.value(x.Name)
	default:
		w.fail("a value of type %T", v)
	}
}

func (w *writer) class(c *Class) {
	switch {
	case c == nil:
		w.out = append(w.out, tcNull)
		return
	case w.known(c):
		return
	case c.proxied != nil:
		w.out = append(w.out, tcProxyClass)
		w.remember(c)
		w.out = binary.BigEndian.AppendUint32(w.out, uint32(len(c.proxied))) //nolint:gosec // as it was read
		for _, name := range c.proxied {
			w.name(name)
		}
	default:
		w.out = append(w.out, tcClassDesc)
		w.name(c.Name)
		w.out = append(w.out, c.version[:]...)
		w.remember(c)
		w.out = binary.BigEndian.AppendUint16(append(w.out, c.flags), uint16(len(c.Fields))) //nolint:gosec // as it was read
		for _, f := range c.Fields {
			w.out = append(w.out, f.Type)
			w.name(f.Name)
			if f.class != "" {
				w.value(f.class)
			}
		}
	}
	w.written(c.written)
	w.class(c.Super)
}

func (w *writer) name(s string) {
	b := modified(s)
	if len(b) > math.MaxUint16 {
		w.fail("a name of %d bytes", len(b))
		return
	}
	w.out = append(binary.BigEndian.AppendUint16(w.out, uint16(len(b))), b...) //nolint:gosec // it fits
}

func (w *writer) part(p Part) {
	for _, f := range p.Class.Fields {
		w.field(f.Type, p.Values[f.Name])
	}
	if p.Class.flags&(scWriteMethod|scExternalizable) != 0 {
		w.written(p.Written)
	}
}

func (w *writer) field(kind byte, v any) {
	switch x := v.(type) {
	case int8:
		w.out = append(w.out, byte(x))
	case bool:
		b := byte(0)
		if x {
			b = 1
		}
		w.out = append(w.out, b)
	case uint16:
		w.out = binary.BigEndian.AppendUint16(w.out, x)
	case int16:
		w.out = binary.BigEndian.AppendUint16(w.out, uint16(x)) //nolint:gosec // the same bits
	case int32:
		w.out = binary.BigEndian.AppendUint32(w.out, uint32(x)) //nolint:gosec // the same bits
	case int64:
		w.out = binary.BigEndian.AppendUint64(w.out, uint64(x)) //nolint:gosec // the same bits
	case float32:
		w.out = binary.BigEndian.AppendUint32(w.out, math.Float32bits(x))
	case float64:
		w.out = binary.BigEndian.AppendUint64(w.out, math.Float64bits(x))
	default:
		if kind != 'L' && kind != '[' {
			w.fail("a %T in a field of type %q", v, kind)
			return
		}
		w.value(v)
	}
}

// written writes what a class wrote by itself.
func (w *writer) written(values []any) {
	for _, v := range values {
		block, ok := v.([]byte)
		switch {
		case !ok:
			w.value(v)
		case len(block) > math.MaxUint8:
			w.out = append(binary.BigEndian.AppendUint32(append(w.out, tcBlockLong), uint32(len(block))), block...) //nolint:gosec // as it was read
		default:
			w.out = append(append(w.out, tcBlock, byte(len(block))), block...)
		}
	}
	w.out = append(w.out, tcEndBlock)
}

// modified encodes a string in Java's own form of UTF-8.
func modified(s string) []byte {
	var out []byte
	for _, unit := range utf16.Encode([]rune(s)) {
		switch {
		case unit != 0 && unit < 0x80:
			out = append(out, byte(unit))
		case unit < 0x800:
			out = append(out, 0xc0|byte(unit>>6), 0x80|byte(unit&0x3f))
		default:
			out = append(out, 0xe0|byte(unit>>12), 0x80|byte(unit>>6&0x3f), 0x80|byte(unit&0x3f))
		}
	}
	return out
}
