// SPDX-License-Identifier: Apache-2.0

package native_test

// This file tests round trips, cuts, bounds and nonsense, and measures what a tuple costs.

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math/big"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/gust-stream/gust/messaging/frame"
	"github.com/gust-stream/gust/messaging/kryo"
	"github.com/gust-stream/gust/messaging/native"
	"github.com/gust-stream/gust/tuple"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var compareBig = cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 })

func sources() *frame.Sources {
	return frame.NewSources(
		map[int32]string{-1: "__system", 1: "__acker", 2: "bolt", 3: "bolt", 4: "spout", 300: "spout"},
		map[string]map[string][]string{
			"__acker":  {"__ack_ack": {"id", "time-delta-ms"}},
			"bolt":     {"default": {"word", "count"}, "__ack_ack": {"id", "ack-val"}},
			"spout":    {"__ack_init": {"id", "init-val", "spout-task"}, "default": {"word"}},
			"__system": {"__metrics": {"task-info", "data-points"}, "x": {"y"}},
		},
	)
}

// value draws a value of those that come back as they were.
func value(depth int) *rapid.Generator[any] {
	leaves := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int64().AsAny(), rapid.Int64Range(-300, 300).AsAny(), rapid.Int().AsAny(),
		rapid.Int32().AsAny(), rapid.Int16().AsAny(), rapid.Int8().AsAny(), rapid.String().AsAny(), rapid.StringN(0, 200, -1).AsAny(),
		rapid.Float64().AsAny(), rapid.Float32().AsAny(), rapid.SliceOf(rapid.Byte()).AsAny(),
		rapid.Map(rapid.Uint16(), func(u uint16) any { return tuple.Char(u) }),
		rapid.Map(rapid.Int64(), func(i int64) any { return new(big.Int).Mul(big.NewInt(i), big.NewInt(i)) }),
		rapid.Just[any](tuple.DataPoint{Name: "p", Value: int64(1), Dimensions: map[string]string{"k": "v"}}),
		rapid.Just[any](tuple.Set{int64(1), int64(2)}), rapid.Just[any](map[any]any{int32(1): "a", nil: "b"}),
	}
	if depth == 0 {
		return rapid.OneOf(leaves...)
	}
	inner := rapid.Deferred(func() *rapid.Generator[any] { return value(depth - 1) })
	return rapid.OneOf(append(leaves, rapid.SliceOf(inner).AsAny(), rapid.MapOf(rapid.String(), inner).AsAny())...)
}

func message(table *frame.Sources) *rapid.Generator[tuple.Message] {
	anchor := rapid.Custom(func(t *rapid.T) tuple.Anchor {
		return tuple.Anchor{Root: rapid.Int64Min(1).Draw(t, "root"), Edge: rapid.Int64().Draw(t, "edge")}
	})
	return rapid.Custom(func(t *rapid.T) tuple.Message {
		m := tuple.Message{Task: rapid.SampledFrom([]int32{0, 1, 200, frame.MaxTask}).Draw(t, "to"), Tuple: &tuple.Tuple{
			Source: rapid.SampledFrom([]*tuple.Source{
				table.Of(-1, "x"), table.Of(-1, "__metrics"), table.Of(2, "default"), table.Of(4, "default"), table.Of(300, "default"),
			}).Draw(t, "source"),
			Values: rapid.SliceOfN(value(2), 3, 20).Draw(t, "values"),
		}}
		if n := rapid.IntRange(0, 3).Draw(t, "anchors"); n > 0 {
			m.Tuple.Anchor = anchor.Draw(t, "anchor")
			if n > 1 {
				m.Tuple.More = rapid.SliceOfN(anchor, n-1, n-1).Draw(t, "more")
			}
		}
		return m
	})
}

