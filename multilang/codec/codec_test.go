// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/big"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/gust-stream/gust/tuple"
)

// same compares values; numbers of any size by their digits.
func same(t interface {
	Helper()
	Fatalf(string, ...any)
}, want, got any,
) {
	t.Helper()
	bigs := cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 })
	if diff := cmp.Diff(want, got, bigs, cmpopts.EquateNaNs()); diff != "" {
		t.Fatalf("-want +got\n%s", diff)
	}
}

// values generates what both formats hold.
func values(f Format, depth int) *rapid.Generator[any] {
	scalar := rapid.OneOf(
		rapid.Just[any](nil),
		rapid.Bool().AsAny(),
		rapid.Int64().AsAny(),
		rapid.Float64().AsAny(),
		rapid.String().AsAny(),
		rapid.SampledFrom([]any{math.Inf(1), math.MaxInt64, int64(math.MinInt64), "\"\\/\b\f\n\r\t\x00\u2028😀", strings.Repeat("a", 70000)}),
	)
	if f == Msgpack {
		scalar = rapid.OneOf(scalar, rapid.SliceOf(rapid.Byte()).AsAny())
	}
	if depth == 0 {
		return scalar
	}
	inner := values(f, depth-1)
	return rapid.OneOf(scalar, rapid.SliceOfN(inner, 0, 20).AsAny(), rapid.MapOfN(rapid.String(), inner, 0, 5).AsAny())
}

// read is how a value comes back: as its reader's type.
func read(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = read(v[i])
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for k := range v {
			m[k] = read(v[k])
		}
		return m
	}
	return v
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, f := range []Format{JSON, Msgpack} {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				sent := rapid.SliceOfN(values(f, 2), 1, 5).Draw(t, "values")
				var stream []byte
				for _, v := range sent {
					var err error
					if stream, err = Append(stream, f, v); err != nil {
						t.Fatal(err)
					}
					stream = End(stream, f)
				}
				src := io.Reader(strings.NewReader(string(stream)))
				if rapid.Bool().Draw(t, "bytewise") && len(stream) < 10000 {
					src = iotest.OneByteReader(src)
				}
				r := NewReader(src, f, 1<<30)
				for _, v := range sent {
					raw, err := r.Next()
					if err != nil {
						t.Fatal(err)
					}
					got, err := Decode(raw, f)
					if err != nil {
						t.Fatalf("%v in %q", err, raw)
					}
					same(t, read(v), got)
				}
				if _, err := r.Next(); !errors.Is(err, io.EOF) {
					t.Fatalf("no end: %v", err)
				}
			})
		})
	}
}

// TestJSONLikeGo compares with Go's own decoder where that has a say.
func TestJSONLikeGo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(values(JSON, 2).Filter(func(v any) bool { _, err := json.Marshal(v); return err == nil }).Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(text, JSON)
		if err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		again, err := Append(nil, JSON, got)
		if err != nil {
			t.Fatal(err)
		}
		var want, have any
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(again, &have); err != nil {
			t.Fatal(err)
		}
		same(t, want, have)
	})
}

func TestJSONValues(t *testing.T) {
	t.Parallel()
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	over, _ := new(big.Int).SetString("9223372036854775808", 10)
	for text, want := range map[string]any{
		`9007199254740993`:               int64(9007199254740993),
		`-9223372036854775808`:           int64(math.MinInt64),
		`9223372036854775807`:            int64(math.MaxInt64),
		`9223372036854775808`:            over,
		`123456789012345678901234567890`: huge,
		`1.0`:                            1.0,
		`1e5`:                            1e5,
		`1e999`:                          math.Inf(1),
		`NaN`:                            math.NaN(),
		`Infinity`:                       math.Inf(1),
		`[-Infinity]`:                    []any{math.Inf(-1)},
		`-0`:                             int64(0),
		`"\ud83d\ude00"`:                 "😀",
		`"\ud800"`:                       "\xed\xa0\x80",
		`"\udc00\ud800x"`:                "\xed\xb0\x80\xed\xa0\x80x",
		`"\u00e9\/"`:                     "é/",
		"\"a\nb\"":                       "a\nb",
		"{\"b\" : [ ] ,\n\"a\":{ }}":     map[string]any{"a": map[string]any{}, "b": []any{}},
		`{"a":1,"a":2}`:                  map[string]any{"a": int64(2)},
		`null`:                           nil,
	} {
		got, err := Decode([]byte(text), JSON)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		same(t, want, got)
	}
}

