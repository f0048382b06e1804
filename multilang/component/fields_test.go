// SPDX-License-Identifier: Apache-2.0

package component

// This file tests reading fields of any type.

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/tuple"
)

func holding(v any) *Tuple {
	return &Tuple{Source: &tuple.Source{Component: "c", Stream: "s", Fields: []string{"f"}}, Values: []any{v}}
}

func TestInt(t *testing.T) {
	t.Parallel()
	for _, v := range []any{7, int8(7), int16(7), int32(7), int64(7), uint(7), uint8(7), uint16(7), uint32(7), uint64(7), 7.0, float32(7)} {
		if n, err := Int(holding(v), "f"); n != 7 || err != nil {
			t.Errorf("%T: %d, %v", v, n, err)
		}
		if f, err := Float(holding(v), "f"); f != 7 || err != nil {
			t.Errorf("%T: %v, %v", v, f, err)
		}
	}
	for _, v := range []any{uint64(1 << 63), uint(math.MaxUint), float64(1 << 63), 7.5, math.NaN(), math.Inf(1), "7", nil, true, big.NewInt(7)} {
		if n, err := Int(holding(v), "f"); err == nil || !strings.Contains(err.Error(), `tuple of c, stream s: field "f" is`) {
			t.Errorf("%T: %d, %v", v, n, err)
		}
	}
	if n, err := Int(holding(-1.0*(1<<63)), "f"); n != math.MinInt64 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestGetTakesSmallIntegers(t *testing.T) {
	t.Parallel()
	small := holding(int32(-7))
	if n, err := Get[int64](small, "f"); n != -7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := Get[int32](small, "f"); n != -7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if v, err := Get[any](small, "f"); v != int32(-7) || err != nil {
		t.Errorf("%T, %v", v, err)
	}
	if _, err := Get[string](small, "f"); err == nil {
		t.Error("an integer is a text")
	}
}

func TestFloat(t *testing.T) {
	t.Parallel()
	for want, v := range map[float64]any{0.5: 0.5, 1 << 63: uint64(1 << 63), 1 << 70: new(big.Int).Lsh(big.NewInt(1), 70)} {
		if f, err := Float(holding(v), "f"); f != want || err != nil {
			t.Errorf("%T: %v, %v", v, f, err)
		}
	}
	if _, err := Float(holding("1"), "f"); err == nil {
		t.Error("a text is a number")
	}
}

func TestOtherFields(t *testing.T) {
	t.Parallel()
	read := func(v any, read func(*Tuple) (any, error)) string {
		got, err := read(holding(v))
		if err != nil {
			return "error: " + err.Error()
		}
		return fmt.Sprintf("%#v", got)
	}
	asBytes := func(t *Tuple) (any, error) { return Bytes(t, "f") }
	got := []string{
		read([]byte("hi"), asBytes), read("aGk=", asBytes), read("?", asBytes), read(1, asBytes),
		read("é", func(t *Tuple) (any, error) { return String(t, "f") }),
		read(true, func(t *Tuple) (any, error) { return Bool(t, "f") }),
		read([]any{nil}, func(t *Tuple) (any, error) { return List(t, "f") }),
		read(map[string]any{"a": 1}, func(t *Tuple) (any, error) { return Map(t, "f") }),
		read(nil, func(t *Tuple) (any, error) { return String(t, "f") }),
		read(1, func(t *Tuple) (any, error) { return Int(t, "g") }),
		read(1, func(t *Tuple) (any, error) { return Float(t, "g") }),
	}
	want := []string{
		`[]byte{0x68, 0x69}`, `[]byte{0x68, 0x69}`,
		`error: tuple of c, stream s: field "f" is no base64: illegal base64 data at input byte 0`,
		`error: tuple of c, stream s: field "f" is a int, not a []uint8`,
		`"é"`, `true`, `[]interface {}{interface {}(nil)}`, `map[string]interface {}{"a":1}`,
		`error: tuple of c, stream s: field "f" is a <nil>, not a string`,
		`error: tuple of c, stream s: no field "g" among ["f"]`, `error: tuple of c, stream s: no field "g" among ["f"]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
