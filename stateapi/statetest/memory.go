// SPDX-License-Identifier: Apache-2.0

// This file is the contract in memory.

package statetest

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/gust-stream/gust/stateapi"
)

// maxValue is the longest key or value.
const maxValue = 64 << 20

// Memory is a Bed without a server: its restarts do nothing. Nothing outlives it.
type Memory struct {
	mu     sync.Mutex
	states map[stateapi.Name]*kept
}

// NewMemory makes one with no states.
func NewMemory() *Memory { return &Memory{states: map[stateapi.Name]*kept{}} }

// kept is what outlives a session.
type kept struct {
	definition stateapi.Definition
	session    int
	values     map[string]string
	prepared   map[string]*string // nil value: deleted
	txid       int64              // of prepared
	pending    bool               // there is something prepared, maybe nothing
	last       *int64             // the last committed txid
}

// Open opens a state.
func (m *Memory) Open(d stateapi.Definition) (stateapi.State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.states[d.Name]
	switch {
	case k == nil:
		k = &kept{definition: d, values: map[string]string{}, prepared: map[string]*string{}}
		m.states[d.Name] = k
	case k.definition.Encoder != d.Encoder:
		return nil, fmt.Errorf("state of %v, encoder %q, not %q: %w", d.Name, k.definition.Encoder, d.Encoder, stateapi.ErrEncoder)
	case k.definition.Tasks != d.Tasks:
		return nil, fmt.Errorf("state of %v, %d tasks, not %d: %w", d.Name, k.definition.Tasks, d.Tasks, stateapi.ErrTasks)
	}
	k.session++
	return &memory{m: m, kept: k, session: k.session, dirty: map[string]*string{}}, nil
}

// Restart does nothing: there is no server.
func (m *Memory) Restart(Restart) error { return nil }

// memory is a session.
type memory struct {
	m       *Memory
	kept    *kept
	session int
	dirty   map[string]*string
}

func (s *memory) Get(dst, key []byte) ([]byte, bool, error) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	for _, layer := range []map[string]*string{s.dirty, s.kept.prepared} {
		if v, ok := layer[string(key)]; ok {
			if v == nil {
				return dst, false, nil
			}
			return append(dst, *v...), true, nil
		}
	}
	v, ok := s.kept.values[string(key)]
	return append(dst, v...), ok, nil
}

func (s *memory) Put(key, value []byte) error {
	if len(key) > maxValue || len(value) > maxValue {
		return fmt.Errorf("put of %d bytes: %w", len(value), stateapi.ErrTooLarge)
	}
	v := string(value)
	s.dirty[string(key)] = &v
	return nil
}

func (s *memory) Delete(key []byte) error {
	s.dirty[string(key)] = nil
	return nil
}

func (s *memory) All(err *error) iter.Seq2[[]byte, []byte] {
	*err = nil
	return func(yield func([]byte, []byte) bool) {
		s.m.mu.Lock()
		seen := maps.Clone(s.kept.values)
		apply(seen, s.kept.prepared)
		s.m.mu.Unlock()
		apply(seen, s.dirty)
		for _, key := range slices.Sorted(maps.Keys(seen)) {
			if !yield([]byte(key), []byte(seen[key])) {
				return
			}
		}
	}
}

// apply makes the changes of a layer.
func apply(values map[string]string, layer map[string]*string) {
	for key, v := range layer {
		if v == nil {
			delete(values, key)
		} else {
			values[key] = *v
		}
	}
}

// with runs a change of what is kept, unless the session is fenced.
func (s *memory) with(change func(k *kept) error) error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if s.session != s.kept.session {
		return fmt.Errorf("state of %v: %w", s.kept.definition.Name, stateapi.ErrFenced)
	}
	return change(s.kept)
}

func (s *memory) Prepare(txid int64) error {
	return s.with(func(k *kept) error {
		maps.Copy(k.prepared, s.dirty)
		clear(s.dirty)
		k.txid, k.pending = txid, true
		return nil
	})
}

func (s *memory) Commit(txid int64) error {
	return s.with(func(k *kept) error {
		switch {
		case k.pending && k.txid == txid:
			apply(k.values, k.prepared)
			clear(k.prepared)
			k.pending, k.last = false, &txid
		case k.last == nil || *k.last != txid:
			return fmt.Errorf("commit %d of the state of %v: %w", txid, k.definition.Name, stateapi.ErrUnknownPrepare)
		}
		return nil
	})
}

func (s *memory) CommitNow() error {
	return s.with(func(k *kept) error {
		apply(k.values, s.dirty)
		clear(s.dirty)
		return nil
	})
}

func (s *memory) Rollback() error {
	return s.with(func(k *kept) error {
		clear(s.dirty)
		clear(k.prepared)
		k.pending = false
		return nil
	})
}

func (s *memory) Close() error { return nil }
