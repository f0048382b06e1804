// SPDX-License-Identifier: Apache-2.0

package native

// This file writes and reads values. A byte says what follows; small integers and the lengths of short strings are in it.

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/gust-stream/gust/messaging/frame"
	"github.com/gust-stream/gust/messaging/kryo"
)

// The first byte of a value.
const (
	tagNil     = 0x00
	tagFalse   = 0x01
	tagTrue    = 0x02
	tagVarint  = 0x03 // int64, zigzag
	tagFixed   = 0x04 // int64, eight bytes
	tagFloat64 = 0x05
	tagString  = 0x06 // a length and bytes
	tagBytes   = 0x07
	tagList    = 0x08 // a count and values
	tagMap     = 0x09 // a count, then a string and a value each
	tagInt     = 0x0A // Go's int, zigzag
	tagInt32   = 0x0B // zigzag
	tagFloat32 = 0x0C
	tagKryo    = 0x0D // a length and a value as Kryo has it: all other types
	tagShort   = 0x40 // a string of up to 63 bytes
	tagSmall   = 0x80 // an int64 from 0 to 127
)

const (
	maxShort = tagSmall - tagShort - 1
	maxSmall = 0x7F
	maxDepth = 100
	// maxElements bounds the elements of all lists and maps of a frame: one takes a byte there, and a hundred where it is read.
	maxElements = 1 << 22
	// An integer of more bits than this takes no more as eight bytes than as a varint.
	varintBits = 55
)

var errTooDeep = fmt.Errorf("%w: values hold one another more than %d deep", frame.ErrMalformed, maxDepth)

func appendValue(b []byte, v any, depth int) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return appendString(b, v), nil
	case int64:
		return appendInt64(b, v), nil
	case float64:
		return binary.LittleEndian.AppendUint64(append(b, tagFloat64), math.Float64bits(v)), nil
	case bool:
		if v {
			return append(b, tagTrue), nil
		}
		return append(b, tagFalse), nil
	case nil:
		return append(b, tagNil), nil
	case int:
		return appendZigzag(append(b, tagInt), int64(v)), nil
	case int32:
		return appendZigzag(append(b, tagInt32), int64(v)), nil
	case float32:
		return binary.LittleEndian.AppendUint32(append(b, tagFloat32), math.Float32bits(v)), nil
	case []byte:
		return append(binary.AppendUvarint(append(b, tagBytes), uint64(len(v))), v...), nil
	case []any:
		return appendList(b, v, depth-1)
	case map[string]any:
		return appendMap(b, v, depth-1)
	default:
		return appendKryo(b, v)
	}
}

func appendString(b []byte, v string) []byte {
	if len(v) <= maxShort {
		return append(append(b, tagShort|byte(len(v))), v...) //nolint:gosec // bounded above
	}
	return append(binary.AppendUvarint(append(b, tagString), uint64(len(v))), v...)
}

func appendInt64(b []byte, v int64) []byte {
	if v >= 0 && v <= maxSmall {
		return append(b, tagSmall|byte(v))
	}
	if u := zigzag(v); u>>varintBits == 0 {
		return binary.AppendUvarint(append(b, tagVarint), u)
	}
	return binary.LittleEndian.AppendUint64(append(b, tagFixed), uint64(v)) //nolint:gosec // the same bits
}

func appendZigzag(b []byte, v int64) []byte { return binary.AppendUvarint(b, zigzag(v)) }

func zigzag(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) } //nolint:gosec // the same bits

func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) } //nolint:gosec // the same bits

func appendList(b []byte, vs []any, depth int) ([]byte, error) {
	if depth <= 0 {
		return b, errTooDeep
	}
	b = binary.AppendUvarint(append(b, tagList), uint64(len(vs)))
	var err error
	for _, v := range vs {
		if b, err = appendValue(b, v, depth); err != nil {
			return b, err
		}
	}
	return b, nil
}

func appendMap(b []byte, m map[string]any, depth int) ([]byte, error) {
	if depth <= 0 {
		return b, errTooDeep
	}
	b = binary.AppendUvarint(append(b, tagMap), uint64(len(m)))
	var err error
	for k, v := range m {
		b = append(binary.AppendUvarint(b, uint64(len(k))), k...)
		if b, err = appendValue(b, v, depth); err != nil {
			return b, fmt.Errorf("under key %q: %w", k, err)
		}
	}
	return b, nil
}

// appendKryo appends what is rare as Storm's own wire has it. The length comes after it is known, so it has always four bytes.
func appendKryo(b []byte, v any) ([]byte, error) {
	b = append(b, tagKryo, 0, 0, 0, 0)
	start := len(b)
	b, err := kryo.AppendObject(b, v)
	if err != nil {
		return b, err
	}
	binary.LittleEndian.PutUint32(b[start-4:], uint32(len(b)-start)) //nolint:gosec // far smaller
	return b, nil
}

func (d *Decoder) errorf(format string, args ...any) error {
	return fmt.Errorf("%w: byte %d of %d: "+format, append([]any{frame.ErrMalformed, d.at, len(d.buf)}, args...)...)
}

func (d *Decoder) short(what string, need uint64) error {
	return fmt.Errorf("%w: byte %d of %d: %s needs %d bytes: %w", frame.ErrMalformed, d.at, len(d.buf), what, need, io.ErrUnexpectedEOF)
}

