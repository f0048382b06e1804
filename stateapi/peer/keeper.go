// SPDX-License-Identifier: Apache-2.0

// This file has a keeper's copies: what changes them, and what of them is on the disk.

package peer

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"

	"github.com/cespare/xxhash/v2"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/journal"
	"github.com/gust-stream/gust/stateapi/replica"
)

// Keeper has copies of other machines' shards, on the disk only. Every change is a record of its journal before it is answered for; a
// start plays the journal over the newest checkpoint.
type Keeper struct {
	dir   string
	log   *zap.Logger
	dirty chan struct{} // holds a mark when Run has something to tidy up

	using sync.RWMutex // held for reading while files are read, for writing while they are removed

	mu       sync.Mutex // guards all below; not held while the disk works
	journal  *journal.Journal
	tasks    map[stateapi.Name]*heldTask
	baseFile uint64   // number of the newest base file
	unnamed  []string // base files to be removed
	saved    uint64   // the journal's position at the newest checkpoint
	sessions map[replica.Peer][]*session
}

// heldTask is what a keeper has of one task.
type heldTask struct {
	def    stateapi.Definition
	shards map[int]*heldShard
}

// heldShard is one shard: images in a base file, then parts of batches in the journal.
type heldShard struct {
	replica.Copy
	Base      string `json:",omitempty"` // file name in the keeper's folder; empty: no key
	BaseBytes int64  `json:",omitempty"`
	Tail      []part `json:",omitempty"` // the committed parts behind the base
	Part      part   `json:",omitzero"`  // the pending one
}

// part says where the journal has a shard's share of a batch.
type part struct {
	Position uint64
	Size     int
}

// emptyPart is the size of a batch without operations: shard 0 gets one where it has no share.
const emptyPart = 4

// NewKeeper makes a keeper whose copies lie in dir.
func NewKeeper(dir string, log *zap.Logger) *Keeper {
	return &Keeper{dir: dir, log: log.Named("copies"), dirty: make(chan struct{}, 1), tasks: map[stateapi.Name]*heldTask{}, sessions: map[replica.Peer][]*session{}}
}

// Open reads what an earlier process has left. The caller keeps other processes out.
func (k *Keeper) Open() error {
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return fmt.Errorf("open copies: %w", err)
	}
	from, err := k.loadCheckpoint()
	if err != nil {
		return err
	}
	j, err := journal.Open(filepath.Join(k.dir, "journal"), journal.Options{Start: from}, k.log)
	if err != nil {
		return fmt.Errorf("open copies: %w", err)
	}
	k.journal = j
	for r, err := range j.Read(max(from, j.Start())) {
		if damage, ok := errors.AsType[*journal.DamageError](err); ok {
			k.damaged(damage)
			continue
		}
		if err != nil {
			return fmt.Errorf("read copies: %w", err)
		}
		h, body, err := readEntry(r.Body)
		if err != nil {
			return fmt.Errorf("read copies at %d: %w", r.Position, err)
		}
		if _, err := k.change(h, body, r.Position); err != nil {
			return fmt.Errorf("read copies at %d: %w", r.Position, err)
		}
	}
	return k.sweep()
}

// Close makes all durable.
func (k *Keeper) Close(ctx context.Context) error { return k.journal.Close(ctx) }

// damaged makes the copies that a damaged part of the journal may have been about incomplete: their owners send them again.
func (k *Keeper) damaged(d *journal.DamageError) {
	k.log.Error("copies are damaged, their owners have to send them again", zap.Error(d))
	for name, t := range k.tasks {
		if d.Known && d.Tag != tagOf(name) {
			continue
		}
		for _, s := range t.shards {
			*s = heldShard{Copy: replica.Copy{Epoch: s.Epoch}}
		}
	}
}

// tagOf is what a task's records have in the journal, so that damage can be told from others'.
func tagOf(n stateapi.Name) uint64 {
	return xxhash.Sum64String(fmt.Sprintf("%q %q %q %d", n.Topology, n.Owner, n.Component, n.Task))
}

// change applies a request to the copies: the one way in which they change, live and at a start. position is where the journal has it.
func (k *Keeper) change(h head, body []byte, position uint64) ([]item, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	parts := make([][]byte, len(h.Items))
	if h.Kind == kindAppend || h.Kind == kindInstall || h.Kind == kindCarry {
		var err error
		if parts, err = split(h.Items, body); err != nil {
			return nil, err
		}
	}
	t := k.tasks[h.Task.Name]
	if t == nil || t.def.Shards != h.Task.Shards {
		t = &heldTask{shards: map[int]*heldShard{}}
		k.tasks[h.Task.Name] = t
	}
	t.def = h.Task
	answers := make([]item, len(h.Items))
	for i, it := range h.Items {
		s := t.shards[it.Shard]
		if s == nil {
			s = &heldShard{}
			t.shards[it.Shard] = s
		}
		base := s.Base
		v, err := s.change(h, it, part{Position: position, Size: len(parts[i])})
		if err != nil {
			return nil, err
		}
		if s.Base != base && base != "" {
			k.unnamed = append(k.unnamed, base)
		}
		answers[i] = item{Shard: it.Shard, Epoch: it.Epoch, Verdict: v}
	}
	return answers, nil
}

