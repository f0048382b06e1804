// SPDX-License-Identifier: Apache-2.0

package component

// This file reads fields whichever way a tuple came: JSON knows only one kind of integer, and no bytes.

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"

	"github.com/gust-stream/gust/tuple"
)

// Get is the value of a field as a T as it came, but an int32 is an int64 too. An integer out of a pipe is an int64 and another number a
// float64; a linked component sees the small integers of other children and of Java as int32. String, Int, Float, Bool, Bytes, List and
// Map take whatever holds the same value.
func Get[T any](t *Tuple, field string) (T, error) { return tuple.Get[T](t, field) }

// String is a field's text.
func String(t *Tuple, field string) (string, error) { return Get[string](t, field) }

// Bool is a field's truth.
func Bool(t *Tuple, field string) (bool, error) { return Get[bool](t, field) }

// List is a field's list.
func List(t *Tuple, field string) ([]any, error) { return Get[[]any](t, field) }

// Map is a field's map.
func Map(t *Tuple, field string) (map[string]any, error) { return Get[map[string]any](t, field) }

// Int is a field's whole number: of any integer type, or a float that is whole.
func Int(t *Tuple, field string) (int64, error) {
	v, ok := t.Value(field)
	if !ok {
		return Get[int64](t, field) // for its error
	}
	if n, ok := integer(v); ok {
		return n, nil
	}
	if f, ok := float(v); ok {
		// 2^63 is a float64, 2^63-1 is not.
		if f == math.Trunc(f) && f >= -1<<63 && f < 1<<63 {
			return int64(f), nil
		}
		return 0, fmt.Errorf("tuple of %s, stream %s: field %q is %v, not a whole number", t.Component, t.Stream, field, f)
	}
	return Get[int64](t, field)
}

// Float is a field's number: of any type of numbers.
func Float(t *Tuple, field string) (float64, error) {
	v, ok := t.Value(field)
	if !ok {
		return Get[float64](t, field) // for its error
	}
	if f, ok := float(v); ok {
		return f, nil
	}
	if n, ok := integer(v); ok {
		return float64(n), nil
	}
	switch n := v.(type) { // integers beyond int64
	case uint64:
		return float64(n), nil
	case uint:
		return float64(n), nil
	case *big.Int:
		near, _ := n.Float64()
		return near, nil
	}
	return Get[float64](t, field)
}

// Bytes is a field's bytes: bytes, or the base64 text that a pipe makes of them.
func Bytes(t *Tuple, field string) ([]byte, error) {
	v, _ := t.Value(field)
	text, ok := v.(string)
	if !ok {
		return Get[[]byte](t, field)
	}
	out, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("tuple of %s, stream %s: field %q is no base64: %w", t.Component, t.Stream, field, err)
	}
	return out, nil
}

func integer(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case int:
		return int64(n), true
	case int32:
		return int64(n), true
	case int16:
		return int64(n), true
	case int8:
		return int64(n), true
	case uint8:
		return int64(n), true
	case uint16:
		return int64(n), true
	case uint32:
		return int64(n), true
	case uint64:
		return int64(n), n <= math.MaxInt64
	case uint:
		return int64(n), n <= math.MaxInt64
	}
	return 0, false
}

func float(v any) (float64, bool) {
	switch f := v.(type) {
	case float64:
		return f, true
	case float32:
		return float64(f), true
	}
	return 0, false
}
