// SPDX-License-Identifier: Apache-2.0

// This file has the seam to those who take changes to other machines, and the adoption of a state that comes from there.

package shard

import (
	"context"
	"fmt"
	"math/bits"
	"time"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/table"
)

// Copies takes the changes of namespaces to other machines.
type Copies interface {
	// Ready returns when this machine may answer for a namespace. It is asked before a session begins, and where a change is answered again.
	Ready(ctx context.Context, def stateapi.Definition) error
	// Begin numbers a change before it is journaled; the note is journaled with it. One that never got into the journal is void with the next.
	Begin(def stateapi.Definition, kind Kind, txid int64, batch []byte) (note []byte, err error)
	// Spread returns when the change is on every copy. It is called when the change is durable here.
	Spread(ctx context.Context, name stateapi.Name, note, batch []byte) error
}

// Change is a change that may not be everywhere yet.
type Change struct {
	Kind        Kind
	TxID        int64
	Note, Batch []byte
}

// Resumed is what Copies goes on with after a start.
type Resumed struct {
	Found     bool
	Mark      []byte
	Changes   []Change // since Mark, in order
	Pending   []byte   // what is prepared, nil: nothing
	PendingTx int64
}

// SetCopies names who takes changes to other machines. It must be called before Run.
func (s *Store) SetCopies(c Copies) { s.copies = c }

// SetMark keeps how far the copies of a namespace are: mark stands for every change up to the newest.
func (s *Store) SetMark(name stateapi.Name, mark []byte) {
	if n := s.find(name); n != nil {
		n.mu.Lock()
		n.saved.Mark, n.saved.Changes = mark, nil
		n.mu.Unlock()
	}
}

// Resume is what is known of a namespace's copies. Ready must be closed.
func (s *Store) Resume(name stateapi.Name) (Resumed, error) {
	n := s.find(name)
	if n == nil {
		return Resumed{}, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	r := Resumed{Found: true, Mark: n.saved.Mark, Changes: n.saved.Changes}
	if n.saved.Prepared {
		r.Pending, r.PendingTx = n.saved.Batch, n.saved.TxID
	}
	return r, nil
}

// ExportShard yields the images of all segments with keys of a shard; they may have others' too. They have every commit that was answered
// before it was called. A change under way does not hold it up.
func (s *Store) ExportShard(ctx context.Context, name stateapi.Name, shard int, yield func(image []byte) error) error {
	n := s.find(name)
	if n == nil {
		return nil
	}
	prefix, last := shardRange(shard, int(n.saved.Def.Shards))
	var image table.Image
	for hash := prefix; ; {
		if err := n.current(ctx); err != nil {
			return err
		}
		var ok bool
		var err error
		image, ok, err = n.table.Image(image.Bytes[:0], hash)
		n.mu.Unlock()
		if err != nil {
			return err
		}
		if ok {
			if err := yield(image.Bytes); err != nil {
				return err
			}
		}
		if hash = image.Next; hash == 0 || hash > last {
			return ctx.Err()
		}
	}
}

// shardRange is the first and the last hash of a shard.
func shardRange(shard, shards int) (first, last uint64) {
	depth := bits.TrailingZeros(uint(shards))
	first = uint64(shard) << (63 - depth) << 1
	return first, first | ^uint64(0)>>depth
}

// Adopting is a namespace on its way here from other machines.
type Adopting struct {
	store *Store
	n     *namespace
	done  bool
}

// Finish is what ends an adoption.
type Finish struct {
	Commit      uint64 // above all commit numbers that the state has had
	Prepared    bool
	TxID        int64
	Pending     []byte
	CommittedTx int64
	// HasCommitted says whether there is a CommittedTx.
	HasCommitted bool
	Mark         []byte
}

// BeginAdoption begins to take in a namespace. Nobody sees it before Finish.
func (s *Store) BeginAdoption(def stateapi.Definition) (*Adopting, error) {
	id := newID()
	t, err := table.New(s.arena, id, int(def.Shards), nil)
	if err != nil {
		return nil, err
	}
	n := newNamespace(saved{ID: id, Def: def, Used: time.Now()})
	n.table = t
	return &Adopting{store: s, n: n}, nil
}

// Install takes a shard's keys out of an image.
func (a *Adopting) Install(shard int, image []byte) error {
	first, _ := shardRange(shard, a.n.table.Shards())
	a.n.mu.Lock()
	defer a.n.mu.Unlock()
	return a.n.table.InstallIn(image, first, uint8(bits.TrailingZeros(uint(a.n.table.Shards()))))
}

// Apply brings a batch in.
func (a *Adopting) Apply(batch []byte) error {
	a.n.mu.Lock()
	defer a.n.mu.Unlock()
	return a.n.table.Apply(batch, 0)
}

// Clear removes all keys of a shard.
func (a *Adopting) Clear(shard int) error {
	first, _ := shardRange(shard, a.n.table.Shards())
	a.n.mu.Lock()
	defer a.n.mu.Unlock()
	return a.n.table.Clear(first, uint8(bits.TrailingZeros(uint(a.n.table.Shards()))))
}

// Finish makes the namespace durable, in place of what was there under its name.
func (a *Adopting) Finish(ctx context.Context, f Finish) error {
	if err := a.store.remove(ctx, a.n.saved.Def.Name); err != nil {
		return fmt.Errorf("make room for an adopted state: %w", err)
	}
	a.n.mu.Lock()
	s := &a.n.saved
	s.Commit, s.Prepared, s.TxID, s.Batch = f.Commit, f.Prepared, f.TxID, f.Pending
	s.LastTx, s.HasLast, s.Mark = f.CommittedTx, f.HasCommitted, f.Mark
	a.n.table.SetApplied(f.Commit)
	a.n.born = a.store.journal.End()
	a.n.table.SetPosition(a.n.born)
	a.n.mu.Unlock()
	a.store.mu.Lock()
	a.store.names[s.Def.Name], a.store.ids[a.n.id] = a.n, a.n
	a.store.mu.Unlock()
	a.done = true
	return a.store.Snapshot(ctx)
}

// Cancel gives up an adoption that was not finished.
func (a *Adopting) Cancel() {
	if !a.done {
		a.n.table.Free()
		a.done = true
	}
}