// TestStock sees that the narrow integers are those of 32 bits, however deep, and that the next value is wide again.
func TestStock(t *testing.T) {
	t.Parallel()
	over := new(big.Int).Lsh(big.NewInt(1), 63)
	sent := []any{
		0, -1, math.MaxInt32, math.MinInt32, math.MaxInt32 + 1, math.MinInt32 - 1, math.MaxInt64, math.MinInt64, over, 1.0, "1",
		[]any{5, map[string]any{"a": 6, "b": 1 << 40}},
	}
	want := []any{
		int32(0), int32(-1), int32(math.MaxInt32), int32(math.MinInt32), int64(math.MaxInt32 + 1), int64(math.MinInt32 - 1),
		int64(math.MaxInt64), int64(math.MinInt64), over, 1.0, "1",
		[]any{int32(5), map[string]any{"a": int32(6), "b": int64(1 << 40)}},
	}
	for _, f := range []Format{JSON, Msgpack} {
		text, err := Append(nil, f, sent)
		if err != nil {
			t.Fatal(err)
		}
		w := NewWalker(f)
		w.Reset(text)
		narrow, err := w.Stock()
		if err != nil {
			t.Fatal(err)
		}
		same(t, want, narrow)
		w.Reset(text)
		wide, err := w.Value()
		if err != nil {
			t.Fatal(err)
		}
		same(t, read(sent), wide)
	}
}

func TestJSONWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value any
		want  string
	}{
		{100.0, `100.0`},
		{1e21, `1e+21`},
		{float32(0.1), `0.1`},
		{[]any{math.NaN(), math.Inf(1), math.Inf(-1)}, `[NaN,Infinity,-Infinity]`},
		{int32(-5), `-5`},
		{uint64(math.MaxUint64), `18446744073709551615`},
		{"\xed\xa0\x80", `"\ud800"`},
		{"a\x01\x7f\u2028", "\"a\\u0001\x7f\u2028\""},
		{[]byte{1, 255}, `"Af8="`},
		{tuple.Char('x'), `"x"`},
		{tuple.Set{int64(1)}, `[1]`},
		{[]string{"a"}, `["a"]`},
		{map[any]any{int64(1): true}, `{"1":true}`},
	} {
		got, err := Append(nil, JSON, c.value)
		if err != nil || string(got) != c.want {
			t.Errorf("%#v: %s, %v", c.value, got, err)
		}
	}
}

func TestUnwritable(t *testing.T) {
	t.Parallel()
	deep := []any{}
	for range 1000 {
		deep = []any{deep}
	}
	for _, f := range []Format{JSON, Msgpack} {
		for _, v := range []any{"a\xffb", struct{}{}, []any{make(chan int)}, deep, map[string]any{"\xfe": 1}} {
			var want *UnwritableError
			if _, err := Append(nil, f, v); !errors.As(err, &want) {
				t.Errorf("%s: %T was written: %v", f, v, err)
			}
		}
	}
}

func TestBadText(t *testing.T) {
	t.Parallel()
	for f, raw := range map[Format]string{JSON: "[\"ok\",\"a\xff\",\"\\n\xfe\"]", Msgpack: "\x93\xa2ok\xa2a\xff\xa2\n\xfe"} {
		w := NewWalker(f)
		w.Reset([]byte(raw))
		got, err := w.Value()
		if err != nil || w.End() != nil {
			t.Fatalf("%s: %v", f, err)
		}
		same(t, []any{"ok", "a\uFFFD", "\n\uFFFD"}, got)
		if _, ok := errors.AsType[*BadTextError](w.Bad()); !ok {
			t.Fatalf("%s: bad text was taken", f)
		}
	}
}

func TestBadJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "hello", "{", "[1,2", "[1 2]", "[1,]", "{\"a\":1}{", "{\"a\" 1}", "{'a':1}", "01", "1.", "-", "1e", "\"a", `"\x"`, `"\u12"`, "tru", "nan",
		"[" + strings.Repeat("1", 5000) + "]", strings.Repeat("[", 100000), "{\"a\":1,}", "[,1]",
	} {
		if v, err := Decode([]byte(text), JSON); err == nil {
			t.Errorf("%q: %v", text, v)
		}
	}
}

func TestReaderEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
		end  error
	}{
		{"{}\nend\n", []string{"{}\n"}, io.EOF},
		{"{}\r\nend\r\n[]\nend", []string{"{}\r\n", "[]\n"}, io.EOF},
		{"end\nend", []string{"", ""}, io.EOF},
		{"\"the end\"\n end\nend \nend\n", []string{"\"the end\"\n end\nend \n"}, io.EOF},
		{"{\"a\"", nil, io.ErrUnexpectedEOF},
		{"{}\nend\n[1]\nen", []string{"{}\n"}, io.ErrUnexpectedEOF},
		{"{}\nend\n\n", []string{"{}\n"}, io.EOF},
		{strings.Repeat("x", 5000), nil, &TooLongError{}},
	} {
		r := NewReader(strings.NewReader(c.text), JSON, 1000)
		var got []string
		var err error
		for {
			var raw []byte
			if raw, err = r.Next(); err != nil {
				break
			}
			got = append(got, string(raw))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: -want +got\n%s", c.text, diff)
		}
		var long *TooLongError
		if !errors.Is(err, c.end) && !errors.As(err, &long) {
			t.Errorf("%q ended with %v", c.text, err)
		}
	}
}

// TestReaderForgets gives the memory of a long message back.
func TestReaderForgets(t *testing.T) {
	t.Parallel()
	for _, f := range []Format{JSON, Msgpack} {
		var stream []byte
		for _, n := range []int{10, 3 << 20, 10, 5 << 20, 100} {
			stream, _ = Append(stream, f, map[string]any{"x": strings.Repeat("x", n)})
			stream = End(stream, f)
		}
		r := NewReader(strings.NewReader(string(stream)), f, 10<<20)
		for _, n := range []int{10, 3 << 20, 10, 5 << 20, 100} {
			raw, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if v, err := Decode(raw, f); err != nil || !cmp.Equal(v, map[string]any{"x": strings.Repeat("x", n)}) {
				t.Fatalf("%s: a string of %d: %v", f, n, err)
			}
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) || len(r.buf) > keepSize {
			t.Errorf("%s: %v, %d bytes are kept", f, err, len(r.buf))
		}
	}
}

// TestReaderNoise has long output in front of messages: it comes in parts, and takes nothing from a message.
func TestReaderNoise(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("x", 99) + "\n"
	for name, c := range map[string]struct {
		text  string
		parts []int
	}{
		"lines":       {strings.Repeat(line, 20_000), []int{1 << 20, 1 << 19}},
		"no end":      {strings.Repeat("x", 2_000_000), []int{1 << 20}},
		"glued":       {strings.Repeat(line, 15_000) + "x", []int{1 << 20}},
		"long, glued": {strings.Repeat("x", 1<<20-100), nil},
	} {
		big := `{"x":"` + strings.Repeat("y", 3<<20) + `"}` + "\n"
		r := NewReader(strings.NewReader(c.text+big+"end\n{}\nend\n"), JSON, 10<<20)
		var got []byte
		for _, n := range c.parts {
			raw, err := r.Next()
			if err != nil || len(raw) < n {
				t.Fatalf("%s: %d bytes, %v", name, len(raw), err)
			}
			got = append(got, raw...)
		}
		for !bytes.HasSuffix(got, []byte(big)) {
			raw, err := r.Next()
			if err != nil {
				t.Fatalf("%s: %v after %d bytes", name, err, len(got))
			}
			got = append(got, raw...)
		}
		if string(got) != c.text+big {
			t.Errorf("%s: %d bytes of %d", name, len(got), len(c.text)+len(big))
		}
		if raw, err := r.Next(); err != nil || string(raw) != "{}\n" {
			t.Errorf("%s: then %q, %v", name, raw, err)
		}
	}
}

// TestReaderTakesNoMore has a message that never ends.
func TestReaderTakesNoMore(t *testing.T) {
	t.Parallel()
	r := NewReader(endless{}, JSON, 10<<20)
	var long *TooLongError
	if _, err := r.Next(); !errors.As(err, &long) || len(r.buf) > 10<<20+readSize {
		t.Errorf("%v, a buffer of %d bytes", err, len(r.buf))
	}
}

// endless is a stream of braces.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '{'
	}
	return len(p), nil
}

func TestReaderReady(t *testing.T) {
	t.Parallel()
	for f, stream := range map[Format]string{JSON: "1\nend\n2\nend\n[3", Msgpack: "\x01\x02\x92\x03"} {
		r := NewReader(strings.NewReader(stream), f, 1000)
		if r.Ready() {
			t.Error("ready before anything was read")
		}
		_, _ = r.Next()
		if !r.Ready() {
			t.Error("the second message is not ready")
		}
		_, _ = r.Next()
		if r.Ready() {
			t.Error("half a message is ready")
		}
		if _, err := r.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("half a message: %v", err)
		}
	}
}
