// SPDX-License-Identifier: Apache-2.0

// This file opens a store: the arena that an earlier process left or a new one, the snapshot, the journal behind it.

package shard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/arena"
	"github.com/gust-stream/gust/stateapi/journal"
	"github.com/gust-stream/gust/stateapi/table"
)

// expireEvery is how often namespaces that nobody uses are looked for.
const expireEvery = 10 * time.Minute

// Run opens the store, and works until ctx ends or the disk fails. The arena stays for the next process.
func (s *Store) Run(ctx context.Context) (err error) {
	if err := os.MkdirAll(s.config.Dir, 0o700); err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	s.group, s.ctx = group, ctx
	defer func() {
		if s.arena != nil {
			err = errors.Join(err, s.arena.Close())
		}
	}()
	if err := s.start(ctx); err != nil {
		return errors.Join(fmt.Errorf("open the store: %w", err), group.Wait(), s.closeJournal())
	}
	close(s.ready)
	group.Go(func() error { return s.tidy(ctx) })
	err = group.Wait()
	return errors.Join(err, s.closeJournal())
}

func (s *Store) closeJournal() error {
	if s.journal == nil {
		return nil
	}
	return s.journal.Close(context.Background())
}

// tidy takes snapshots that are due, and removes what nobody uses any more.
func (s *Store) tidy(ctx context.Context) error {
	ticker := time.NewTicker(expireEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			s.expire(ctx)
		case <-s.full:
			if err := s.Snapshot(ctx); err != nil && ctx.Err() == nil {
				s.log.Error("no snapshot was taken, the journal grows", zap.Error(err))
			}
		}
	}
}

// expire removes namespaces that nobody used for too long.
func (s *Store) expire(ctx context.Context) {
	if s.config.Retain <= 0 {
		return
	}
	for _, i := range s.Namespaces() {
		if time.Since(i.Opened) < s.config.Retain || time.Since(s.began) < s.config.Retain {
			continue
		}
		if err := s.remove(ctx, i.Name); err != nil {
			s.log.Warn("a state that nobody uses is not removed", zap.Any("state", i.Name), zap.Error(err))
			return
		}
		s.log.Info("removed a state that nobody used", zap.Any("state", i.Name), zap.Time("last_used", i.Opened))
	}
}

// start reads what there is.
func (s *Store) start(ctx context.Context) error {
	began := time.Now()
	s.began = began
	m, err := s.readManifest()
	if err != nil {
		return err
	}
	s.kept, s.taken = m, m.Position
	if s.journal, err = journal.Open(s.config.Dir, journal.Options{Start: m.Position}, s.log); err != nil {
		return err
	}
	if end := s.journal.End(); s.journal.Start() > m.Position || end < m.Position {
		return fmt.Errorf("the journal in %s has %d to %d, the snapshot goes on at %d: %w", s.config.Dir, s.journal.Start(), end, m.Position, stateapi.ErrCorrupt)
	}
	adopted, err := s.openArena()
	if err != nil {
		return err
	}
	states, pending, err := s.replay(ctx, m, adopted)
	if err != nil {
		return err
	}
	inMemory := len(adopted)
	for id, one := range states {
		n := newNamespace(*one)
		s.names[one.Def.Name], s.ids[id] = n, n
		if one.Session != 0 {
			s.sessions[one.Session] = n
		}
		n.table, n.born = adopted[id], one.Position
		delete(adopted, id)
	}
	for _, t := range adopted { // of what was removed, or never opened
		t.Free()
	}
	for id, n := range s.ids {
		s.bringUp(ctx, n, pending[id])
		delete(pending, id)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	s.sweepImages()
	s.log.Info("states are open", zap.Int("states", len(s.ids)), zap.Int("of_memory", inMemory), zap.Uint64("bytes", s.arena.InUse()),
		zap.Duration("took", time.Since(began)))
	return nil
}

// bringUp makes a namespace's table what the snapshot and later commits say. Where there is no room, it is tried again.
func (s *Store) bringUp(ctx context.Context, n *namespace, later []committed) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fault := n.fault
	if n.table == nil && fault == nil {
		fault = s.build(ctx, n)
		n.unbuilt = errors.Is(fault, stateapi.ErrNoRoom)
	}
	n.queue = later
	if fault == nil {
		fault = n.bring()
	}
	if n.fault = fault; fault == nil {
		n.table.SetApplied(n.saved.Commit)
		return
	}
	s.log.Error("a state cannot be used", zap.Any("state", n.saved.Def.Name), zap.Error(fault))
	if errors.Is(fault, stateapi.ErrNoRoom) {
		n.work(s)
	}
}

