// SPDX-License-Identifier: Apache-2.0

// This file has the store's methods for sessions.

package shard

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/arena"
	"github.com/gust-stream/gust/stateapi/journal"
	"github.com/gust-stream/gust/stateapi/table"
)

// Store keeps the namespaces of one machine.
type Store struct {
	config Config
	copies Copies // nil: none
	log    *zap.Logger
	ready  chan struct{}
	full   chan struct{} // holds a mark when a snapshot is due

	// Set before ready is closed.
	arena   *arena.Arena
	journal *journal.Journal
	began   time.Time
	group   *errgroup.Group
	ctx     context.Context //nolint:containedctx // that of Run

	snapshots sync.Mutex // held while a snapshot is taken; guards kept
	kept      manifest
	spoiled   map[string]bool // files that are damaged; guarded by snapshots

	mu    sync.Mutex // guards all below
	names map[stateapi.Name]*namespace
	ids   map[uint64]*namespace
	// sessions has those that opened a namespace last.
	sessions map[uint64]*namespace
	taken    uint64 // position of the newest snapshot
}

// New makes a Store that nothing has opened yet.
func New(config Config, log *zap.Logger) *Store {
	if config.Capacity == 0 {
		config.Capacity = DefaultCapacity
	}
	if config.SnapshotBytes == 0 {
		config.SnapshotBytes = DefaultSnapshotBytes
	}
	return &Store{
		config: config, log: log, ready: make(chan struct{}), full: make(chan struct{}, 1), spoiled: map[string]bool{},
		names: map[stateapi.Name]*namespace{}, ids: map[uint64]*namespace{}, sessions: map[uint64]*namespace{},
	}
}

// Ready is closed when namespaces can be opened.
func (s *Store) Ready() <-chan struct{} { return s.ready }

// spawn runs something until Run ends.
func (s *Store) spawn(do func(ctx context.Context)) {
	s.group.Go(func() error {
		do(s.ctx)
		return nil
	})
}

// newID is a random number that is not 0.
func newID() uint64 {
	var b [8]byte
	for {
		_, _ = rand.Read(b[:]) // never fails
		if id := binary.LittleEndian.Uint64(b[:]); id != 0 {
			return id
		}
	}
}

func (s *Store) find(name stateapi.Name) *namespace {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names[name]
}

