// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/server"
	"github.com/gust-stream/gust/stateapi/shard"
	"github.com/gust-stream/gust/stateapi/wire"
)

// fake is a store in a map.
type fake struct {
	ready   chan struct{}
	block   chan struct{} // commits wait for it, if set
	ended   chan struct{} // a commit's context has ended
	reached chan struct{} // a commit waits

	mu       sync.Mutex
	sessions map[uint64]stateapi.Name
	values   map[stateapi.Name]map[string]string
	batches  [][]byte
	commits  uint64
}

func newFake() *fake {
	f := &fake{
		ready: make(chan struct{}), ended: make(chan struct{}, 100), reached: make(chan struct{}, 100), sessions: map[uint64]stateapi.Name{},
		values: map[stateapi.Name]map[string]string{},
	}
	close(f.ready)
	return f
}

func (f *fake) Ready() <-chan struct{} { return f.ready }

func (f *fake) Open(_ context.Context, d stateapi.Definition, _ uint64) (shard.Opened, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	session := uint64(len(f.sessions) + 1)
	f.sessions[session] = d.Name
	if f.values[d.Name] == nil {
		f.values[d.Name] = map[string]string{}
	}
	return shard.Opened{Session: session, ArenaPath: "/dev/shm/none", Commit: f.commits}, nil
}

func (f *fake) Prepare(_ context.Context, _ uint64, _ int64, batch []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches = append(f.batches, batch)
	return nil
}

func (f *fake) Commit(ctx context.Context, _ uint64, txid int64) (uint64, error) {
	if f.block != nil {
		f.reached <- struct{}{}
		select {
		case <-f.block:
		case <-ctx.Done():
			f.ended <- struct{}{}
			return 0, ctx.Err()
		}
	}
	if txid < 0 {
		return 0, fmt.Errorf("txid %d: %w", txid, stateapi.ErrUnknownPrepare)
	}
	return 1, nil
}

func (f *fake) Write(_ context.Context, session uint64, batch []byte) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	values := f.values[f.sessions[session]]
	f.commits++
	return f.commits, stateapi.Operations(batch, func(_ byte, key, value []byte) error {
		values[string(key)] = string(value)
		return nil
	})
}

func (f *fake) Rollback(context.Context, uint64) error { return errors.New("no reason") }

func (f *fake) Get(_ context.Context, session uint64, dst, key []byte) ([]byte, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	value, found := f.values[f.sessions[session]][string(key)]
	return append(dst, value...), found, nil
}

func (f *fake) Iterate(_ context.Context, session, _ uint64, _ int) ([]shard.Entry, uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []shard.Entry
	values := f.values[f.sessions[session]]
	for _, key := range slices.Sorted(maps.Keys(values)) {
		all = append(all, shard.Entry{Key: []byte(key), Value: []byte(values[key])})
	}
	return all, 0, nil
}

func (f *fake) Drop(context.Context, uint64) error { return nil }

func (f *fake) Namespaces() []shard.Info {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []shard.Info
	for session, name := range f.sessions {
		all = append(all, shard.Info{Definition: stateapi.Definition{Name: name}, Session: session, Opened: time.UnixMilli(7)})
	}
	return all
}

func (f *fake) Remove(context.Context, stateapi.Name) error { return nil }
func (f *fake) Verify(context.Context) error                { return stateapi.ErrCorrupt }
func (f *fake) Snapshot(context.Context) error              { return nil }

// start runs a server and ends it with the test.
func start(t *testing.T, store server.Store, change func(*server.Config, *server.Server)) string {
	t.Helper()
	cfg := server.Config{Socket: filepath.Join(t.TempDir(), "state.sock")}
	if change != nil {
		change(&cfg, nil)
	}
	s := server.New(cfg, store, zaptest.NewLogger(t, zaptest.Level(zap.ErrorLevel)))
	if change != nil {
		change(&cfg, s)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("server: %v", err)
		}
	})
	select {
	case <-s.Ready():
	case err := <-done:
		done <- nil
		t.Fatalf("server ended: %v", err)
	}
	return cfg.Socket
}

// talk is a client that says what it is told to.
type talk struct {
	t       *testing.T
	conn    net.Conn
	in      *wire.Reader
	out     wire.Builder
	request uint32
}

func connect(t *testing.T, socket string) *talk {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return &talk{t: t, conn: conn, in: wire.NewReader(conn)}
}

// ask sends a request and returns the answer's fields, or its error.
func (k *talk) ask(kind wire.Type, body func(b *wire.Builder)) (*wire.Fields, error) {
	k.t.Helper()
	k.request++
	k.out.Begin(kind, k.request)
	if body != nil {
		body(&k.out)
	}
	frame, err := k.out.Frame()
	if err != nil {
		k.t.Fatal(err)
	}
	if _, err := k.conn.Write(frame); err != nil {
		return nil, err
	}
	return k.answer(kind)
}

func (k *talk) answer(kind wire.Type) (*wire.Fields, error) {
	k.t.Helper()
	f, err := k.in.Next()
	switch {
	case err != nil:
		return nil, err
	case f.Type == wire.Error:
		return nil, wire.ReadError(wire.NewFields(f.Body))
	case f.Type != kind+wire.Answer || f.Request != k.request:
		k.t.Fatalf("answer of type %d to request %d", f.Type, f.Request)
	}
	return wire.NewFields(bytes.Clone(f.Body)), nil
}

func (k *talk) must(kind wire.Type, body func(b *wire.Builder)) *wire.Fields {
	k.t.Helper()
	f, err := k.ask(kind, body)
	if err != nil {
		k.t.Fatalf("request of type %d: %v", kind, err)
	}
	return f
}

func (k *talk) hello() *talk {
	k.t.Helper()
	k.must(wire.Hello, func(b *wire.Builder) {
		b.U32(wire.Magic)
		b.U16(wire.Version)
	})
	return k
}

func definition(owner string, task int32) stateapi.Definition {
	return stateapi.Definition{
		Name: stateapi.Name{Topology: "words", Owner: owner, Component: "count", Task: task}, Tasks: 4, Shards: 32, Encoder: "none",
	}
}

func (k *talk) open(d stateapi.Definition) uint64 {
	k.t.Helper()
	f := k.must(wire.Open, func(b *wire.Builder) { (&wire.OpenRequest{Definition: d}).Append(b) })
	return wire.ReadOpened(f).Session
}

func head(length uint32, kind wire.Type) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, length), byte(kind), 1, 0, 0, 0)
}
