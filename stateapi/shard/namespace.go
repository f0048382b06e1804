// SPDX-License-Identifier: Apache-2.0

// This file has one namespace in memory: what is prepared, what is committed and not yet in the table, and who may change it.

package shard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/table"
)

// applyPause is the wait before a batch that found no room is tried again.
const applyPause = time.Second

// settlePause is how often settle looks.
const settlePause = 2 * time.Millisecond

// namespace is the state of one task.
type namespace struct {
	id       uint64
	changing chan struct{} // holds a mark while no change is under way

	mu      sync.Mutex // guards all below, and the table's content
	saved   saved
	table   *table.Table
	queue   []committed   // not yet in the table
	working bool          // somebody brings the queue into the table
	drained chan struct{} // closed when the queue is empty or cannot go on
	fault   error         // why the table is not up to date
	gone    bool
	born    uint64 // position of its newest snapshot at the start, or of its first record
	writing int    // records that are in the journal, or about to be, and not yet noted
	unbuilt bool   // there was no room for what the snapshot has
}

// saved is what of a namespace goes into snapshots, beside its images.
type saved struct {
	ID       uint64
	Position uint64 // every record of the namespace before here counts, none behind
	Def      stateapi.Definition
	Session  uint64
	Used     time.Time
	Commit   uint64
	LastTx   int64
	HasLast  bool
	Prepared bool
	TxID     int64
	Batch    []byte `json:",omitempty"`

	Mark    []byte   `json:",omitempty"` // of Copies
	Changes []Change `json:",omitempty"` // since Mark
	File    string   `json:",omitempty"` // with the images; empty: no key
	Offset  int64    `json:",omitempty"` // in File
	Length  int64    `json:",omitempty"`
	Damaged string   `json:",omitempty"` // what was lost
}

// committed is a batch on its way into the table.
type committed struct {
	batch    []byte
	clear    bool
	commit   uint64
	position uint64 // of the journal, behind the record
}

func newNamespace(s saved) *namespace {
	n := &namespace{id: s.ID, saved: s, changing: make(chan struct{}, 1)}
	n.changing <- struct{}{}
	if s.Damaged != "" {
		n.fault = fmt.Errorf("%s: %w", s.Damaged, stateapi.ErrCorrupt)
	}
	return n
}

// note does to what is known of a namespace what a record says, at a change and at a start alike, and returns what the table is to get.
func (s *saved) note(r record, batch []byte) (c committed, ok bool) {
	switch r.Kind {
	case kindOpen:
		s.Session, s.Used = r.Session, r.Time
		if r.Def != nil {
			s.Def = *r.Def
		}
		return c, false
	case KindPrepare:
		s.Prepared, s.TxID, s.Batch = true, r.TxID, batch
	case KindRollback:
		s.Prepared, s.Batch = false, nil
	case KindCommit:
		c, ok = committed{batch: s.Batch}, true
		s.LastTx, s.HasLast, s.Prepared, s.Batch = r.TxID, true, false, nil
	case KindWrite:
		c, ok = committed{batch: batch}, true
	case KindDrop:
		c, ok = committed{clear: true}, true
		s.Prepared, s.Batch = false, nil
	case kindRemove: // nobody asks
	}
	if ok {
		s.Commit++
		c.commit = s.Commit
	}
	if r.Note != nil {
		s.Changes = append(s.Changes, Change{Kind: r.Kind, TxID: r.TxID, Note: r.Note, Batch: batch})
	}
	return c, ok
}

// into brings a batch into a table. The caller holds mu.
func (c committed) into(t *table.Table) error {
	if c.position <= t.Position() {
		return nil
	}
	if c.clear {
		if err := t.Clear(0, 0); err != nil {
			return err
		}
		t.SetPosition(c.position)
		return nil
	}
	return t.Apply(c.batch, c.position)
}