// Open begins a session and ends older ones; a namespace that is not there comes into being. resume names a session that goes on if no
// newer one has begun.
func (s *Store) Open(ctx context.Context, d stateapi.Definition, resume uint64) (Opened, error) {
	select {
	case <-s.ready:
	default:
		return Opened{}, fmt.Errorf("states are being read from the disk: %w", stateapi.ErrNotReady)
	}
	if d.Shards == 0 {
		d.Shards = stateapi.DefaultShards
	}
	if s.copies != nil {
		if err := s.copies.Ready(ctx, d); err != nil {
			return Opened{}, fmt.Errorf("open state of task %d of %s of topology %s: %w", d.Task, d.Component, d.Topology, err)
		}
	}
	n, err := s.namespaceOf(d)
	if err != nil {
		return Opened{}, err
	}
	if err := n.begin(ctx); err != nil {
		return Opened{}, err
	}
	defer n.end()
	n.mu.Lock()
	err = n.admits(d, resume)
	same := resume != 0 && n.saved.Session == resume
	d.Shards, n.saved.Used = n.saved.Def.Shards, time.Now() // the table's stay what they were
	n.mu.Unlock()
	if err != nil {
		return Opened{}, err
	}
	if !same {
		r := record{Kind: kindOpen, ID: n.id, Def: &d, Session: newID(), Time: time.Now()}
		if err := s.write(ctx, n, r, nil); err != nil {
			return Opened{}, err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone {
		return Opened{}, stateapi.ErrNotReady
	}
	n.table.SetSession(n.saved.Session)
	return Opened{
		Session: n.saved.Session, ArenaPath: s.arena.Path(), ArenaID: s.arena.ID(), Descriptor: n.table.Descriptor(), NamespaceID: n.id,
		Commit: n.saved.Commit, Prepared: n.saved.Prepared, TxID: n.saved.TxID, Batch: n.saved.Batch,
	}, nil
}

// admits says what speaks against a session. The caller holds mu.
func (n *namespace) admits(d stateapi.Definition, resume uint64) error {
	was := n.saved.Def
	name := fmt.Sprintf("state of task %d of %s of topology %s", d.Task, d.Component, d.Topology)
	switch {
	case n.gone:
		return fmt.Errorf("%s: %w", name, stateapi.ErrNotReady)
	case n.fault != nil:
		return n.refusal()
	case was.Tasks != d.Tasks:
		return fmt.Errorf("%s: it has %d tasks now and had %d: %w", name, d.Tasks, was.Tasks, stateapi.ErrTasks)
	case was.Encoder != d.Encoder:
		return fmt.Errorf("%s: the encoder is %q and was %q: %w", name, d.Encoder, was.Encoder, stateapi.ErrEncoder)
	case resume != 0 && n.saved.Session != 0 && n.saved.Session != resume:
		return fmt.Errorf("%s: %w", name, stateapi.ErrFenced)
	}
	return nil
}

// namespaceOf finds a namespace or makes an empty one. It is durable with its first session.
func (s *Store) namespaceOf(d stateapi.Definition) (*namespace, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.names[d.Name]; n != nil {
		return n, nil
	}
	n := newNamespace(saved{ID: newID(), Def: d, Used: time.Now()})
	t, err := table.New(s.arena, n.id, int(d.Shards), nil)
	if err != nil {
		return nil, fmt.Errorf("begin a state: %w", err)
	}
	n.table, n.born = t, s.journal.End()
	t.SetPosition(n.born)
	s.names[d.Name], s.ids[n.id] = n, n
	return n, nil
}

// write journals a record, has it durable, and notes it.
func (s *Store) write(ctx context.Context, n *namespace, r record, batch []byte) error {
	parts, err := r.encode(batch)
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.writing++
	n.mu.Unlock()
	_, end, err := s.journal.Append(n.id, parts...)
	if err == nil {
		// The record is in the journal: whatever becomes of the caller, this process goes on from it as a start would.
		err = s.journal.Sync(context.WithoutCancel(ctx), end)
	}
	if err != nil && !errors.Is(err, stateapi.ErrNoRoom) { // nobody knows what is on the disk
		s.group.Go(func() error { return fmt.Errorf("journal of keyed state: %w", err) })
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.writing--
	if err != nil {
		return err
	}
	older := n.saved.Session
	if c, ok := n.saved.note(r, batch); ok {
		c.position = end
		n.push(c, s)
	}
	n.saved.Used = time.Now()
	if r.Kind == kindOpen {
		s.mu.Lock()
		delete(s.sessions, older)
		s.sessions[r.Session] = n
		s.mu.Unlock()
	}
	s.due(end)
	return nil
}

// due asks for a snapshot when the journal has grown enough.
func (s *Store) due(end uint64) {
	s.mu.Lock()
	taken, least := s.taken, uint64(s.config.SnapshotBytes)
	s.mu.Unlock()
	if end-taken < max(least, min(s.arena.InUse()/2, 8*least)) {
		return
	}
	select {
	case s.full <- struct{}{}:
	default:
	}
}

// change makes a session's change. already says that it was made before.
func (s *Store) change(ctx context.Context, session uint64, r record, batch []byte, check func(*saved) (already bool, err error)) (uint64, error) {
	s.mu.Lock()
	n := s.sessions[session]
	s.mu.Unlock()
	if n == nil {
		return 0, stateapi.ErrFenced
	}
	if err := n.begin(ctx); err != nil {
		return 0, err
	}
	defer n.end()
	n.mu.Lock()
	d := n.saved.Def
	err := n.allows(session)
	already := false
	if err == nil && check != nil {
		if already, err = check(&n.saved); err != nil {
			err = fmt.Errorf("state of task %d of %s of topology %s: %w", d.Task, d.Component, d.Topology, err)
		}
	}
	commit := n.saved.Commit
	n.mu.Unlock()
	switch {
	case err != nil:
		return 0, err
	case already && s.copies == nil:
		return commit, nil
	case already:
		return commit, s.copies.Ready(ctx, d)
	}
	r.ID = n.id
	if s.copies != nil {
		whole := batch
		if r.Note, err = s.copies.Begin(d, r.Kind, r.TxID, whole); err != nil {
			return 0, err
		}
	}
	if err := s.write(ctx, n, r, batch); err != nil {
		return 0, err
	}
	if s.copies != nil {
		if err := s.copies.Spread(ctx, d.Name, r.Note, batch); err != nil {
			return 0, err
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.saved.Commit, nil
}

// allows says whether a session may change the namespace. The caller holds mu.
func (n *namespace) allows(session uint64) error {
	switch {
	case n.gone, n.saved.Session != session:
		return stateapi.ErrFenced
	case n.fault != nil:
		return n.refusal()
	}
	return nil
}

// Prepare makes a batch durable under txid, in place of what is prepared. The store keeps the batch's bytes.
func (s *Store) Prepare(ctx context.Context, session uint64, txid int64, batch []byte) error {
	if err := table.Check(batch); err != nil {
		return err
	}
	_, err := s.change(ctx, session, record{Kind: KindPrepare, TxID: txid}, batch, nil)
	return err
}

// Commit makes what is prepared under txid visible for good and returns the commit's number, when the mark is durable; the table
// follows. To commit the last committed txid again succeeds.
func (s *Store) Commit(ctx context.Context, session uint64, txid int64) (uint64, error) {
	return s.change(ctx, session, record{Kind: KindCommit, TxID: txid}, nil, func(have *saved) (bool, error) {
		switch {
		case have.Prepared && have.TxID == txid:
			return false, nil
		case have.HasLast && have.LastTx == txid:
			return true, nil
		}
		return false, fmt.Errorf("commit of %d: %w", txid, stateapi.ErrUnknownPrepare)
	})
}

// Write commits a batch without a txid; what is prepared stays so. The store keeps the batch's bytes.
func (s *Store) Write(ctx context.Context, session uint64, batch []byte) (uint64, error) {
	if err := table.Check(batch); err != nil {
		return 0, err
	}
	empty := binary.LittleEndian.Uint32(batch) == 0
	return s.change(ctx, session, record{Kind: KindWrite}, batch, func(*saved) (bool, error) { return empty, nil })
}

// Rollback drops what is prepared.
func (s *Store) Rollback(ctx context.Context, session uint64) error {
	_, err := s.change(ctx, session, record{Kind: KindRollback}, nil, func(have *saved) (bool, error) { return !have.Prepared, nil })
	return err
}

// Drop removes all keys and what is prepared.
func (s *Store) Drop(ctx context.Context, session uint64) error {
	_, err := s.change(ctx, session, record{Kind: KindDrop}, nil, nil)
	return err
}

// reading finds a session's namespace, with everything committed in its table. It returns with the namespace's mu held.
func (s *Store) reading(ctx context.Context, session uint64) (*namespace, error) {
	s.mu.Lock()
	n := s.sessions[session]
	s.mu.Unlock()
	if n == nil {
		return nil, stateapi.ErrFenced
	}
	if err := n.current(ctx); err != nil {
		return nil, err
	}
	if err := n.allows(session); err != nil {
		n.mu.Unlock()
		return nil, err
	}
	return n, nil
}

// Get appends the committed value of key to dst.
func (s *Store) Get(ctx context.Context, session uint64, dst, key []byte) ([]byte, bool, error) {
	n, err := s.reading(ctx, session)
	if err != nil {
		return dst, false, err
	}
	defer n.mu.Unlock()
	return n.table.Get(dst, key)
}

// Namespaces lists what there is, by name.
func (s *Store) Namespaces() []Info {
	s.mu.Lock()
	var all []*namespace
	for _, n := range s.names {
		all = append(all, n)
	}
	s.mu.Unlock()
	infos := make([]Info, len(all))
	for i, n := range all {
		infos[i] = n.info()
	}
	slices.SortFunc(infos, func(a, b Info) int { return compareNames(a.Name, b.Name) })
	return infos
}

// Remove removes a namespace with all that is known of it; its sessions are fenced.
func (s *Store) Remove(ctx context.Context, name stateapi.Name) error {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return errors.Join(stateapi.ErrNotReady, ctx.Err())
	}
	return s.remove(ctx, name)
}

func (s *Store) remove(ctx context.Context, name stateapi.Name) error {
	n := s.find(name)
	if n == nil {
		return nil
	}
	if err := n.begin(ctx); err != nil { // else a session that begins now would bring it back at the next start
		return err
	}
	defer n.end()
	if s.find(name) != n {
		return nil
	}
	if err := s.write(ctx, n, record{Kind: kindRemove, ID: n.id}, nil); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gone, n.queue = true, nil
	if n.table != nil {
		n.table.Free()
	}
	s.forget(n)
	return nil
}

// forget has nobody find a namespace any more. The caller holds its mu.
func (s *Store) forget(n *namespace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ids, n.id)
	if s.names[n.saved.Def.Name] == n {
		delete(s.names, n.saved.Def.Name)
	}
	delete(s.sessions, n.saved.Session)
}

// Verify checks every table, the newest snapshot and the journal and reports all damage, joined. Where memory is whole, damage on the disk is
// mended by a new snapshot.
func (s *Store) Verify(ctx context.Context) error {
	s.mu.Lock()
	var all []*namespace
	for _, n := range s.names {
		all = append(all, n)
	}
	s.mu.Unlock()
	var damage error
	for _, n := range all {
		if ctx.Err() != nil {
			return errors.Join(damage, ctx.Err())
		}
		n.mu.Lock()
		switch {
		case n.gone:
		case n.fault != nil:
			damage = errors.Join(damage, n.refusal())
		default:
			if err := n.table.Verify(); err != nil {
				d := n.saved.Def
				damage = errors.Join(damage, fmt.Errorf("state of task %d of %s of topology %s: %w", d.Task, d.Component, d.Topology, err))
			}
		}
		n.mu.Unlock()
	}
	onDisk := s.verifyDisk(ctx)
	if damage == nil && onDisk != nil && ctx.Err() == nil {
		return errors.Join(onDisk, s.Snapshot(ctx))
	}
	return errors.Join(damage, onDisk)
}