// replay plays the journal over a snapshot: what each namespace is, and the commits since that are not in memory.
func (s *Store) replay(ctx context.Context, m manifest, inMemory map[uint64]*table.Table) (map[uint64]*saved, map[uint64][]committed, error) {
	states, pending := map[uint64]*saved{}, map[uint64][]committed{}
	for i := range m.Namespaces {
		one := m.Namespaces[i]
		states[one.ID] = &one
	}
	lost := map[uint64]string{}
	for r, err := range s.journal.Read(m.Position) {
		if damage, ok := errors.AsType[*journal.DamageError](err); ok {
			s.damaged(states, damage, inMemory, lost)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		h, batch, err := decode(r.Body)
		if err != nil {
			return nil, nil, fmt.Errorf("journal at %d: %w", r.Position, err)
		}
		one := states[h.ID]
		switch {
		case h.Kind == kindRemove:
			delete(states, h.ID)
			delete(pending, h.ID)
			continue
		case one == nil && h.Kind == kindOpen && h.Def != nil:
			one = &saved{ID: h.ID, Def: *h.Def, Position: r.Position, Damaged: lost[h.ID]}
			states[h.ID] = one
		case one == nil, r.Position < one.Position: // removed already when the snapshot was taken, or in it
			continue
		}
		t := inMemory[h.ID]
		if h.Kind == KindCommit && !one.Prepared && (t == nil || t.Position() < r.End) {
			one.Damaged = cmp.Or(one.Damaged, fmt.Sprintf("journal at %d: a commit without its batch", r.Position))
		}
		if c, ok := one.note(h, batch); ok {
			if c.position = r.End; t != nil && c.position <= t.Position() {
				continue
			}
			pending[h.ID] = append(pending[h.ID], c)
		}
	}
	return states, pending, nil
}

// damaged notes what part of the journal is lost, with the namespace that it was about or, if that cannot be told, with all. One whose
// table has later commits in memory has lost nothing but, perhaps, a batch that nobody committed.
func (s *Store) damaged(states map[uint64]*saved, d *journal.DamageError, inMemory map[uint64]*table.Table, lost map[uint64]string) {
	s.log.Error("the journal of keyed state is damaged", zap.Error(d))
	if d.Known {
		lost[d.Tag] = d.Error()
	}
	for id, one := range states {
		t := inMemory[id]
		if (!d.Known || d.Tag == id) && d.End > one.Position && (t == nil || t.Position() < d.End) {
			one.Damaged = d.Error()
		}
	}
}

// openArena takes over the tables that an earlier process left in memory, by namespace, or makes an arena without any.
func (s *Store) openArena() (map[uint64]*table.Table, error) {
	if err := os.MkdirAll(s.config.ArenaDir, 0o700); err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(s.config.ArenaDir, "arena-*"))
	if err != nil {
		return nil, err
	}
	var tables map[uint64]*table.Table
	for _, path := range paths {
		a, err := arena.Adopt(path)
		if errors.Is(err, arena.ErrInUse) {
			return nil, err
		}
		if err != nil {
			s.log.Warn("memory of an earlier process cannot be used, the disk is read", zap.String("file", path), zap.Error(err))
			if err := os.Remove(path); err != nil {
				return nil, err
			}
			continue
		}
		if s.arena == nil && !s.config.NewArena {
			if tables, err = s.adopt(a); err == nil {
				s.arena = a
				continue
			}
			s.log.Warn("memory of an earlier process cannot be used, the disk is read", zap.String("file", path), zap.Error(err))
		}
		if err := errors.Join(a.Retire(), a.Close()); err != nil {
			return nil, err
		}
	}
	if s.arena == nil {
		if s.arena, err = arena.Create(s.config.ArenaDir, s.config.Capacity); err != nil {
			return nil, err
		}
		tables = nil
	}
	s.arena.SetLimit(s.config.MemoryMax)
	return tables, nil
}

// adopt opens the tables of an arena. One that is ahead of the journal belongs to another disk.
func (s *Store) adopt(a *arena.Arena) (map[uint64]*table.Table, error) {
	tables := map[uint64]*table.Table{}
	for offset, id := range a.Descriptors() {
		t, err := table.Open(a, offset, nil)
		if err != nil {
			s.log.Warn("a state in memory is damaged, it is read from the disk", zap.Uint64("namespace", id), zap.Error(err))
			a.Drop(offset)
			continue
		}
		if t.Position() > s.journal.End() {
			return nil, fmt.Errorf("it knows of changes that the journal does not have: %w", stateapi.ErrCorrupt)
		}
		tables[id] = t
	}
	return tables, a.Sweep()
}

// build makes a namespace's table from the snapshot.
func (s *Store) build(ctx context.Context, n *namespace) error {
	t, err := table.New(s.arena, n.id, int(n.saved.Def.Shards), nil)
	if err != nil {
		return err
	}
	if err := s.eachImage(ctx, &n.saved, t.Install); err != nil {
		t.Free()
		return err
	}
	t.SetPosition(n.born)
	t.SetSession(n.saved.Session)
	n.table = t
	return nil
}