// bring brings the queue into the table. The caller holds mu.
func (n *namespace) bring() error {
	for len(n.queue) > 0 {
		c := n.queue[0]
		if err := c.into(n.table); err != nil {
			return err
		}
		n.table.SetApplied(c.commit)
		n.queue = n.queue[1:]
	}
	n.queue, n.fault = nil, nil
	return nil
}

// push has a batch brought into the table. The caller holds mu.
func (n *namespace) push(c committed, s *Store) {
	n.queue = append(n.queue, c)
	n.work(s)
}

// work has the queue brought into the table. The caller holds mu.
func (n *namespace) work(s *Store) {
	if n.working {
		return
	}
	n.working, n.drained = true, make(chan struct{})
	s.spawn(func(ctx context.Context) { n.drain(ctx, s) })
}

// drain brings the queue into the table. While there is no room it tries again: what is in the queue is in the journal too.
func (n *namespace) drain(ctx context.Context, s *Store) {
	for {
		n.mu.Lock()
		if len(n.queue) == 0 && !n.unbuilt || n.gone || ctx.Err() != nil {
			n.working = false
			close(n.drained)
			n.mu.Unlock()
			return
		}
		var err error
		if n.unbuilt {
			err = s.build(ctx, n)
			if n.unbuilt = errors.Is(err, stateapi.ErrNoRoom); err != nil && !n.unbuilt {
				n.fault, n.queue = err, nil // it cannot be built at all
			}
		}
		if err == nil {
			err = n.bring()
		}
		if err != nil && n.fault == nil {
			n.fault = err
			s.log.Error("a commit is durable but not yet in memory, tried again", zap.Any("state", n.saved.Def.Name), zap.Error(err))
		}
		n.mu.Unlock()
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(applyPause):
			}
		}
	}
}

// current waits until everything committed is in the table, and returns with mu held.
func (n *namespace) current(ctx context.Context) error {
	for {
		n.mu.Lock()
		if n.gone {
			n.mu.Unlock()
			return fmt.Errorf("the state was removed: %w", stateapi.ErrFenced)
		}
		if n.fault != nil {
			err := n.refusal()
			n.mu.Unlock()
			return err
		}
		if len(n.queue) == 0 {
			return nil
		}
		drained := n.drained
		n.mu.Unlock()
		select {
		case <-drained:
		case <-time.After(applyPause / 10): // to see a fault
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// refusal is the fault with the namespace's name. The caller holds mu.
func (n *namespace) refusal() error {
	d := n.saved.Def
	return fmt.Errorf("state of task %d of %s of topology %s: %w", d.Task, d.Component, d.Topology, n.fault)
}

// begin takes the right to change the namespace, which end gives back.
func (n *namespace) begin(ctx context.Context) error {
	select {
	case <-n.changing:
		return nil
	case <-ctx.Done():
		return errors.Join(stateapi.ErrNotReady, ctx.Err())
	}
}

func (n *namespace) end() { n.changing <- struct{}{} }

// info describes the namespace.
func (n *namespace) info() Info {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.saved
	i := Info{
		Definition: s.Def, NamespaceID: s.ID, Session: s.Session, Commit: s.Commit, Prepared: s.Prepared, TxID: s.TxID,
		Opened: s.Used, Damage: n.fault,
	}
	if n.table != nil {
		i.Applied = n.table.Applied()
		stats := n.table.Stats()
		i.Entries, i.Bytes = stats.Entries, stats.Bytes
	}
	return i
}

// settle waits until what the journal has of the namespace by now is noted, brings it into the table, and returns with mu held.
func (n *namespace) settle(ctx context.Context) error {
	for {
		n.mu.Lock()
		if n.gone || n.fault != nil {
			return nil //nolint:nilerr // the caller looks at it
		}
		if n.writing == 0 {
			n.fault = n.bring() // drain tries again
			return nil
		}
		n.mu.Unlock()
		select {
		case <-time.After(settlePause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
