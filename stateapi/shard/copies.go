// SPDX-License-Identifier: Apache-2.0

// This file has the seam to the copies of namespaces on other machines.

package shard

import (
	"context"

	"github.com/gust-stream/gust/stateapi"
)

// Kind says what a change does.
type Kind uint8

// The kinds of changes.
const (
	KindPrepare  Kind = iota + 1
	KindCommit        // of what is prepared
	KindRollback      // of what is prepared
	KindWrite         // a commit of its own, which leaves alone what is prepared
	KindDrop          // of all keys and what is prepared
)

// Change is a change of a namespace.
type Change struct {
	Kind  Kind
	TxID  int64
	Note  []byte // what Copies.Begin gave
	Batch []byte // of a prepare or a write
}

// Copies takes the changes of namespaces to other machines. A namespace has one change under way at a time.
type Copies interface {
	// Ready returns when this machine may answer for the namespace. Open asks before anything else, also for one that is not here yet.
	Ready(ctx context.Context, d stateapi.Definition) error
	// Begin numbers a change before it is journaled. The note is journaled with it. It makes void an earlier one that was not spread.
	Begin(d stateapi.Definition, kind Kind, txid int64, batch []byte) (note []byte, err error)
	// Spread returns when the change is on every copy. The change is in this machine's journal and will stay there. Before it returns nil
	// it calls SetMark.
	Spread(ctx context.Context, name stateapi.Name, note, batch []byte) error
}

// Resumed is what a store has for Copies after a start.
type Resumed struct {
	Found   bool     // the namespace is here and not damaged
	Mark    []byte   // as it was set last, nil: never
	Changes []Change // all since then; those that are neither the last one nor what was prepared before it have no batch
	Pending []byte   // what was prepared when the mark was set, nil: nothing
}

// SetCopies must be called before Run.
func (s *Store) SetCopies(_ Copies) {}

// SetMark keeps something of Copies with the namespace: it stands for all changes up to the one under way.
func (s *Store) SetMark(_ stateapi.Name, _ []byte) {}

// Resume returns what an earlier process left of a namespace. It can be called when Ready is closed.
func (s *Store) Resume(_ stateapi.Name) (Resumed, error) { return Resumed{}, stateapi.ErrNotReady }

// ExportShard yields images that have all committed keys of a shard, and maybe those of its neighbours; an image is valid during the
// call. They have every change that was done before the newest Begin.
func (s *Store) ExportShard(_ context.Context, _ stateapi.Name, _ int, _ func(image []byte) error) error {
	return stateapi.ErrNotReady
}

// Adopting is a namespace on its way here. Its methods may be called by many goroutines.
type Adopting struct{}

// Finish is what a namespace has beside its keys.
type Finish struct {
	Commit       uint64 // its number; higher than any that was ever given
	Prepared     bool
	TxID         int64 // of Pending
	Pending      []byte
	CommittedTx  int64 // the txid committed last
	HasCommitted bool
	Mark         []byte
}

// BeginAdoption makes place for a namespace that comes from copies.
func (s *Store) BeginAdoption(_ stateapi.Definition) (*Adopting, error) {
	return nil, stateapi.ErrNotReady
}

// Install takes in those entries of an image that belong to a shard.
func (a *Adopting) Install(_ int, _ []byte) error { return stateapi.ErrNotReady }

// Apply does a batch over what is there.
func (a *Adopting) Apply(_ []byte) error { return stateapi.ErrNotReady }

// Clear removes what has come of a shard.
func (a *Adopting) Clear(_ int) error { return stateapi.ErrNotReady }

// Finish makes the namespace durable, in place of what the store has under its name.
func (a *Adopting) Finish(_ context.Context, _ Finish) error { return stateapi.ErrNotReady }

// Cancel throws it away, unless it is finished.
func (a *Adopting) Cancel() {}
