// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/wire"
)

func TestMessagesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		blob := rapid.SliceOf(rapid.Byte())
		ask := wire.OpenRequest{Resume: rapid.Uint64().Draw(t, "resume"), Definition: stateapi.Definition{
			Name: stateapi.Name{
				Topology: rapid.String().Draw(t, "topology"), Owner: rapid.String().Draw(t, "owner"),
				Component: rapid.String().Draw(t, "component"), Task: rapid.Int32().Draw(t, "task"),
			},
			Tasks: rapid.Int32().Draw(t, "tasks"), Shards: rapid.Int32().Draw(t, "shards"), Encoder: rapid.String().Draw(t, "encoder"),
		}}
		answer := wire.Opened{
			Session: rapid.Uint64().Draw(t, "session"), ArenaPath: rapid.String().Draw(t, "path"), ArenaID: rapid.Uint64().Draw(t, "id"),
			Descriptor: rapid.Uint64().Draw(t, "descriptor"), NamespaceID: rapid.Uint64().Draw(t, "namespace"),
			Commit: rapid.Uint64().Draw(t, "commit"), Prepared: rapid.Bool().Draw(t, "prepared"),
		}
		if answer.Prepared {
			answer.TxID, answer.Batch = rapid.Int64().Draw(t, "txid"), append([]byte{}, blob.Draw(t, "batch")...)
		}
		var b wire.Builder
		var in bytes.Buffer
		b.Begin(wire.Open, 7)
		ask.Append(&b)
		send(t, &b, &in)
		b.Begin(wire.Open+wire.Answer, 7)
		answer.Append(&b)
		send(t, &b, &in)

		r := wire.NewReader(&in)
		fields := next(t, r, wire.Open, 7)
		if got := wire.ReadOpenRequest(fields); fields.End() != nil || got != ask {
			t.Fatalf("got %v, %v, want %v", got, fields.Err(), ask)
		}
		fields = next(t, r, wire.Open+wire.Answer, 7)
		got := wire.ReadOpened(fields)
		if diff := cmp.Diff(answer, got); fields.End() != nil || diff != "" {
			t.Fatalf("%v %s", fields.Err(), diff)
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last frame: %v", err)
		}
	})
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func send(t fataler, b *wire.Builder, out *bytes.Buffer) {
	t.Helper()
	frame, err := b.Frame()
	if err != nil {
		t.Fatalf("frame: %v", err)
	}
	out.Write(frame)
}

func next(t fataler, r *wire.Reader, want wire.Type, request uint32) *wire.Fields {
	t.Helper()
	f, err := r.Next()
	if err != nil || f.Type != want || f.Request != request {
		t.Fatalf("got type %d, request %d, %v", f.Type, f.Request, err)
	}
	return wire.NewFields(f.Body)
}

func TestKeptBytesSurviveTheNextFrame(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 10, 1000, 60_000, 70_000, 1 << 20} {
		var b wire.Builder
		var in bytes.Buffer
		for i := range 2 {
			b.Begin(wire.Write, uint32(i))
			b.Bytes(bytes.Repeat([]byte{byte('a' + i)}, size))
			send(t, &b, &in)
		}
		r := wire.NewReader(&in)
		kept := r.Keep(next(t, r, wire.Write, 0).Bytes())
		next(t, r, wire.Write, 1)
		if !bytes.Equal(kept, bytes.Repeat([]byte{'a'}, size)) {
			t.Fatalf("%d bytes were overwritten", size)
		}
	}
}

func TestAnAnnouncedLengthTakesNoMemory(t *testing.T) {
	t.Parallel()
	head := binary.LittleEndian.AppendUint32(nil, wire.MaxFrame)
	head = append(head, byte(wire.Write), 0, 0, 0, 0, 1, 2, 3)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := wire.NewReader(bytes.NewReader(head)).Next()
	runtime.ReadMemStats(&after)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("got %v", err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 32<<20 {
		t.Fatalf("took %d bytes", took)
	}
	for _, n := range []uint32{0, wire.Overhead - 1, wire.MaxFrame + 1, 1 << 31, 1<<32 - 1} {
		head := append(binary.LittleEndian.AppendUint32(nil, n), make([]byte, 20)...)
		if _, err := wire.NewReader(bytes.NewReader(head)).Next(); !errors.Is(err, wire.ErrMalformed) {
			t.Fatalf("length %d: got %v", n, err)
		}
	}
}

func TestARefusedLengthIsNotRead(t *testing.T) {
	t.Parallel()
	var b wire.Builder
	var in bytes.Buffer
	b.Begin(wire.Write, 9)
	b.Bytes(make([]byte, 100))
	send(t, &b, &in)
	r := wire.NewReader(&in)
	r.Admit = func(length int) error {
		if length != 101 {
			t.Errorf("asked about %d bytes", length)
		}
		return stateapi.ErrTooLarge
	}
	if f, err := r.Next(); !errors.Is(err, stateapi.ErrTooLarge) || f.Request != 9 {
		t.Fatalf("got %v, %v", f, err)
	}
}

func TestErrorsKeepTheirKind(t *testing.T) {
	t.Parallel()
	for _, kind := range []error{
		stateapi.ErrFenced, stateapi.ErrUnknownPrepare, stateapi.ErrEncoder, stateapi.ErrTasks, stateapi.ErrNoRoom,
		stateapi.ErrNotReady, stateapi.ErrDenied, stateapi.ErrTooLarge, wire.ErrMalformed, wire.ErrVersion,
	} {
		sent := fmt.Errorf("state of task 3: %w", kind)
		var b wire.Builder
		var in bytes.Buffer
		b.Begin(wire.Error, 1)
		wire.AppendError(&b, sent)
		send(t, &b, &in)
		got := wire.ReadError(next(t, wire.NewReader(&in), wire.Error, 1))
		if !errors.Is(got, kind) || got.Error() != sent.Error() {
			t.Fatalf("got %v, want %v", got, sent)
		}
	}
	if wire.Code(io.EOF) != wire.CodeInternal {
		t.Fatalf("code of an unknown error is %d", wire.Code(io.EOF))
	}
}

func FuzzReader(f *testing.F) {
	var b wire.Builder
	b.Begin(wire.Open, 1)
	(&wire.OpenRequest{Definition: stateapi.Definition{Encoder: "kryo5"}}).Append(&b)
	frame, _ := b.Frame()
	f.Add(frame)
	b.Begin(wire.Open+wire.Answer, 1)
	(&wire.Opened{ArenaPath: "/dev/shm/x", Prepared: true, Batch: []byte{1}}).Append(&b)
	frame, _ = b.Frame()
	f.Add(frame)
	f.Add([]byte{255, 255, 255, 15, 5, 0, 0, 0, 0, 1})
	f.Fuzz(func(_ *testing.T, in []byte) {
		r := wire.NewReader(bytes.NewReader(in))
		for {
			frame, err := r.Next()
			if err != nil {
				return
			}
			wire.ReadOpenRequest(wire.NewFields(frame.Body))
			wire.ReadOpened(wire.NewFields(frame.Body))
			_ = wire.ReadError(wire.NewFields(frame.Body))
		}
	})
}
