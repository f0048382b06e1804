// SPDX-License-Identifier: Apache-2.0

package frame_test

// This file tests frames and tuples: bytes that Java wrote, round trips, every cut, and what must cost no memory.

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math/big"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/gust-stream/gust/messaging/frame"
	"github.com/gust-stream/gust/messaging/kryo"
	"github.com/gust-stream/gust/tuple"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sources is the table of the topology that compat-tests/wire has.
func sources() *frame.Sources {
	return frame.NewSources(
		map[int32]string{-1: "__system", 1: "__acker", 2: "bolt", 3: "bolt", 4: "spout", 5: "spout"},
		map[string]map[string][]string{
			"__acker": {"__ack_ack": {"id", "time-delta-ms"}, "__metrics": {"task-info", "data-points"}, "__system": {"event"}},
			"bolt": {
				"default": {"word", "count"}, "__ack_ack": {"id", "ack-val"}, "__ack_fail": {"id"}, "__metrics": {"task-info", "data-points"},
			},
			"spout": {
				"__ack_init": {"id", "init-val", "spout-task"}, "__metrics": {"task-info", "data-points"}, "__system": {"event"}, "default": {"word"},
			},
			"__system": {"__metrics": {"task-info", "data-points"}},
		},
	)
}

// conn is a connection that gives bytes and notes its deadlines.
type conn struct {
	io.Reader
	deadline time.Time
}

func (c *conn) SetReadDeadline(t time.Time) error { c.deadline = t; return nil }

var compareBig = cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 })

func reader(r io.Reader) *frame.Reader {
	return &frame.Reader{In: frame.NewInput(&conn{Reader: r}, frame.NewBudget(1<<20), time.Minute), Max: 1 << 20, Small: 1 << 10}
}

// kept is a frame with a payload of its own.
func next(r *frame.Reader) (frame.Frame, error) {
	f, err := r.Next()
	f.Payload = bytes.Clone(f.Payload)
	return f, err
}

func TestFramesInPieces(t *testing.T) {
	t.Parallel()
	var b []byte
	b = frame.Append(b, frame.Status, []byte("status"))
	b = frame.AppendControl(b, frame.OK)
	b = frame.Append(b, frame.Load, []byte("load"))
	b = frame.AppendControl(b, frame.EndOfBatch)
	b = frame.Append(b, frame.SASL, nil)
	b = frame.Append(b, frame.Upgrade, bytes.Repeat([]byte("x"), 1000))
	b = append(b, 0, 7, 0, 1, 0, 0)
	b = append(b, bytes.Repeat([]byte("y"), 1<<16)...)
	want := []frame.Frame{
		{Kind: frame.Status, Code: -600, Payload: []byte("status")},
		{Kind: frame.Control, Code: -200},
		{Kind: frame.Load, Code: -1, Payload: []byte("load")},
		{Kind: frame.Control, Code: -201},
		{Kind: frame.SASL, Code: -500, Payload: []byte{}},
		{Kind: frame.Upgrade, Code: -1000, Payload: bytes.Repeat([]byte("x"), 1000)},
		{Kind: frame.Task, Code: 7, Payload: bytes.Repeat([]byte("y"), 1<<16)},
	}
	for name, source := range map[string]io.Reader{
		"Whole": bytes.NewReader(b), "Halves": iotest.HalfReader(bytes.NewReader(b)), "Bytes": iotest.OneByteReader(bytes.NewReader(b)),
		"DataWithEnd": iotest.DataErrReader(bytes.NewReader(b)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := reader(source)
			for i, w := range want {
				got, err := next(r)
				if err != nil {
					t.Fatalf("frame %d: %v", i, err)
				}
				if diff := cmp.Diff(w, got); diff != "" {
					t.Fatalf("frame %d: %s", i, diff)
				}
			}
			if f, err := r.Next(); err != io.EOF { //nolint:errorlint // bare between frames
				t.Errorf("%v, %v after the end", f, err)
			}
		})
	}
}

func TestCutFrames(t *testing.T) {
	t.Parallel()
	b := frame.Append(nil, frame.Status, []byte("status"))
	for n := 1; n < len(b); n++ {
		if f, err := reader(bytes.NewReader(b[:n])).Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes: %v, %v", n, f, err)
		}
	}
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	b := frame.Append(nil, frame.Status, []byte("status"))
	for n := range len(b) + 1 {
		rest := append(frame.AppendControl(nil, frame.OK), b[:n]...)
		r := reader(bytes.NewReader(rest))
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		if got := r.Waiting(); got != (n == len(b)) {
			t.Errorf("%d of %d bytes: %v", n, len(b), got)
		}
	}
}