func (d *Decoder) uvarint() (uint64, error) {
	if d.at < len(d.buf) && d.buf[d.at] < 0x80 {
		d.at++
		return uint64(d.buf[d.at-1]), nil
	}
	v, n := binary.Uvarint(d.buf[d.at:])
	if n <= 0 {
		return 0, d.short("a varint", 1)
	}
	d.at += n
	return v, nil
}

func (d *Decoder) take(what string, n uint64) ([]byte, error) {
	if n > uint64(len(d.buf)-d.at) { //nolint:gosec // a length
		return nil, d.short(what, n)
	}
	b := d.buf[d.at : d.at+int(n)] //nolint:gosec // bounded above
	d.at += int(n)                 //nolint:gosec // bounded above
	return b, nil
}

// count reads how many elements follow, of a byte at least each, and takes them off what the whole frame can hold. So lists that lie in
// one another cannot each announce all that is left.
func (d *Decoder) count(what string) (int, error) {
	n, err := d.uvarint()
	if err != nil {
		return 0, err
	}
	if n > uint64(len(d.buf)-d.at) { //nolint:gosec // a length
		return 0, d.short(what, n)
	}
	if d.budget -= int(n); d.budget < 0 { //nolint:gosec // bounded above
		return 0, d.errorf("%d more elements than the frame can hold", n)
	}
	return int(n), nil //nolint:gosec // bounded above
}

// list makes room for values that were counted, or that are few.
func (d *Decoder) list(n int) ([]any, error) {
	if n > len(d.buf)-d.at {
		return nil, d.short("a list", uint64(n)) //nolint:gosec // a length
	}
	return make([]any, n), nil
}

func (d *Decoder) value(depth int) (any, error) {
	if d.at >= len(d.buf) {
		return nil, d.short("a value", 1)
	}
	tag := d.buf[d.at]
	d.at++
	switch {
	case tag >= tagSmall:
		return int64(tag & maxSmall), nil
	case tag >= tagShort:
		return d.string(uint64(tag & maxShort))
	}
	switch tag {
	case tagNil:
		return nil, nil
	case tagFalse:
		return false, nil
	case tagTrue:
		return true, nil
	case tagFixed, tagFloat64:
		b, err := d.take("a number", 8)
		if err != nil {
			return nil, err
		}
		if u := binary.LittleEndian.Uint64(b); tag == tagFloat64 {
			return math.Float64frombits(u), nil
		}
		return int64(binary.LittleEndian.Uint64(b)), nil //nolint:gosec // the same bits
	case tagFloat32:
		b, err := d.take("a number", 4)
		if err != nil {
			return nil, err
		}
		return math.Float32frombits(binary.LittleEndian.Uint32(b)), nil
	case tagVarint, tagInt, tagInt32:
		return d.integer(tag)
	case tagString, tagBytes, tagKryo:
		return d.sized(tag)
	case tagList, tagMap:
		return d.nested(tag, depth-1)
	default:
		return nil, d.errorf("a value begins with %#x", tag)
	}
}

func (d *Decoder) integer(tag byte) (any, error) {
	u, err := d.uvarint()
	if err != nil {
		return nil, err
	}
	switch v := unzigzag(u); tag {
	case tagVarint:
		return v, nil
	case tagInt:
		return int(v), nil
	default:
		if v != int64(int32(v)) { //nolint:gosec // that is the question
			return nil, d.errorf("an int32 of %d", v)
		}
		return int32(v), nil //nolint:gosec // checked above
	}
}

func (d *Decoder) string(n uint64) (any, error) {
	b, err := d.take("a string", n)
	if err != nil {
		return nil, err
	}
	return string(b), nil
}

func (d *Decoder) sized(tag byte) (any, error) {
	if tag == tagKryo {
		head, err := d.take("a length", 4)
		if err != nil {
			return nil, err
		}
		b, err := d.take("a value of Kryo", uint64(binary.LittleEndian.Uint32(head)))
		if err != nil {
			return nil, err
		}
		d.kryo.Reset(b)
		v, err := d.kryo.Object()
		if err == nil && d.kryo.Rest() != 0 {
			err = d.errorf("%d bytes after a value of Kryo", d.kryo.Rest())
		}
		return v, err
	}
	n, err := d.uvarint()
	if err != nil {
		return nil, err
	}
	if tag == tagString {
		return d.string(n)
	}
	b, err := d.take("a []byte", n)
	if err != nil {
		return nil, err
	}
	return append(make([]byte, 0, len(b)), b...), nil
}

func (d *Decoder) nested(tag byte, depth int) (any, error) {
	if depth <= 0 {
		return nil, errTooDeep
	}
	n, err := d.count("a list or map")
	if err != nil {
		return nil, err
	}
	if tag == tagList {
		vs, err := d.list(n)
		if err != nil {
			return nil, err
		}
		for i := range vs {
			if vs[i], err = d.value(depth); err != nil {
				return nil, err
			}
		}
		return vs, nil
	}
	m := make(map[string]any, n)
	for range n {
		size, err := d.uvarint()
		if err != nil {
			return nil, err
		}
		k, err := d.take("a key", size)
		if err != nil {
			return nil, err
		}
		v, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		m[string(k)] = v
	}
	return m, nil
}
