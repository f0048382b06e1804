// SPDX-License-Identifier: Apache-2.0

// This file has one task's state as its owner: from Nimbus's word to a record that is everywhere.

package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/internal/clock"
	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/replica"
	"github.com/gust-stream/gust/stateapi/segment"
	"github.com/gust-stream/gust/stateapi/shard"
)

// task is the state of one task, as this machine knows it.
type task struct {
	peers *Peers
	def   stateapi.Definition
	wake  chan struct{} // holds a mark when run has something to look at

	wanted, running bool // guarded by peers.mu

	mu      sync.Mutex     // guards all below; taken before peers.mu, never after
	config  replica.Config // the newest seen; Epoch 0: none
	changed chan struct{}  // closed and replaced when somebody may go on
	fault   error          // why the task is not open, nil while nothing is wrong
	owner   *replica.Owner // nil: the state is not open here

	last    replica.Record         // the newest record that was begun
	again   *replica.Record        // a Prepare that follows a Write which came while it was pending
	durable bool                   // last is on this machine's disk
	before  []uint64               // by shard: the record before last
	images  []replica.Position     // by shard: what the store's images have at least
	parts   map[uint64][][]byte    // by record, then shard: last's, the pending one's
	busy    map[replica.Peer]bool  // a record or a sync is under way to the peer
	pauses  map[replica.Peer]bool  // a request has failed a moment ago
	inStep  map[int][]replica.Peer // reported, not yet in Nimbus's word

	installs map[target]*install
}

// target is a shard on its way to a peer.
type target struct {
	peer  replica.Peer
	shard int
}

// note is what the store journals with a change.
type note struct {
	Record replica.Record
	Again  *replica.Record `json:",omitempty"`
}

// mark is how far the copies of a task have come, as the store keeps it.
type mark struct {
	Number uint64 // the newest record
	Epoch  uint64 // with which this machine became owner
	At     []replica.Position
}

// configure takes Nimbus's word.
func (t *task) configure(c replica.Config) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.Epoch < t.config.Epoch || c.Epoch == t.config.Epoch && (t.config.Opened || !c.Opened) {
		return
	}
	t.config = c
	if c.Owner == t.peers.Self && t.owner != nil {
		t.tell()
		t.pump()
	}
	t.notify()
}

// tell hands the newest word to the owner.
func (t *task) tell() {
	c := t.config
	for i := range t.def.Shards {
		t.owner.Configure(int(i), c.Epoch, of(c.Copies, int(i)), of(c.Joining, int(i)), of(c.Learners, int(i)))
	}
}

func of(lists [][]replica.Peer, shard int) []replica.Peer {
	if shard >= len(lists) {
		return nil
	}
	return lists[shard]
}