// A frame may announce what it likes: memory follows what has come.
func TestAnnounced(t *testing.T) {
	for name, c := range map[string]struct {
		head string
		is   error
	}{
		"TwoGiB":      {"00017fffffff", frame.ErrMalformed},
		"Negative":    {"0001ffffffff", frame.ErrMalformed},
		"AboveMax":    {"000100100001", frame.ErrMalformed},
		"LargeToken":  {"fe0c00000401", frame.ErrMalformed},
		"LargeLoad":   {"ffff7fffffff", frame.ErrMalformed},
		"UnknownCode": {"fff600000001", frame.ErrMalformed},
		"AtMax":       {"000100100000", io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := hex.DecodeString(c.head)
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = reader(bytes.NewReader(b)).Next()
			runtime.ReadMemStats(&after)
			if !errors.Is(err, c.is) {
				t.Error(err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 256<<10 {
				t.Errorf("took %d bytes", took)
			}
		})
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	budget := frame.NewBudget(200 << 10)
	big := frame.Append(nil, frame.Status, make([]byte, 250<<10))
	open := func() *frame.Reader {
		return &frame.Reader{In: frame.NewInput(&conn{Reader: bytes.NewReader(big)}, budget, time.Minute), Max: 1 << 20}
	}
	first := open()
	if _, err := first.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := open().Next(); !errors.Is(err, frame.ErrCrowded) {
		t.Errorf("a second large frame: %v", err)
	}
	first.In.Close()
	if _, err := open().Next(); err != nil {
		t.Errorf("after the first was closed: %v", err)
	}
}

// late gives the beginning of a frame and then runs into its deadline.
type late struct {
	conn
	given bool
}

func (l *late) Read(b []byte) (int, error) {
	if l.given {
		if l.deadline.IsZero() {
			return 0, errors.New("waits without a deadline")
		}
		return 0, os.ErrDeadlineExceeded
	}
	l.given = true
	return copy(b, "\x00\x01\x00"), nil
}

func TestStalledFrame(t *testing.T) {
	t.Parallel()
	r := &frame.Reader{In: frame.NewInput(&late{}, frame.NewBudget(0), time.Minute), Max: 1 << 10}
	if _, err := r.Next(); !errors.Is(err, frame.ErrStalled) {
		t.Error(err)
	}
}

// TestRecordedTuples compares with what Storm 2.8.3 writes; compat-tests asks it for thousands more.
func TestRecordedTuples(t *testing.T) {
	t.Parallel()
	table := sources()
	for name, c := range map[string]struct {
		hex string
		is  tuple.Tuple
	}{
		"Anchored": {
			"040202eac32f7f175f10015c6e62fccc5eccda0f7b6cdb4d6385089c9cc7fc78e551ec03100600841b8384061e",
			tuple.Tuple{
				Source: table.Of(4, "__metrics"), Anchor: tuple.Anchor{Root: 76665748188021738, Edge: -2680663443691639204},
				More: []tuple.Anchor{{Root: 614006110250892047, Edge: -1418100099845219172}},
			},
		},
		"Plain": {"050300820200ae22", tuple.Tuple{Source: table.Of(5, "__system"), Values: []any{int32(2199)}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := hex.DecodeString(c.hex)
			if err != nil {
				t.Fatal(err)
			}
			got, err := frame.NewTuples(table, nil).Read(b)
			if err != nil {
				t.Fatal(err)
			}
			if c.is.Values == nil {
				c.is.Values = got.Values
			}
			if diff := cmp.Diff(&c.is, got, compareBig); diff != "" {
				t.Error(diff)
			}
			again, err := frame.AppendTuple(nil, 9, got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(frame.Append(nil, frame.Task, b)[6:], again[6:]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTupleRoundTrip(t *testing.T) {
	t.Parallel()
	table := sources()
	tuples := frame.NewTuples(table, nil)
	anchor := rapid.Custom(func(t *rapid.T) tuple.Anchor {
		return tuple.Anchor{Root: rapid.Int64().Filter(func(i int64) bool { return i != 0 }).Draw(t, "root"), Edge: rapid.Int64().Draw(t, "edge")}
	})
	rapid.Check(t, func(t *rapid.T) {
		in := &tuple.Tuple{
			Source: table.Of(rapid.Int32Range(1, 5).Draw(t, "task"), "__metrics"),
			Values: rapid.SliceOfN(rapid.OneOf(rapid.String().AsAny(), rapid.Int64().AsAny()), 3, 5).Draw(t, "values"),
		}
		if rapid.Bool().Draw(t, "tracked") {
			in.Anchor = anchor.Draw(t, "anchor")
			in.More = rapid.SliceOfN(anchor, 0, 3).Draw(t, "more")
		}
		if len(in.More) == 0 {
			in.More = nil
		}
		task := rapid.Int32Range(0, frame.MaxTask).Draw(t, "to")
		b, err := frame.AppendTuple([]byte("before"), task, in)
		if err != nil {
			t.Fatal(err)
		}
		r := reader(strings.NewReader(string(b[6:])))
		f, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		out, err := tuples.Read(f.Payload)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(in, out); diff != "" || int32(f.Code) != task {
			t.Fatalf("to %d: %s", f.Code, diff)
		}
	})
}

// Messages about trees are the same on the wire with and without Values, and are read without.
func TestTrees(t *testing.T) {
	t.Parallel()
	table := sources()
	tuples := frame.NewTuples(table, nil)
	for _, c := range []struct {
		src    *tuple.Source
		values []any
		is     tuple.Tuple
	}{
		{table.Of(4, "__ack_init"), []any{int64(-7), int64(1 << 60), int32(4)}, tuple.Tuple{Anchor: tuple.Anchor{Root: -7, Edge: 1 << 60}, Children: 4}},
		{table.Of(2, "__ack_ack"), []any{int64(1), int64(-1)}, tuple.Tuple{Anchor: tuple.Anchor{Root: 1, Edge: -1}}},
		{table.Of(2, "__ack_fail"), []any{int64(0)}, tuple.Tuple{}},
		{table.Of(1, "__ack_ack"), []any{int64(9), int64(0)}, tuple.Tuple{Anchor: tuple.Anchor{Root: 9}}},
	} {
		boxed, err := frame.AppendTuple(nil, 1, &tuple.Tuple{Source: c.src, Values: c.values})
		if err != nil {
			t.Fatal(err)
		}
		c.is.Source = c.src
		plain, err := frame.AppendTuple(nil, 1, &c.is)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(boxed, plain); diff != "" {
			t.Error(diff)
		}
		got, err := tuples.Read(plain[6:])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&c.is, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRefusedTuples(t *testing.T) {
	t.Parallel()
	table := sources()
	for name, c := range map[string]struct{ hex, text string }{
		"Empty":         {"", "source task"},
		"NoStream":      {"04", "stream"},
		"UnknownTask":   {"0901008101", "no task 9"},
		"UnknownStream": {"0409008101", "no task 4 with a stream 9"},
		"StreamZero":    {"0400008101", "no task 4 with a stream 0"},
		"SystemTask":    {"feffffff0f01008101", "no task -2"},
		"Anchors":       {"0404ffffffff0f01", "4294967295 announced"},
		"HalfAnchor":    {"04040101020304", "1 announced, 4 bytes left"},
		"HalfValues":    {"0404000203", "malformed values"},
		"Trailing":      {"0404000109", "1 bytes after"},
		"NoInteger":     {"0401000203836102", "a value of class 3 about a tree"},
		"NullId":        {"0401008309010001", "a tree without an id"},
		"FourValues":    {"040100050902", "4 values about a tree"},
		"NullValues":    {"04010000", "-1 values about a tree"},
		"AfterTree":     {"040100040902090202020a", "1 bytes after a tuple"},
		"ShortAck":      {"04010001", "0 values on stream __ack_init, which has 3 fields"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := hex.DecodeString(c.hex)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := frame.NewTuples(table, nil).Read(b); err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v, want %q", err, c.text)
			}
		})
	}
	t.Run("UnknownClass", func(t *testing.T) {
		t.Parallel()
		b, err := hex.DecodeString("040401" + "0100000000000000" + "0200000000000000" + "021801")
		if err != nil {
			t.Fatal(err)
		}
		got, err := frame.NewTuples(table, kryo.Registered([]string{"java.util.TreeMap"})).Read(b)
		unknown, is := errors.AsType[*kryo.UnknownClassError](err)
		if !is || unknown.ID != 24 || got == nil || got.Anchor != (tuple.Anchor{Root: 1, Edge: 2}) || !strings.Contains(err.Error(), "java.util.TreeMap") {
			t.Errorf("%+v, %v", got, err)
		}
	})
	for name, in := range map[string]*tuple.Tuple{
		"NoSource": {Source: &tuple.Source{Task: 4, Stream: "other"}},
		"BadValue": {Source: table.Of(4, "default"), Values: []any{func() {}}},
	} {
		if b, err := frame.AppendTuple([]byte("x"), 1, in); err == nil || string(b) != "x" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	table := sources()
	good, err := frame.AppendTuple(nil, 1, &tuple.Tuple{Source: table.Of(4, "default"), Values: []any{"a", int64(1)}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(frame.AppendControl(good, frame.EndOfBatch), good...))
	f.Add(frame.Append(nil, frame.Status, []byte{0x16, 0, 4, 0, 0x80}))
	f.Fuzz(func(_ *testing.T, b []byte) {
		r := reader(bytes.NewReader(b))
		tuples := frame.NewTuples(table, nil)
		for {
			fr, err := r.Next()
			if err != nil {
				return
			}
			if fr.Kind == frame.Task {
				_, _ = tuples.Read(fr.Payload)
			}
		}
	})
}

func BenchmarkAppendTuple(b *testing.B) {
	table := sources()
	t := benchTuple(table)
	var out []byte
	for b.Loop() {
		out, _ = frame.AppendTuple(out[:0], 3, t)
	}
	b.SetBytes(int64(len(out)))
}

func BenchmarkReadTuple(b *testing.B) {
	table := sources()
	payload, err := frame.AppendTuple(nil, 3, benchTuple(table))
	if err != nil {
		b.Fatal(err)
	}
	tuples := frame.NewTuples(table, nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tuples.Read(payload[6:]); err != nil {
			b.Fatal(err)
		}
	}
}

func benchTuple(table *frame.Sources) *tuple.Tuple {
	anchor := tuple.Anchor{Root: 0x1234567890abcdef, Edge: -5}
	return &tuple.Tuple{Source: table.Of(4, "default"), Values: []any{"sentence", int64(12345)}, Anchor: anchor}
}
