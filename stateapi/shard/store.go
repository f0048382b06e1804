// SPDX-License-Identifier: Apache-2.0

// This file has the store's methods for sessions.

package shard

import (
	"context"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/stateapi"
)

// Store keeps the namespaces of one machine.
type Store struct {
	config Config
	log    *zap.Logger
	ready  chan struct{}
}

// New makes a Store that nothing has opened yet.
func New(config Config, log *zap.Logger) *Store {
	return &Store{config: config, log: log, ready: make(chan struct{})}
}

// Run opens the store, and works until ctx ends or the disk fails.
func (s *Store) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Ready is closed when namespaces can be opened.
func (s *Store) Ready() <-chan struct{} { return s.ready }

// Open begins a session and ends older ones; a namespace that is not there comes into being. resume names a session that goes on if no
// newer one has begun.
func (s *Store) Open(_ context.Context, _ stateapi.Definition, _ uint64) (Opened, error) {
	return Opened{}, stateapi.ErrNotReady
}

// Prepare makes a batch durable under txid, in place of what is prepared. The store keeps the batch's bytes.
func (s *Store) Prepare(_ context.Context, _ uint64, _ int64, _ []byte) error {
	return stateapi.ErrNotReady
}

// Commit makes what is prepared under txid visible for good and returns the commit's number, when the mark is durable; the table
// follows. To commit the last committed txid again succeeds.
func (s *Store) Commit(_ context.Context, _ uint64, _ int64) (uint64, error) {
	return 0, stateapi.ErrNotReady
}

// Write commits a batch without a txid; what is prepared stays so. The store keeps the batch's bytes.
func (s *Store) Write(_ context.Context, _ uint64, _ []byte) (uint64, error) {
	return 0, stateapi.ErrNotReady
}

// Rollback drops what is prepared.
func (s *Store) Rollback(_ context.Context, _ uint64) error { return stateapi.ErrNotReady }

// Get appends the committed value of key to dst.
func (s *Store) Get(_ context.Context, _ uint64, dst, _ []byte) ([]byte, bool, error) {
	return dst, false, stateapi.ErrNotReady
}

// Iterate returns all committed entries of whole segments from cursor (0 at first) on, about want bytes of them, and the next cursor,
// 0 at the end.
func (s *Store) Iterate(_ context.Context, _, _ uint64, _ int) ([]Entry, uint64, error) {
	return nil, 0, stateapi.ErrNotReady
}

// Drop removes all keys and what is prepared.
func (s *Store) Drop(_ context.Context, _ uint64) error { return stateapi.ErrNotReady }

// Namespaces lists what there is, by name.
func (s *Store) Namespaces() []Info { return nil }

// Remove removes a namespace with all that is known of it; its sessions are fenced.
func (s *Store) Remove(_ context.Context, _ stateapi.Name) error { return stateapi.ErrNotReady }

// Verify checks every table and every snapshot and reports all damage, joined.
func (s *Store) Verify(_ context.Context) error { return stateapi.ErrNotReady }

// Snapshot takes a snapshot now.
func (s *Store) Snapshot(_ context.Context) error { return stateapi.ErrNotReady }

// Entries is Iterate without a session: it fences nobody.
func (s *Store) Entries(_ context.Context, _ stateapi.Name, _ uint64, _ int) ([]Entry, uint64, error) {
	return nil, 0, stateapi.ErrNotReady
}

// Rebuild throws a namespace's table away and builds it again from snapshot and journal. What is damaged there is left out and no longer
// held against the namespace.
func (s *Store) Rebuild(_ context.Context, _ stateapi.Name) error { return stateapi.ErrNotReady }