// notify lets run and all who wait look again.
func (t *task) notify() {
	close(t.changed)
	t.changed = make(chan struct{})
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// run opens the state when this machine owns it, and gives it up when it does not any more. It ends with ctx.
func (t *task) run(ctx context.Context) {
	for ctx.Err() == nil {
		again := t.step(ctx)
		select {
		case <-ctx.Done():
		case <-t.wake:
		case <-again:
		}
	}
}

// step does what is next. What it returns says when to look again though nothing has changed; nil is never.
func (t *task) step(ctx context.Context) <-chan time.Time {
	t.mu.Lock()
	c, open, wanted := t.config, t.owner != nil, len(t.inStep) > 0
	t.mu.Unlock()
	var err error
	switch {
	case c.Epoch == 0:
		err = t.ask(ctx)
	case c.Owner != t.peers.Self && open:
		t.close()
		err = t.peers.Store.Remove(ctx, t.def.Name)
	case c.Owner != t.peers.Self:
		return nil
	case !open && c.Opened:
		err = t.resume(ctx)
	case !open:
		err = t.recover(ctx, c)
	case wanted:
		err = t.report(ctx)
	default:
		return nil
	}
	t.mu.Lock()
	t.fault = err
	if err != nil {
		t.peers.log.Warn("state is not ready", zap.Any("state", t.def.Name), zap.Error(err))
	}
	t.notify()
	t.mu.Unlock()
	if err != nil {
		return time.After(retryPause)
	}
	return nil
}

// ask finds out Nimbus's word, or asks for one.
func (t *task) ask(ctx context.Context) error {
	c, ok, err := t.peers.Control.Config(ctx, t.def.Name)
	if err != nil {
		return err
	}
	if !ok {
		if err := t.peers.Control.Report(ctx, Report{Def: t.def, From: t.peers.Self, Wanted: true}); err != nil {
			return err
		}
		return fmt.Errorf("nimbus has not yet said who owns the state: %w", stateapi.ErrNotReady)
	}
	t.configure(c)
	return nil
}

// report tells Nimbus which learners are in step, until its word says so.
func (t *task) report(ctx context.Context) error {
	t.mu.Lock()
	r := Report{Def: t.def, From: t.peers.Self, Epoch: t.config.Epoch, Ready: map[int][]replica.Peer{}}
	for shard, peers := range t.inStep {
		left := slices.DeleteFunc(slices.Clone(peers), func(p replica.Peer) bool { return !slices.Contains(of(t.config.Learners, shard), p) })
		if len(left) > 0 {
			r.Ready[shard] = left
		}
	}
	t.inStep = r.Ready
	t.mu.Unlock()
	if len(r.Ready) == 0 {
		return nil
	}
	if err := t.peers.Control.Report(ctx, r); err != nil {
		return err
	}
	return clock.Wait(ctx, retryPause)
}

// resume opens a state that this machine has on its disk.
func (t *task) resume(ctx context.Context) error {
	// What was reported and came to pass must be known before anything is answered for.
	c, ok, err := t.peers.Control.Config(ctx, t.def.Name)
	if err != nil {
		return err
	}
	if !ok || c.Owner != t.peers.Self || !c.Opened {
		t.mu.Lock()
		t.config = c
		t.mu.Unlock()
		return stateapi.ErrNotReady
	}
	select {
	case <-t.peers.Store.Ready():
	case <-ctx.Done():
		return ctx.Err()
	}
	r, err := t.peers.Store.Resume(t.def.Name)
	if err != nil {
		return err
	}
	if !r.Found && c.Epoch > 1 {
		if err := t.peers.Control.Report(ctx, Report{Def: t.def, From: t.peers.Self, Epoch: c.Epoch, Lost: true}); err != nil {
			return err
		}
		return fmt.Errorf("this machine's disk does not have the state any more: %w", stateapi.ErrNotReady)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open(c, r)
}

// open makes the owner of what the store has. The caller holds mu.
func (t *task) open(c replica.Config, r shard.Resumed) error {
	m := mark{Number: replica.FirstNumber(c.Epoch), Epoch: c.Epoch, At: make([]replica.Position, t.def.Shards)}
	if len(r.Mark) > 0 {
		if err := json.Unmarshal(r.Mark, &m); err != nil || len(m.At) != int(t.def.Shards) {
			return fmt.Errorf("mark of the copies: %w", stateapi.ErrCorrupt)
		}
	}
	t.parts = map[uint64][][]byte{}
	var last note
	for i, change := range r.Changes {
		var n note
		if err := json.Unmarshal(change.Note, &n); err != nil {
			return fmt.Errorf("note of a change: %w: %w", stateapi.ErrCorrupt, err)
		}
		parts, _, err := t.split(change.Kind, change.Batch)
		if err != nil {
			return err
		}
		t.parts[n.Record.Number] = parts
		if n.Again != nil {
			t.parts[n.Again.Number] = t.parts[pendingOf(m.At)]
		}
		if i == len(r.Changes)-1 {
			last = n
			break
		}
		advance(m.At, n.Record)
		m.Number = n.Record.Number
		if n.Again != nil {
			advance(m.At, *n.Again)
			m.Number = n.Again.Number
		}
	}
	if p := pendingOf(m.At); p != 0 && t.parts[p] == nil {
		parts, _, err := t.split(shard.KindPrepare, r.Pending)
		if err != nil {
			return err
		}
		t.parts[p] = parts
	}
	t.owner = replica.NewOwner(m.At, m.Number, last.Record)
	t.last, t.again, t.durable = last.Record, last.Again, true
	t.noteBefore()
	if last.Record.Kind == replica.Commit { // a start has brought it into the store's tables
		for i := range t.images {
			if last.Record.Touches(i) {
				t.images[i].Advance(last.Record)
			}
		}
	}
	t.config = c
	t.tell()
	t.pump()
	return nil
}

func pendingOf(at []replica.Position) uint64 {
	for _, p := range at {
		if p.Pending.Number != 0 {
			return p.Pending.Number
		}
	}
	return 0
}

func advance(at []replica.Position, r replica.Record) {
	for i := range at {
		if r.Touches(i) {
			at[i].Advance(r)
		}
	}
}

// noteBefore remembers where the shards are before last. The caller holds mu.
func (t *task) noteBefore() {
	t.before, t.images = make([]uint64, t.def.Shards), make([]replica.Position, t.def.Shards)
	for i := range t.before {
		t.images[i] = t.owner.Position(i)
		t.before[i] = t.images[i].Last
	}
}

// close ends the ownership: what waits is told that it is fenced.
func (t *task) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.owner, t.parts, t.inStep = nil, nil, nil
	for _, in := range t.installs {
		in.cancel()
	}
	t.notify()
}

// ready waits until the state is open here and all that an earlier process left under way is everywhere.
func (t *task) ready(ctx context.Context) error {
	for {
		t.mu.Lock()
		switch {
		case t.owner != nil && t.owner.Fenced():
			t.mu.Unlock()
			return stateapi.ErrFenced
		case t.owner != nil && (t.owner.Current().Number == 0 || !t.durable):
			t.mu.Unlock()
			return nil
		case t.owner != nil:
			t.mu.Unlock()
			if err := t.spread(ctx); err != nil {
				return err
			}
			continue
		case t.config.Epoch != 0 && t.config.Owner != t.peers.Self:
			owner := t.config.Owner
			t.mu.Unlock()
			return t.elsewhere(ctx, owner)
		}
		changed, fault := t.changed, t.fault
		t.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return errors.Join(stateapi.ErrNotReady, fault)
		}
	}
}

