// SPDX-License-Identifier: Apache-2.0

package codec

// This file holds the formats and what they have in common.

import "fmt"

// Format is how a message is written.
type Format int

// The formats.
const (
	JSON Format = iota
	Msgpack
)

// String is the format's name in the conf.
func (f Format) String() string {
	if f == Msgpack {
		return "msgpack"
	}
	return "json"
}

const (
	// maxDepth bounds how deep lists and maps may nest, in both directions.
	maxDepth = 512
	// maxDigits bounds the digits of an integer, since reading them takes more than linear time; Python has the same bound.
	maxDigits = 4300
)

// UnwritableError says that a value has no form in a format.
type UnwritableError struct {
	Format Format
	Reason string
}

func (e *UnwritableError) Error() string {
	return fmt.Sprintf("no form in %s for %s", e.Format, e.Reason)
}

// Append writes one value behind dst, without the end of a message. On an error the caller has to forget what was appended.
func Append(dst []byte, f Format, v any) ([]byte, error) {
	if f == Msgpack {
		return appendMsgpack(dst, v, 0)
	}
	return appendJSON(dst, v, 0)
}

// AppendString writes a string as Append does.
func AppendString(dst []byte, f Format, s string) ([]byte, error) {
	if f == Msgpack {
		return appendMsgpackString(dst, s)
	}
	return appendJSONString(dst, s)
}

// End ends a message.
func End(dst []byte, f Format) []byte {
	if f == Msgpack {
		return dst
	}
	return append(dst, "\nend\n"...)
}

// Decode reads one whole message. Values are nil, bool, int64, *big.Int beyond it, float64, string, []any and map[string]any;
// msgpack has []byte too, and map[any]any where a key is not a string. Text that is not UTF-8 is an error.
func Decode(raw []byte, f Format) (any, error) {
	w := NewWalker(f)
	w.Reset(raw)
	v, err := w.Value()
	if err != nil {
		return nil, err
	}
	if err := w.End(); err != nil {
		return nil, err
	}
	return v, w.Bad()
}

// Kind is what kind of value comes next in a message.
type Kind byte

// The kinds; Other is null, booleans, bytes and what is no value at all.
const (
	Other Kind = iota
	Text
	Number
	List
	Map
)

// Walker goes through a message value by value. It is for one goroutine.
type Walker interface {
	// Reset begins a message.
	Reset(raw []byte)
	// Peek says what comes next.
	Peek() Kind
	// Map and List enter one; Key and More then say what follows in it, nil and false at its end, which they leave.
	Map() error
	Key() ([]byte, error)
	List() error
	More() (bool, error)
	// Text reads a string; the bytes are good until the next call.
	Text() ([]byte, error)
	// Value reads any value.
	Value() (any, error)
	// Stock reads any value as Value does, but an integer of 32 bits or less as an int32, in lists and maps too. Storm's own parent makes
	// an Integer of it where the children are unchanged Java's neighbours.
	Stock() (any, error)
	// Skip leaves a value out.
	Skip() error
	// End makes sure that nothing follows.
	End() error
	// Bad is an error if text so far was not UTF-8; it was read with U+FFFD for what is not.
	Bad() error
}

// sized gives an integer its type.
func sized(v int64, narrow bool) any {
	if narrow && v == int64(int32(v)) {
		return int32(v)
	}
	return v
}

// NewWalker makes a walker.
func NewWalker(f Format) Walker {
	if f == Msgpack {
		return &msgpackWalker{}
	}
	return &jsonWalker{}
}

// SyntaxError says where a message is not what its format wants.
type SyntaxError struct {
	Format Format
	Offset int
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not %s: %s at byte %d", e.Format, e.Reason, e.Offset)
}

// BadTextError says that a string is not UTF-8.
type BadTextError struct{ Excerpt string }

func (e *BadTextError) Error() string {
	return fmt.Sprintf("text that is not UTF-8: %q", e.Excerpt)
}

// excerptLength is how much of something bad an error shows.
const excerptLength = 80

func badText(b []byte) *BadTextError {
	return &BadTextError{string(b[:min(len(b), excerptLength)])}
}
