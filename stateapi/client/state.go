// SPDX-License-Identifier: Apache-2.0

package client

// This file is the state of a task.

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/stateapi"
)

const (
	// maxKey and maxValue are the longest ones.
	maxKey   = 32 << 10
	maxValue = 64 << 20
	// pageSize is how many bytes of entries an iteration asks for at a time.
	pageSize = 1 << 20
)

// Config says where the server is.
type Config struct {
	// Socket is the server's, see SocketVariable.
	Socket string
	// Wait bounds how long a call waits while the server is away. 0 is DefaultWait.
	Wait time.Duration
	// Remote has all reads go through the server.
	Remote bool
	Log    *zap.Logger
}

// SocketVariable is the environment variable with the socket of the machine's state server.
const SocketVariable = "GUST_STATE_SOCKET"

// DefaultWait is shorter than Storm's time-outs of messages and of children.
const DefaultWait = 20 * time.Second

// ErrAway is a server that did not answer within Config.Wait.
var ErrAway = errors.New("the state server is away")

// State is an open state.
type State struct {
	session *session

	dirty     *changes
	prepared  *changes // nil: nothing is prepared
	txid      int64    // of prepared
	committed []commit // not yet seen in the table, oldest first
	batch     stateapi.Batch
}

var _ stateapi.State = (*State)(nil)

// commit is what a commit changed.
type commit struct {
	number  uint64
	changes *changes
}

// Open opens a state, which fences whoever has it open, and waits until the table shows all that was committed. ctx ends the waiting.
func Open(ctx context.Context, cfg Config, d stateapi.Definition) (*State, error) {
	if cfg.Wait == 0 {
		cfg.Wait = DefaultWait
	}
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	s := &State{session: newSession(cfg, d), dirty: newChanges()}
	if err := s.session.open(ctx); err != nil {
		return nil, errors.Join(err, s.session.close())
	}
	if o := &s.session.opened; o.Prepared {
		var err error
		if s.prepared, err = fromBatch(o.Batch); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: prepared batch: %w", s.session, err), s.session.close())
		}
		s.txid, o.Batch = o.TxID, nil
	}
	return s, nil
}

// Get appends the value of key to dst.
func (s *State) Get(dst, key []byte) ([]byte, bool, error) {
	if e, ok := s.dirty.get(key); ok {
		return e.append(dst)
	}
	if s.prepared != nil {
		if e, ok := s.prepared.get(key); ok {
			return e.append(dst)
		}
	}
	for {
		t := s.session.table
		if t == nil {
			return s.session.get(dst, key)
		}
		if len(s.committed) > 0 {
			if e, ok := s.unapplied(t, key); ok {
				return e.append(dst)
			}
		}
		out, ok, err := t.Get(dst, key)
		switch {
		case err == nil:
			return out, ok, nil
		case t.gone(err):
			if err := s.session.again(); err != nil {
				return dst, false, err
			}
		default:
			return s.session.get(dst, key)
		}
	}
}

func (e *change) append(dst []byte) ([]byte, bool, error) {
	if e.deleted {
		return dst, false, nil
	}
	return append(dst, e.value...), true, nil
}

// unapplied forgets the commits that the table has by now and finds a key in the others.
func (s *State) unapplied(t *table, key []byte) (*change, bool) {
	applied, done := t.Applied(), 0
	for done < len(s.committed) && s.committed[done].number <= applied {
		done++
	}
	if done > 0 {
		left := copy(s.committed, s.committed[done:])
		clear(s.committed[left:])
		s.committed = s.committed[:left]
	}
	for _, c := range slices.Backward(s.committed) {
		if e, ok := c.changes.get(key); ok {
			return e, true
		}
	}
	return nil, false
}

// Put sets key to value.
func (s *State) Put(key, value []byte) error {
	if err := s.fits("key", len(key), maxKey); err != nil {
		return err
	}
	if err := s.fits("value", len(value), maxValue); err != nil {
		return err
	}
	s.dirty.put(key, value)
	return nil
}

// Delete removes key.
func (s *State) Delete(key []byte) error {
	if len(key) <= maxKey { // a longer one is not there
		s.dirty.delete(key)
	}
	return nil
}

func (s *State) fits(what string, n, limit int) error {
	if n <= limit {
		return nil
	}
	return fmt.Errorf("%s: %s of %d bytes, %d are allowed: %w", s.session, what, n, limit, stateapi.ErrTooLarge)
}

// All yields every key with its value, valid until the next one. The state must not be changed meanwhile.
func (s *State) All(err *error) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) { *err = s.each(yield) }
}

func (s *State) each(yield func([]byte, []byte) bool) error {
	over := newChanges()
	for _, c := range s.committed {
		over.merge(c.changes)
	}
	if s.prepared != nil {
		over.merge(s.prepared)
	}
	over.merge(s.dirty)
	for cursor := uint64(0); ; {
		page, next, err := s.session.iterate(cursor)
		if err != nil {
			return err
		}
		for _, e := range page {
			if _, ok := over.get(e.Key); !ok && !yield(e.Key, e.Value) {
				return nil
			}
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	for i := range over.list {
		if e := &over.list[i]; !e.deleted && !yield([]byte(e.key), e.value) {
			return nil
		}
	}
	return nil
}

// Prepare makes the changes durable under txid.
func (s *State) Prepare(txid int64) error {
	s.batch.Reset()
	all := s.dirty
	if s.prepared != nil {
		all = newChanges()
		all.merge(s.prepared)
		all.merge(s.dirty)
	}
	all.into(&s.batch)
	if err := s.session.prepare(txid, s.batch.Bytes()); err != nil {
		return err
	}
	s.prepared, s.txid, s.dirty = all, txid, newChanges()
	s.shrink()
	return nil
}

// Commit makes visible for good what was prepared under txid.
func (s *State) Commit(txid int64) error {
	number, err := s.session.commit(txid)
	if err != nil {
		return err
	}
	if s.prepared != nil && s.txid == txid {
		s.keep(number, s.prepared)
		s.prepared = nil
	}
	return nil
}

// CommitNow makes the changes visible for good.
func (s *State) CommitNow() error {
	s.batch.Reset()
	s.dirty.into(&s.batch)
	number, err := s.session.write(s.batch.Bytes())
	if err != nil {
		return err
	}
	s.keep(number, s.dirty)
	s.dirty = newChanges()
	s.shrink()
	return nil
}

// keep remembers changes until the table has them. The server itself has them at once.
func (s *State) keep(number uint64, c *changes) {
	if len(c.list) > 0 && s.session.table != nil {
		s.committed = append(s.committed, commit{number, c})
	}
}

// shrink lets go of what an unusually large batch took.
func (s *State) shrink() {
	if cap(s.batch.Bytes()) > 4<<20 {
		s.batch = stateapi.Batch{}
	}
}

// Rollback drops what is prepared and what is not yet prepared.
func (s *State) Rollback() error {
	if err := s.session.rollback(); err != nil {
		return err
	}
	s.dirty, s.prepared = newChanges(), nil
	return nil
}

// Close ends the session.
func (s *State) Close() error { return s.session.close() }
