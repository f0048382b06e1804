// SPDX-License-Identifier: Apache-2.0

package kryo_test

// This file tests bytes that Java wrote, round trips, and what must not be read.

import (
	"encoding/hex"
	"errors"
	"math"
	"math/big"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/gust-stream/gust/messaging/kryo"
	"github.com/gust-stream/gust/tuple"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var compareBig = cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 })

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decoder(message []byte) *kryo.Decoder {
	var d kryo.Decoder
	d.Reset(message)
	return &d
}

// TestRecorded compares with what Storm 2.8.3 writes; compat-tests asks it for thousands more.
func TestRecorded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hex string
		is  any
	}{
		"Status": {"160d0306d804020d020e776f726b65722db1", kryo.Status{
			ID: 1, Worker: "worker-1", Blocked: []int32{3, 300}, Free: []int32{7},
		}},
		"EmptyStatus": {"160d01060d0181", kryo.Status{ID: 3}},
		"Point":       {"130e016e616de50954", tuple.DataPoint{Name: "name", Value: int64(42)}},
		"PointOfMap": {"130e02686f73f468b1826d0e0203826b0a000000000000f83f", tuple.DataPoint{
			Name: "m", Value: map[string]any{"k": 1.5}, Dimensions: map[string]string{"host": "h1"},
		}},
		"Task": {"14636f6df018686f73f4d86880a0abfef96278", tuple.TaskInfo{
			Host: "host", Port: 6700, Component: "comp", Task: 12, Time: 1700000000000, Interval: 60,
		}},
		"Node": {"176e6f64652db10f02d868", kryo.NodeInfo{Node: "node-1", Ports: []int64{6700}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := unhex(t, c.hex)
			got, err := kryo.AppendObject(nil, c.is)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(hex.EncodeToString(want), hex.EncodeToString(got)); diff != "" {
				t.Errorf("written (-java +go):\n%s", diff)
			}
			back, err := decoder(want).Object()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.is, back); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStatusOfNulls(t *testing.T) {
	t.Parallel()
	got, err := decoder(unhex(t, "1600040080")).Status()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kryo.Status{ID: 2}, got); diff != "" {
		t.Error(diff)
	}
}

// value draws a value of those that come back as they were.
func value(depth int) *rapid.Generator[any] {
	leaves := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int64().AsAny(), rapid.Int32().AsAny(), rapid.Int16().AsAny(), rapid.Int8().AsAny(),
		rapid.String().AsAny(), rapid.StringN(0, 100, -1).AsAny(), rapid.StringMatching(`[ -~]{0,40}`).AsAny(), rapid.Float64().AsAny(),
		rapid.Float32().AsAny(), rapid.SliceOf(rapid.Byte()).AsAny(),
		rapid.Map(rapid.Uint16(), func(u uint16) any { return tuple.Char(u) }),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 20), func(b []byte) any {
			v := new(big.Int).SetBytes(b[1:])
			if b[0]&1 == 0 {
				v.Neg(v)
			}
			return v
		}),
	}
	if depth == 0 {
		return rapid.OneOf(leaves...)
	}
	inner := rapid.Deferred(func() *rapid.Generator[any] { return value(depth - 1) })
	return rapid.OneOf(append(
		leaves,
		list(inner).AsAny(),
		rapid.Map(list(inner), func(vs []any) any { return tuple.Set(vs) }),
		rapid.MapOf(rapid.String(), inner).AsAny(),
		rapid.Map(rapid.MapOfN(rapid.Int32(), inner, 1, 5), func(m map[int32]any) any {
			out := map[any]any{}
			for k, v := range m {
				out[k] = v
			}
			return out
		}),
		rapid.Map(inner, func(v any) any { return tuple.DataPoint{Name: "p", Value: v, Dimensions: map[string]string{"k": "v"}} }),
	)...)
}