func payload(tb rapid.TB, ms []tuple.Message) []byte {
	tb.Helper()
	var w native.Writer
	w.Reset()
	var b []byte
	for _, m := range ms {
		var err error
		if b, err = w.Append(b, m.Task, m.Tuple); err != nil {
			tb.Fatal(err)
		}
	}
	return b
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	table := sources()
	d := native.NewDecoder(table)
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOfN(message(table), 1, 40).Draw(t, "batch")
		b := payload(t, in)
		out, err := d.Read(nil, b)
		if err != nil {
			t.Fatalf("%v in %x", err, b)
		}
		if diff := cmp.Diff(in, out, compareBig); diff != "" {
			t.Fatal(diff)
		}
		n := rapid.IntRange(0, len(b)-1).Draw(t, "cut")
		if cut, err := d.Read(nil, b[:n]); err == nil && len(cut) == len(in) {
			t.Fatalf("%d of %d bytes were taken for the whole", n, len(b))
		}
	})
}

// Messages about trees are the same on the wire with and without Values, and are read without.
func TestTrees(t *testing.T) {
	t.Parallel()
	table := sources()
	rapid.Check(t, func(t *rapid.T) {
		number := func(name string) int64 { return rapid.OneOf(rapid.Int64(), rapid.Int64Range(-200, 200)).Draw(t, name) }
		is := []tuple.Message{
			{Task: 1, Tuple: &tuple.Tuple{Source: table.Of(4, "__ack_init"), Children: 4, Anchor: tuple.Anchor{Root: number("a"), Edge: number("b")}}},
			{Task: 1, Tuple: &tuple.Tuple{Source: table.Of(2, "__ack_ack"), Anchor: tuple.Anchor{Root: number("c"), Edge: number("d")}}},
			{Task: 2, Tuple: &tuple.Tuple{Source: table.Of(1, "__ack_ack"), Anchor: tuple.Anchor{Root: number("e"), Edge: number("f")}}},
		}
		boxed := []tuple.Message{
			{Task: 1, Tuple: &tuple.Tuple{Source: is[0].Tuple.Source, Values: []any{is[0].Tuple.Anchor.Root, is[0].Tuple.Anchor.Edge, int32(4)}}},
			{Task: 1, Tuple: &tuple.Tuple{Source: is[1].Tuple.Source, Values: []any{is[1].Tuple.Anchor.Root, is[1].Tuple.Anchor.Edge}}},
			{Task: 2, Tuple: &tuple.Tuple{Source: is[2].Tuple.Source, Values: []any{is[2].Tuple.Anchor.Root, is[2].Tuple.Anchor.Edge}}},
		}
		b := payload(t, is)
		if diff := cmp.Diff(payload(t, boxed), b); diff != "" {
			t.Fatal(diff)
		}
		out, err := native.NewDecoder(table).Read(nil, b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(is, out); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestRefusedTuples(t *testing.T) {
	t.Parallel()
	var w native.Writer
	w.Reset()
	src := sources().Of(4, "default")
	for name, m := range map[string]tuple.Message{
		"NoSource": {Task: 1, Tuple: &tuple.Tuple{Source: &tuple.Source{Task: 4, Stream: "x"}}},
		"NoTask":   {Task: -2, Tuple: &tuple.Tuple{Source: src}},
		"BadValue": {Task: 1, Tuple: &tuple.Tuple{Source: src, Values: []any{"x", func() {}}}},
	} {
		if b, err := w.Append([]byte("before"), m.Task, m.Tuple); err == nil || string(b) != "before" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	// What was refused is not what the next tuple is the same as.
	b, err := w.Append(nil, 1, &tuple.Tuple{Source: src, Values: []any{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := native.NewDecoder(sources()).Read(nil, b); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestMalformedTuples(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ hex, text string }{
		"SameAsNothing":  {"0c", "names no task or source"},
		"TaskTooLarge":   {"00808002", "a tuple for task 32768"},
		"UnknownTask":    {"00010901", "no task 9"},
		"UnknownStream":  {"00010409", "no task 4 with a stream 9"},
		"HugeSource":     {"0001ffffffffffffffffff0101", "a source of task"},
		"Anchors":        {"02010402ffffffff0f", "4294967295 anchors"},
		"NoAnchors":      {"0201040200", "0 anchors"},
		"ManyValues":     {"f0010402ffffffff0f", "values needs 4294967295 bytes"},
		"FewBytes":       {"e0010402", "a list needs 14 bytes"},
		"String":         {"1001040206ffffffff0f", "a string needs"},
		"Bytes":          {"1001040207ffffffff0f", "a []byte needs"},
		"List":           {"1001040208ffffffff0f", "a list or map needs"},
		"Map":            {"1001040209ffffffff0f", "a list or map needs"},
		"Kryo":           {"100104020dffffffff", "a value of Kryo needs"},
		"KryoRest":       {"100104020d020000000000", "1 bytes after"},
		"KryoClass":      {"100104020d0100000018", "class id 24"},
		"Int32":          {"100104020bffffffffffff0f", "an int32 of"},
		"Tag":            {"100104023f", "begins with 0x3f"},
		"Deep":           {"10010402" + strings.Repeat("0801", 200) + "00", "more than 100 deep"},
		"ManyTuples":     {"00010402" + strings.Repeat("0c", native.MaxTuples), "more than 16384 tuples"},
		"NestedLists":    {"10010402" + strings.Repeat("08c08040", 20) + strings.Repeat("00", 1<<20), "than the frame can hold"},
		"TreeOfText":     {"30010401" + "414182", "about a tree begins with 0x41"},
		"FourOfTree":     {"40010401" + "81818181", "4 values about a tree"},
		"HalfTree":       {"30010401" + "8181", "a value needs 1 bytes"},
		"ShortOfSystems": {"10010401" + "81", "1 values on stream __ack_init, which has 3 fields"},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := hex.DecodeString(c.hex)
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = native.NewDecoder(sources()).Read(nil, b)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v, want %q", err, c.text)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
				t.Errorf("took %d bytes", took)
			}
		})
	}
}

type conn struct{ io.Reader }

func (conn) SetReadDeadline(time.Time) error { return nil }

func reader(b []byte) *native.Reader {
	return &native.Reader{In: frame.NewInput(conn{bytes.NewReader(b)}, frame.NewBudget(1<<20), time.Minute), Max: 1 << 16}
}

func TestFrames(t *testing.T) {
	t.Parallel()
	b, start := native.Begin(nil, native.Credit)
	b = native.AppendCredit(native.AppendCredit(b, 3, 10), frame.MaxTask, 1<<40)
	native.End(b, start)
	b, start = native.Begin(b, native.Load)
	b = native.AppendLoad(native.AppendLoad(b, 3, 0.5), 300, 1)
	native.End(b, start)
	b, start = native.Begin(b, 99)
	native.End(b, start)
	r := reader(b)

	kind, p, err := r.Next()
	credit := map[int32]uint64{}
	if err == nil {
		err = native.ReadCredit(p, func(task int32, allowed uint64) { credit[task] = allowed })
	}
	if diff := cmp.Diff(map[int32]uint64{3: 10, frame.MaxTask: 1 << 40}, credit); err != nil || kind != native.Credit || diff != "" {
		t.Error(kind, err, diff)
	}
	kind, p, err = r.Next()
	if err != nil || kind != native.Load {
		t.Fatal(kind, err)
	}
	load, err := native.ReadLoad(p)
	if diff := cmp.Diff(map[int32]float64{3: 0.5, 300: 1}, load); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if kind, p, err = r.Next(); err != nil || kind != 99 || len(p) != 0 {
		t.Error(kind, p, err)
	}
	if _, _, err = r.Next(); err != io.EOF { //nolint:errorlint // bare between frames
		t.Error(err)
	}
	for n := 1; n < 9; n++ {
		if _, _, err := reader(b[:n]).Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, _, err := reader([]byte{1, 0, 0, 0, 0x80}).Next(); !errors.Is(err, frame.ErrMalformed) {
		t.Errorf("2 GiB announced: %v", err)
	}
}

func FuzzFrames(f *testing.F) {
	table := sources()
	f.Add([]byte{1, 4, 0, 0, 0, 0, 1, 4, 2})
	b, start := native.Begin(nil, native.Tuples)
	b = append(b, payload(f, benchBatch(table))...)
	native.End(b, start)
	f.Add(b)
	b, start = native.Begin(nil, native.Credit)
	b = native.AppendCredit(b, 3, 1<<40)
	native.End(b, start)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, d := reader(b), native.NewDecoder(table)
		for {
			_, p, err := r.Next()
			if err != nil {
				return
			}
			_ = native.ReadCredit(p, func(int32, uint64) {})
			_, _ = native.ReadLoad(p)
			ms, err := d.Read(nil, p)
			if err != nil {
				continue
			}
			// What gust took it can also send.
			if _, err := d.Read(nil, payload(t, ms)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// benchBatch is 100 tuples of a word and a count with their anchors, for two tasks in turn.
func benchBatch(table *frame.Sources) []tuple.Message {
	out := make([]tuple.Message, 0, 100)
	for i := range 100 {
		out = append(out, tuple.Message{Task: int32(2 + i%2), Tuple: &tuple.Tuple{
			Source: table.Of(4, "default"), Values: []any{"sentence", int64(12345 + i)},
			Anchor: tuple.Anchor{Root: 0x1234567890abcdef + int64(i)*7919, Edge: -5 - int64(i)*104729},
		}})
	}
	return out
}

// ackBatch is 100 acks for an acker.
func ackBatch(table *frame.Sources) []tuple.Message {
	out := make([]tuple.Message, 0, 100)
	for i := range int64(100) {
		out = append(out, tuple.Message{Task: 1, Tuple: &tuple.Tuple{
			Source: table.Of(2, "__ack_ack"), Anchor: tuple.Anchor{Root: 0x1234567890abcdef + i*7919, Edge: -0x1234567890abcde - i*104729},
		}})
	}
	return out
}

func BenchmarkEncode(b *testing.B) {
	for name, batch := range map[string][]tuple.Message{"Tuples": benchBatch(sources()), "Acks": ackBatch(sources())} {
		b.Run("Native"+name, func(b *testing.B) {
			var w native.Writer
			var out []byte
			for b.Loop() {
				w.Reset()
				out = out[:0]
				for _, m := range batch {
					out, _ = w.Append(out, m.Task, m.Tuple)
				}
			}
			perTuple(b, batch, out)
		})
		b.Run("Kryo"+name, func(b *testing.B) {
			var out []byte
			for b.Loop() {
				out = out[:0]
				for _, m := range batch {
					out, _ = frame.AppendTuple(out, m.Task, m.Tuple)
				}
			}
			perTuple(b, batch, out)
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	table := sources()
	for name, batch := range map[string][]tuple.Message{"Tuples": benchBatch(table), "Acks": ackBatch(table)} {
		b.Run("Native"+name, func(b *testing.B) {
			p, d := payload(b, batch), native.NewDecoder(table)
			var into []tuple.Message
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if into, err = d.Read(into[:0], p); err != nil {
					b.Fatal(err)
				}
			}
			perTuple(b, batch, p)
		})
		b.Run("Kryo"+name, func(b *testing.B) {
			var p []byte
			for _, m := range batch {
				p, _ = frame.AppendTuple(p, m.Task, m.Tuple)
			}
			d := frame.NewTuples(table, kryo.Names{})
			b.ReportAllocs()
			for b.Loop() {
				r := frame.Reader{In: frame.NewInput(conn{bytes.NewReader(p)}, frame.NewBudget(1<<20), time.Minute), Max: 1 << 16}
				for range batch {
					f, err := r.Next()
					if err != nil {
						b.Fatal(err)
					}
					if _, err := d.Read(f.Payload); err != nil {
						b.Fatal(err)
					}
				}
			}
			perTuple(b, batch, p)
		})
	}
}

func perTuple(b *testing.B, batch []tuple.Message, encoded []byte) {
	b.Helper()
	n := float64(len(batch))
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/tuple")
	b.ReportMetric(float64(len(encoded))/n, "B/tuple")
}