// elsewhere asks Nimbus to move a state here that a client wants here.
func (t *task) elsewhere(ctx context.Context, owner replica.Peer) error {
	c, ok, err := t.peers.Control.Config(ctx, t.def.Name)
	switch {
	case err != nil:
		return errors.Join(stateapi.ErrNotReady, err)
	case !ok:
		t.mu.Lock()
		t.config = replica.Config{}
		t.notify()
		t.mu.Unlock()
		return stateapi.ErrNotReady
	case c.Owner != owner:
		t.configure(c)
		return stateapi.ErrNotReady
	}
	if err := t.peers.Control.Report(ctx, Report{Def: t.def, From: t.peers.Self, Epoch: c.Epoch, Wanted: true}); err != nil {
		return errors.Join(stateapi.ErrNotReady, err)
	}
	return fmt.Errorf("supervisor %s owns the state: %w", owner, stateapi.ErrNotReady)
}

// begin numbers a change.
func (t *task) begin(kind shard.Kind, txid int64, batch []byte) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.owner == nil:
		return nil, stateapi.ErrNotReady
	case t.owner.Fenced():
		return nil, stateapi.ErrFenced
	case t.owner.Current().Number != 0 && t.durable:
		return nil, fmt.Errorf("an earlier change is on its way to %v: %w", t.owner.Waiting(), stateapi.ErrNotReady)
	case t.owner.Current().Number != 0:
		t.owner.Abandon()
	}
	parts, touched, err := t.split(kind, batch)
	if err != nil {
		return nil, err
	}
	t.noteBefore()
	pending := t.owner.Position(0).Pending
	n := note{}
	switch kind {
	case shard.KindPrepare:
		n.Record = t.owner.Propose(replica.Prepare, txid, touched|pending.Shards, 0)
	case shard.KindWrite, shard.KindDrop:
		n.Record = t.owner.Propose(replica.Write, txid, touched|pending.Shards, 0)
		if pending.Number != 0 && kind == shard.KindWrite {
			n.Again = &replica.Record{Number: n.Record.Number + 1, Kind: replica.Prepare, TxID: pending.TxID, Shards: pending.Shards}
		}
	case shard.KindCommit:
		n.Record = t.owner.Propose(replica.Commit, txid, pending.Shards, pending.Number)
	case shard.KindRollback:
		n.Record = t.owner.Propose(replica.Rollback, txid, pending.Shards, pending.Number)
	}
	kept := map[uint64][][]byte{n.Record.Number: parts}
	if pending.Number != 0 {
		kept[pending.Number] = t.parts[pending.Number]
	}
	if n.Again != nil {
		kept[n.Again.Number] = t.parts[pending.Number]
	}
	t.parts, t.last, t.again, t.durable = kept, n.Record, n.Again, false
	return json.Marshal(n)
}