// list draws lists whose elements are of all kinds, or of one.
func list(inner *rapid.Generator[any]) *rapid.Generator[[]any] {
	return rapid.OneOf(
		rapid.SliceOf(inner),
		rapid.SliceOf(rapid.Int64().AsAny()),
		rapid.SliceOf(rapid.OneOf(rapid.Int64().AsAny(), rapid.Just[any](nil))),
		rapid.SliceOf(rapid.OneOf(rapid.String().AsAny(), rapid.Just[any](nil))),
		rapid.SliceOfN(rapid.Just[any](nil), 0, 200),
		rapid.SliceOf(rapid.Map(rapid.SliceOf(rapid.String().AsAny()), func(v []any) any { return v })),
	)
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		vs := list(value(3)).Draw(t, "values")
		b, err := kryo.AppendValues(nil, vs)
		if err != nil {
			t.Fatal(err)
		}
		d := decoder(b)
		back, err := d.Values()
		if err != nil {
			t.Fatalf("%v in %x", err, b)
		}
		if d.Rest() != 0 {
			t.Fatalf("%d bytes left of %x", d.Rest(), b)
		}
		if diff := cmp.Diff(vs, back, compareBig); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Whatever the values, no beginning of them is taken for the whole.
func TestTruncated(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b, err := kryo.AppendValues(nil, rapid.SliceOfN(value(2), 1, 5).Draw(t, "values"))
		if err != nil {
			t.Fatal(err)
		}
		n := rapid.IntRange(0, len(b)-1).Draw(t, "bytes")
		if vs, err := decoder(b[:n]).Values(); !errors.Is(err, kryo.ErrMalformed) {
			t.Fatalf("%d of %d bytes: %v, %v", n, len(b), vs, err)
		}
	})
}

type named string

func TestConverted(t *testing.T) {
	t.Parallel()
	in := []any{
		7, uint8(200), uint16(60000), uint32(1 << 31), uint64(7), uint64(math.MaxUint64), uint(1), named("n"),
		[]string{"a"},
		map[string]int{"k": 1},
		[2]int16{1, 2},
		(*big.Int)(nil),
	}
	big64 := new(big.Int).SetUint64(math.MaxUint64)
	want := []any{
		int64(7), int16(200), int32(60000), int64(1 << 31), int64(7), big64, int64(1), "n",
		[]any{"a"},
		map[string]any{"k": int64(1)},
		[]any{int16(1), int16(2)},
		nil,
	}
	b, err := kryo.AppendValues(nil, in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decoder(b).Values()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, compareBig); diff != "" {
		t.Error(diff)
	}
}

func TestLoneSurrogates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, out string }{
		"High":    {"a\xed\xa0\x80b", "a\xed\xa0\x80b"},
		"Low":     {"\xed\xbf\xbf", "\xed\xbf\xbf"},
		"TwoHigh": {"\xed\xa0\x80\xed\xa0\x81", "\xed\xa0\x80\xed\xa0\x81"},
		"Pair":    {"\xed\xa0\xbd\xed\xb8\x80", "😀"},
		"Before":  {"\xed\xa0\x80😀", "\xed\xa0\x80😀"},
		"NoUTF8":  {"a\xffb\xed", "a\ufffdb\ufffd"},
		"Zero":    {"a\x00é\x00", "a\x00é\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := kryo.AppendObject(nil, c.in)
			if err != nil {
				t.Fatal(err)
			}
			got, err := decoder(b).Object()
			if err != nil {
				t.Fatal(err)
			}
			if got != c.out {
				t.Errorf("%q came back as %q, not %q", c.in, got, c.out)
			}
		})
	}
}

func TestRefusedValues(t *testing.T) {
	t.Parallel()
	loop := []any{nil}
	loop[0] = loop
	deep := any("x")
	for range 200 {
		deep = map[string]any{"k": deep}
	}
	for name, v := range map[string]any{
		"Struct": struct{ A int }{1}, "Channel": make(chan int), "InMap": map[string]any{"k": func() {}}, "InList": []any{1, []any{complex(1, 1)}},
		"Pointer": new(int), "Loop": loop, "Deep": deep,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if b, err := kryo.AppendValues(nil, []any{v}); err == nil {
				t.Errorf("written as %x", b)
			} else if _, isType := errors.AsType[*kryo.TypeError](err); !isType && name != "Loop" && name != "Deep" {
				t.Errorf("no TypeError: %v", err)
			}
		})
	}
}

