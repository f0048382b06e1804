// SPDX-License-Identifier: Apache-2.0

// This file is a store that forgets: the real tables in a real arena behind the real socket, but no disk. Commits reach the table a moment late.

package state

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/arena"
	"github.com/gust-stream/gust/stateapi/server"
	"github.com/gust-stream/gust/stateapi/shard"
	"github.com/gust-stream/gust/stateapi/statetest"
	"github.com/gust-stream/gust/stateapi/table"
)

// lag is how late the table is.
const lag = 2 * time.Millisecond

type forgetful struct {
	shard.Store // what no client asks for

	ready chan struct{}
	dir   string

	mu       sync.Mutex
	arena    *arena.Arena
	last     uint64
	spaces   map[stateapi.Name]*space
	sessions map[uint64]*space
}

type space struct {
	def      stateapi.Definition
	table    *table.Table
	session  uint64
	commit   uint64
	batches  [][]byte // committed, not applied
	prepared bool
	txid     int64
	batch    []byte
	done     bool // lastDone was committed
	lastDone int64
}

func newForgetful(t testing.TB, dir string) *forgetful {
	t.Helper()
	f := &forgetful{ready: make(chan struct{}), dir: dir, spaces: map[stateapi.Name]*space{}, sessions: map[uint64]*space{}}
	close(f.ready)
	var err error
	if f.arena, err = arena.Create(dir, 1<<33); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.arena.Retire(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *forgetful) Ready() <-chan struct{} { return f.ready }

func (f *forgetful) number() uint64 {
	f.last++
	return f.last
}

func (f *forgetful) Open(_ context.Context, d stateapi.Definition, resume uint64) (shard.Opened, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.spaces[d.Name]
	if s == nil {
		t, err := table.New(f.arena, f.number(), int(d.Shards), nil)
		if err != nil {
			return shard.Opened{}, err
		}
		s = &space{def: d, table: t}
		f.spaces[d.Name] = s
	}
	switch {
	case s.def.Encoder != d.Encoder:
		return shard.Opened{}, stateapi.ErrEncoder
	case s.def.Tasks != d.Tasks:
		return shard.Opened{}, stateapi.ErrTasks
	case resume != 0 && resume != s.session:
		return shard.Opened{}, stateapi.ErrFenced
	case resume == 0:
		delete(f.sessions, s.session)
		s.session = f.number()
		f.sessions[s.session] = s
	}
	return shard.Opened{
		Session: s.session, ArenaPath: f.arena.Path(), ArenaID: f.arena.ID(), Descriptor: s.table.Descriptor(), NamespaceID: s.table.ID(),
		Commit: s.commit, Prepared: s.prepared, TxID: s.txid, Batch: s.batch,
	}, nil
}

func (f *forgetful) in(session uint64, do func(s *space) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[session]
	if s == nil {
		return stateapi.ErrFenced
	}
	return do(s)
}

func (f *forgetful) Prepare(_ context.Context, session uint64, txid int64, batch []byte) error {
	return f.in(session, func(s *space) error {
		s.prepared, s.txid, s.batch = true, txid, batch
		return nil
	})
}

func (f *forgetful) Commit(_ context.Context, session uint64, txid int64) (number uint64, err error) {
	err = f.in(session, func(s *space) error {
		switch {
		case s.prepared && s.txid == txid:
			f.committed(s, s.batch)
			s.prepared, s.batch, s.done, s.lastDone = false, nil, true, txid
		case !s.done || s.lastDone != txid:
			return fmt.Errorf("%s: %w", s.def.Component, stateapi.ErrUnknownPrepare)
		}
		number = s.commit
		return nil
	})
	return number, err
}

func (f *forgetful) Write(_ context.Context, session uint64, batch []byte) (number uint64, err error) {
	err = f.in(session, func(s *space) error {
		f.committed(s, batch)
		number = s.commit
		return nil
	})
	return number, err
}

func (f *forgetful) committed(s *space, batch []byte) {
	s.commit++
	s.batches = append(s.batches, batch)
	time.AfterFunc(lag, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if err := s.apply(); err != nil {
			panic(err)
		}
	})
}