// split cuts a batch into the shares of shards. Shard 0 has one always.
func (t *task) split(kind shard.Kind, batch []byte) (parts [][]byte, touched uint64, err error) {
	parts = make([][]byte, t.def.Shards)
	if kind == shard.KindDrop {
		for i := range parts {
			parts[i] = []byte{clearPart}
		}
		return parts, ^uint64(0) >> (64 - len(parts)), nil
	}
	batches := make([]stateapi.Batch, t.def.Shards)
	if len(batch) > 0 {
		err = stateapi.Operations(batch, func(op byte, key, value []byte) error {
			b := &batches[shardOf(key, len(parts))]
			if op == stateapi.OpDelete {
				b.Delete(key)
			} else {
				b.Put(key, value)
			}
			return nil
		})
	}
	for i := range batches {
		parts[i] = batches[i].Bytes()
		if batches[i].Len() > 0 {
			touched |= 1 << i
		}
	}
	return parts, touched, err
}

// shardOf is the shard that a key belongs to.
func shardOf(key []byte, shards int) int {
	_, depth := shardRange(0, shards)
	return int(segment.Hash(key) >> 1 >> (63 - depth))
}

// spread returns when the change that begin numbered is everywhere.
func (t *task) spread(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.owner == nil {
		return stateapi.ErrFenced
	}
	t.setDurable()
	for {
		t.pump()
		switch {
		case t.owner == nil || t.owner.Fenced():
			return stateapi.ErrFenced
		case t.owner.Current().Number == 0:
			return nil
		case t.owner.Done():
			if t.again == nil {
				return t.finish()
			}
			t.last, t.again = t.owner.Propose(replica.Prepare, t.again.TxID, t.again.Shards, 0), nil
			for i := range t.before {
				t.before[i] = t.owner.Position(i).Last
			}
			t.durable = false
			t.setDurable()
			continue
		}
		changed, waiting := t.changed, t.owner.Waiting()
		t.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-ctx.Done():
			err = fmt.Errorf("the change is not yet on %v: %w: %w", waiting, stateapi.ErrNotReady, ctx.Err())
		}
		t.mu.Lock()
		if err != nil {
			return err
		}
	}
}

// setDurable lets last be sent. The caller holds mu.
func (t *task) setDurable() {
	if t.durable || t.owner.Current().Number == 0 {
		return
	}
	t.durable = true
	for at, in := range t.installs {
		in.add(t.last, t.before[at.shard], t.parts[t.last.Number][at.shard], at.shard)
	}
}

// finish notes how far the copies are. The caller holds mu.
func (t *task) finish() error {
	m := mark{Number: t.last.Number, Epoch: t.config.Epoch, At: make([]replica.Position, t.def.Shards)}
	for i := range m.At {
		m.At[i] = t.owner.Position(i)
	}
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("mark of the copies: %w", err)
	}
	t.peers.Store.SetMark(t.def.Name, data)
	t.notify()
	return nil
}