func TestUnknownClass(t *testing.T) {
	t.Parallel()
	names := kryo.Registered([]string{"java.util.TreeMap", "java.util.LinkedHashMap", "java.util.TreeMap"})
	for name, c := range map[string]struct {
		bytes string
		id    uint32
		text  string
	}{
		"Registered":     {"0218", 24, "java.util.LinkedHashMap is known to Java only"},
		"RegisteredNext": {"0219", 25, "java.util.TreeMap"},
		"Beyond":         {"021a", 26, "class id 26 on the wire is not registered"},
		"Large":          {"02ff7f", 16383, "16383"},
		"ByName":         {"0201", 1, "by its name"},
		"Trident":        {"0211", 17, "TransactionAttempt"},
		"InSameList":     {"821800", 24, "LinkedHashMap"},
		"InMap":          {"020e02035818", 24, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := decoder(unhex(t, c.bytes))
			d.Names = names
			_, err := d.Values()
			unknown, is := errors.AsType[*kryo.UnknownClassError](err)
			if name == "InMap" {
				if err == nil {
					t.Error("no error")
				}
				return
			}
			if !is || unknown.ID != c.id || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v, want id %d and %q", err, c.id, c.text)
			}
		})
	}
}

// Lengths that nothing stands behind must not take memory.
func TestBounds(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat("c2ffff3f0d00", 90) + strings.Repeat("00", 1<<20)
	for name, text := range map[string]string{
		"List":         "7fffffff0f",
		"SameList":     "ffffffff0f0900",
		"Nulls":        "ffffffff0f00",
		"ManyNulls":    "7fffff0300" + strings.Repeat("0dffff0300", 40),
		"Bytes":        "020bffffffff0f",
		"Text":         "0203ffffffff0f",
		"Map":          "020effffffff0f",
		"Set":          "020fffffffff0f0900",
		"Big":          "0210ffffffff0f",
		"NestedLists":  nested,
		"ManyElements": "7fffffff01" + strings.Repeat("00", 5<<20),
		"LongVarint":   "0202ffffffffffffffff",
		"Deep":         strings.Repeat("020d", 500),
		"DeepMaps":     "020e" + strings.Repeat("020358"[:4]+"0e", 500),
		"StatusTasks":  "02160dffffffff0f",
		"BigOfNothing": "021001",
		"UnitOfThree":  "020383e0",
		"UnitBad":      "020383ffff",
		"ListAsKey":    "020e020d0100",
	} {
		t.Run(name, func(t *testing.T) {
			d := decoder(unhex(t, text))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := d.Values()
			runtime.ReadMemStats(&after)
			if !errors.Is(err, kryo.ErrMalformed) {
				t.Errorf("error %v", err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
				t.Errorf("took %d bytes", took)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"1600040080", "130e02686f73f468b1826d0e0203826b0a000000000000f83f", "0403826109020d030201", "176e6f64652db10f02d868"} {
		b, err := hex.DecodeString(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		if v, err := decoder(message).Object(); err == nil {
			again(t, v)
		}
		if vs, err := decoder(message).Values(); err == nil && vs != nil {
			again(t, vs)
		}
		_, _ = decoder(message).Load()
		_, _ = decoder(message).Status()
	})
}

// again writes what was read and reads it once more: a value that gust took it can also send.
func again(t *testing.T, v any) {
	t.Helper()
	b, err := kryo.AppendObject(nil, v)
	if err != nil {
		t.Fatalf("write %#v: %v", v, err)
	}
	if _, err := decoder(b).Object(); err != nil {
		t.Fatalf("read %#v again: %v", v, err)
	}
}