// apply brings the table up to the last commit.
func (s *space) apply() error {
	for _, batch := range s.batches {
		if err := s.table.Apply(batch, 1); err != nil {
			return err
		}
	}
	s.batches = nil
	s.table.SetApplied(s.commit)
	return nil
}

func (f *forgetful) Rollback(_ context.Context, session uint64) error {
	return f.in(session, func(s *space) error {
		s.prepared, s.batch = false, nil
		return nil
	})
}

func (f *forgetful) Get(_ context.Context, session uint64, dst, key []byte) (out []byte, found bool, err error) {
	err = f.in(session, func(s *space) error {
		if err := s.apply(); err != nil {
			return err
		}
		out, found, err = s.table.Get(dst, key)
		return err
	})
	return out, found, err
}

func (f *forgetful) Iterate(_ context.Context, session, cursor uint64, want int) (entries []shard.Entry, next uint64, err error) {
	err = f.in(session, func(s *space) error {
		if err := s.apply(); err != nil {
			return err
		}
		size := 0
		for next = cursor; ; {
			if next, err = s.table.EachIn(next, func(key, value []byte) bool {
				entries = append(entries, shard.Entry{Key: append([]byte{}, key...), Value: append([]byte{}, value...)})
				size += len(key) + len(value)
				return true
			}); err != nil || next == 0 || size >= want {
				return err
			}
		}
	})
	return entries, next, err
}

// retire moves all tables into another arena.
func (f *forgetful) retire() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	fresh, err := arena.Create(f.dir, 1<<33)
	if err != nil {
		return err
	}
	for _, s := range f.spaces {
		if err := s.apply(); err != nil {
			return err
		}
		moved, err := table.New(fresh, f.number(), int(s.def.Shards), nil)
		if err != nil {
			return err
		}
		for key, value := range s.table.All(&err) {
			if err := moved.Put(key, value); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
		moved.SetApplied(s.commit)
		s.table = moved
	}
	old := f.arena
	f.arena = fresh
	return old.Retire()
}

// bed is a state server, and plays cases on Java states.
type bed struct {
	driver *driver
	remote bool
	socket string
	start  func() error
	end    func() error
	// retire starts the server with an arena that it makes from its files.
	retire func() error
	kill   func() error
}

// Restart ends the server and starts it again.
func (b *bed) Restart(how statetest.Restart) error {
	end, start := b.end, b.start
	switch how {
	case statetest.Kill:
		end = b.kill
	case statetest.Retire:
		start = b.retire
	}
	if err := end(); err != nil {
		return err
	}
	return start()
}

// newBed starts a server that forgets, in this process.
func newBed(t testing.TB, d *driver, remote bool) *bed {
	t.Helper()
	dir := t.TempDir()
	store := newForgetful(t, dir)
	b := &bed{driver: d, remote: remote, socket: filepath.Join(dir, "state.sock")}
	var stop context.CancelFunc
	ended := make(chan error, 1)
	b.start = func() error {
		var ctx context.Context
		ctx, stop = context.WithCancel(context.Background())
		s := server.New(server.Config{Socket: b.socket}, store, zap.NewNop())
		go func() { ended <- s.Run(ctx) }()
		return nil
	}
	b.end = func() error {
		stop()
		return <-ended
	}
	b.kill = b.end
	b.retire = func() error {
		if err := store.retire(); err != nil {
			return err
		}
		return b.start()
	}
	b.begin(t)
	return b
}

// begin starts the server for a test.
func (b *bed) begin(t testing.TB) {
	t.Helper()
	if err := b.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.end(); err != nil {
			t.Error(err)
		}
	})
}
