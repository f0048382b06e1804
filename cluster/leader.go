// SPDX-License-Identifier: Apache-2.0

// This file holds the nodes by which a Nimbus shows itself: its summary, its place in the election, its blobs.

package cluster

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/gust-stream/gust/thrift/storm"
)

// NimbusID is a Nimbus in the form in which it stands in the cluster state: host:port:tlsPort.
type NimbusID struct {
	Host    string
	Port    int
	TLSPort int
}

// String returns host:port:tlsPort.
func (n NimbusID) String() string { return fmt.Sprintf("%s:%d:%d", n.Host, n.Port, n.TLSPort) }

// Nimbuses returns the summaries of all Nimbuses that are up, by host.
func (s *State) Nimbuses(ctx context.Context) ([]*storm.NimbusSummary, error) {
	return readAll(ctx, s, nimbusesDir, storm.NewNimbusSummary)
}

// SetNimbus writes a Nimbus's own summary under its host name; it lives as long as this session.
func (s *State) SetNimbus(ctx context.Context, summary *storm.NimbusSummary) error {
	node, err := child(nimbusesDir, summary.Host)
	if err != nil {
		return err
	}
	data, err := Encode(ctx, summary)
	if err != nil {
		return err
	}
	return s.setEphemeral(ctx, node, data)
}

// JoinElection enters this Nimbus into the leader election, in the form of Curator's LeaderLatch, and returns its node.
// Entries that an earlier process of the same host and port left are removed: it is gone, since we hold its port.
func (s *State) JoinElection(ctx context.Context, id NimbusID) (string, error) {
	names, err := s.children(ctx, leaderLockDir)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		data, err := s.get(ctx, leaderLockDir+"/"+name)
		if err != nil {
			return "", err
		}
		if string(data) == id.String() {
			if err := s.remove(ctx, leaderLockDir+"/"+name); err != nil {
				return "", err
			}
		}
	}
	var made string
	err = s.call(ctx, func() (err error) {
		made, err = s.conn.Create(fmt.Sprintf("%s%s/_c_%s-latch-", s.root, leaderLockDir, uuid.NewString()), []byte(id.String()),
			zk.FlagEphemeral|zk.FlagSequence, s.acl)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("join the election: %w", err)
	}
	return made[strings.LastIndexByte(made, '/')+1:], nil
}

// Leader returns the Nimbus that holds the election's oldest entry and that entry's node, or "" when nobody stands.
func (s *State) Leader(ctx context.Context) (id, node string, err error) {
	names, err := s.children(ctx, leaderLockDir)
	if err != nil {
		return "", "", err
	}
	sequence := func(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(sequence(a), sequence(b)) })
	for _, name := range names {
		data, err := s.get(ctx, leaderLockDir+"/"+name)
		if err != nil {
			return "", "", err
		}
		if data != nil {
			return string(data), name, nil
		}
	}
	return "", "", nil
}

// WatchElection calls changed after each change of the election's entries, until ctx ends. The first call comes at once.
func (s *State) WatchElection(ctx context.Context, changed func()) error {
	return s.watchChildren(ctx, leaderLockDir, changed)
}

// BlobKeys returns the keys of all blobs that some Nimbus holds, sorted.
func (s *State) BlobKeys(ctx context.Context) ([]string, error) { return s.sorted(ctx, blobstoreDir) }

// AddBlob tells that this Nimbus holds a blob; sequence starts at 1 and grows with each change of the content.
func (s *State) AddBlob(ctx context.Context, key string, id NimbusID, sequence int32) error {
	batch := s.Batch()
	batch.AddBlob(key, id, sequence)
	return batch.Commit(ctx)
}

// RemoveBlob forgets a blob.
func (s *State) RemoveBlob(ctx context.Context, key string) error {
	return errors.Join(s.drop(ctx, blobstoreDir, key), s.drop(ctx, blobSequencesDir, key))
}

// BlobSequence returns the highest sequence number of a blob's content, 0 when it has none.
func (s *State) BlobSequence(ctx context.Context, key string) (int32, error) {
	node, err := child(blobSequencesDir, key)
	if err != nil {
		return 0, err
	}
	data, err := s.get(ctx, node)
	if err != nil || data == nil {
		return 0, err
	}
	if len(data) != 4 {
		return 0, fmt.Errorf("read %s: %d bytes are no sequence number", node, len(data))
	}
	return int32(binary.BigEndian.Uint32(data)), nil
}