// change applies a request to one shard.
func (s *heldShard) change(h head, it item, own part) (v replica.Verdict, err error) {
	v = replica.Refused
	switch h.Kind {
	case kindAppend:
		var e replica.Effect
		v, e = s.Append(it.Epoch, h.Record, it.Previous)
		s.take(e, own)
	case kindSync:
		var e replica.Effect
		v, e = s.Sync(it.Epoch, it.Position, it.Current)
		s.take(e, part{})
	case kindInstall:
		if s.Install(it.Epoch, it.Position) {
			v = replica.Taken
			s.Base, s.BaseBytes, s.Tail, s.Part = h.Base, it.Bytes, nil, part{}
			if it.Position.Pending.Number != 0 {
				s.Part = own
			}
		}
	case kindFetch:
		if s.Seal(it.Epoch) {
			v = replica.Taken
		}
	case kindCompact:
		if s.Base == h.Old && it.Parts <= len(s.Tail) {
			v = replica.Taken
			s.Base, s.BaseBytes, s.Tail = h.Base, it.Bytes, s.Tail[it.Parts:]
		}
	case kindCarry:
		if s.Pending.Number == it.Position.Pending.Number {
			v = replica.Taken
			s.Part = own
		}
	default:
		err = fmt.Errorf("message %q: %w", h.Kind, stateapi.ErrCorrupt)
	}
	return v, err
}

// take does to a shard's parts what the rules say.
func (s *heldShard) take(e replica.Effect, own part) {
	if e.CommitPending {
		if s.Part.Size != emptyPart {
			s.Tail = append(s.Tail, s.Part)
		}
		s.Part = part{}
	}
	if e.DropPending {
		s.Part = part{}
	}
	if e.Keep {
		s.Part = own
	}
}

// tailBytes is what the parts behind the base take.
func (s *heldShard) tailBytes() (n int64) {
	for _, p := range s.Tail {
		n += int64(p.Size)
	}
	return n
}

// durable applies a request and returns when it is on the disk. also runs with the change, before others.
func (k *Keeper) durable(ctx context.Context, h head, body []byte, also func()) ([]item, error) {
	h.ID = 0
	encoded, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode a copy's record: %w", err)
	}
	if err := h.check(); err != nil {
		return nil, err
	}
	if h.Kind == kindAppend || h.Kind == kindInstall || h.Kind == kindCarry {
		if _, err := split(h.Items, body); err != nil {
			return nil, err
		}
	}
	k.mu.Lock()
	start, end, err := k.journal.Append(tagOf(h.Task.Name), binary.LittleEndian.AppendUint32(nil, uint32(len(encoded))), encoded, body)
	if err != nil {
		k.mu.Unlock()
		return nil, fmt.Errorf("keep a copy: %w", err)
	}
	answers, err := k.change(h, body, start)
	if err == nil && also != nil {
		also()
	}
	k.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := k.journal.Sync(ctx, end); err != nil {
		return nil, fmt.Errorf("keep a copy: %w", err)
	}
	k.tidy()
	return answers, nil
}

// readEntry takes a journal record apart.
func readEntry(entry []byte) (head, []byte, error) {
	if len(entry) < 4 {
		return head{}, nil, stateapi.ErrCorrupt
	}
	n := uint64(binary.LittleEndian.Uint32(entry))
	if n > uint64(len(entry)-4) {
		return head{}, nil, stateapi.ErrCorrupt
	}
	var h head
	if err := json.Unmarshal(entry[4:4+n], &h); err != nil {
		return head{}, nil, fmt.Errorf("%w: %w", stateapi.ErrCorrupt, err)
	}
	return h, entry[4+n:], nil
}

// readPart reads a shard's share of a batch. The caller holds using.
func (k *Keeper) readPart(shard int, p part) ([]byte, error) {
	next, stop := iter.Pull2(k.journal.Read(p.Position))
	defer stop()
	r, err, ok := next()
	if !ok || err == nil && r.Position != p.Position {
		err = fmt.Errorf("no record at %d: %w", p.Position, stateapi.ErrCorrupt)
	}
	if err != nil {
		return nil, fmt.Errorf("read a part of shard %d: %w", shard, err)
	}
	h, body, err := readEntry(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read a part of shard %d at %d: %w", shard, p.Position, err)
	}
	parts, err := split(h.Items, body)
	if err != nil {
		return nil, err
	}
	for i, it := range h.Items {
		if it.Shard == shard {
			return parts[i], nil
		}
	}
	return nil, fmt.Errorf("the record at %d has no part of shard %d: %w", p.Position, shard, stateapi.ErrCorrupt)
}

// tidy asks Run to look whether there is something to tidy up.
func (k *Keeper) tidy() {
	select {
	case k.dirty <- struct{}{}:
	default:
	}
}
