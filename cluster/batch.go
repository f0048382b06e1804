// SPDX-License-Identifier: Apache-2.0

// This file gathers writes that belong together into one atomic multi.

package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/go-zookeeper/zk"

	"github.com/gust-stream/gust/thrift/storm"
)

// batchTries bounds how often a batch is laid out anew when others change the same nodes at the same time.
const batchTries = 8

// Batch collects writes that happen together or not at all. It is not safe for use by several goroutines.
type Batch struct {
	state  *State
	writes []write
	err    error
}

type write struct {
	node  string
	data  []byte
	flags int32
	keep  bool // an existing node is left as it is
	drop  bool // remove instead of write
}

// Batch starts an empty batch.
func (s *State) Batch() *Batch { return &Batch{state: s} }

// SetStorm adds the write of a topology's state.
func (b *Batch) SetStorm(ctx context.Context, topologyID string, base *storm.StormBase) {
	b.put(ctx, stormsDir, topologyID, base)
}

// RemoveStorm adds the removal of a topology's state.
func (b *Batch) RemoveStorm(topologyID string) { b.remove(stormsDir, topologyID) }

// SetAssignment adds the write of a topology's assignment.
func (b *Batch) SetAssignment(ctx context.Context, topologyID string, assignment *storm.Assignment) {
	b.put(ctx, assignmentsDir, topologyID, assignment)
}

// RemoveAssignment adds the removal of a topology's assignment.
func (b *Batch) RemoveAssignment(topologyID string) { b.remove(assignmentsDir, topologyID) }

// SetCredentials adds the write of a topology's credentials.
func (b *Batch) SetCredentials(ctx context.Context, topologyID string, credentials *storm.Credentials) {
	b.put(ctx, credentialsDir, topologyID, credentials)
}

// RemoveCredentials adds the removal of a topology's credentials.
func (b *Batch) RemoveCredentials(topologyID string) { b.remove(credentialsDir, topologyID) }

// RemoveLogConfig adds the removal of a topology's log levels.
func (b *Batch) RemoveLogConfig(topologyID string) { b.remove(logConfigsDir, topologyID) }

// MakeTopology adds the places where a topology's workers write statistics and errors.
func (b *Batch) MakeTopology(topologyID string) {
	for _, dir := range []string{workerBeatsDir, errorsDir} {
		b.add(dir, topologyID, write{data: nodeMark(), keep: true})
	}
}

// AddBlob adds the mark that a Nimbus holds a blob.
func (b *Batch) AddBlob(key string, id NimbusID, sequence int32) {
	b.add(blobstoreDir, key, write{data: nodeMark(), keep: true})
	b.add(blobSequencesDir, key, write{data: binary.BigEndian.AppendUint32(nil, uint32(sequence))})
	if b.err == nil {
		b.add(blobstoreDir+"/"+key, fmt.Sprintf("%s-%d", id, sequence), write{data: nodeMark(), flags: zk.FlagEphemeral})
	}
}

func (b *Batch) put(ctx context.Context, dir, name string, value thrift.TStruct) {
	data, err := Encode(ctx, value)
	if err != nil {
		b.err = errors.Join(b.err, err)
		return
	}
	b.add(dir, name, write{data: data})
}

func (b *Batch) remove(dir, name string) { b.add(dir, name, write{drop: true}) }

func (b *Batch) add(dir, name string, w write) {
	node, err := child(dir, name)
	if err != nil {
		b.err = errors.Join(b.err, err)
		return
	}
	w.node = node
	b.writes = append(b.writes, w)
}

// Commit performs the batch. It looks first which nodes exist and, when somebody changed one of them in between, looks
// again. The removal of a node with children is refused by the server: such nodes are not for batches.
func (b *Batch) Commit(ctx context.Context) error {
	if b.err != nil {
		return b.err
	}
	size := 0
	for _, w := range b.writes {
		size += len(w.data) + 2*(len(b.state.root)+len(w.node)+opCost) // an ephemeral node is removed and made
	}
	if err := checkSize(b.firstNode(), size); err != nil {
		return err
	}
	known := map[string]bool{} // optimism first: nothing is there yet
	for try := range batchTries {
		ops := b.lay(known)
		if len(ops) == 0 {
			return nil
		}
		err := b.state.call(ctx, func() error {
			_, err := b.state.conn.Multi(ops...)
			return err
		})
		if err == nil {
			return nil
		}
		if !errors.Is(err, zk.ErrNodeExists) && !errors.Is(err, zk.ErrNoNode) || try == batchTries-1 {
			return fmt.Errorf("write %d nodes from %s: %w", len(ops), b.firstNode(), err)
		}
		if known, err = b.look(ctx); err != nil {
			return err
		}
	}
	return nil
}

// opCost is what an operation has in a multi beside its path and data, with an access list.
const opCost = 100

func (b *Batch) firstNode() string {
	if len(b.writes) == 0 {
		return ""
	}
	return b.writes[0].node
}

// lay turns the writes into operations for the nodes that are known to exist.
func (b *Batch) lay(known map[string]bool) []any {
	var ops []any
	for _, w := range b.writes {
		full := b.state.root + w.node
		exists, looked := known[w.node]
		switch {
		case w.drop && looked && !exists, w.keep && exists:
		case w.drop:
			ops = append(ops, &zk.DeleteRequest{Path: full, Version: -1})
		case exists && w.flags == zk.FlagEphemeral: // it may be another session's, so it is made anew
			ops = append(ops, &zk.DeleteRequest{Path: full, Version: -1}, b.made(full, w))
		case exists:
			ops = append(ops, &zk.SetDataRequest{Path: full, Data: w.data, Version: -1})
		default:
			ops = append(ops, b.made(full, w))
		}
	}
	return ops
}

func (b *Batch) made(full string, w write) *zk.CreateRequest {
	return &zk.CreateRequest{Path: full, Data: w.data, Acl: b.state.acl, Flags: w.flags}
}

// look finds out which of the batch's nodes exist, and makes parents that are missing.
func (b *Batch) look(ctx context.Context) (map[string]bool, error) {
	inBatch := map[string]bool{}
	known := map[string]bool{}
	for _, w := range b.writes {
		inBatch[w.node] = true
		if parent := path.Dir(w.node); !inBatch[parent] && !w.drop {
			if err := b.state.mkdir(ctx, parent); err != nil {
				return nil, err
			}
		}
		err := b.state.call(ctx, func() error {
			exists, _, err := b.state.conn.Exists(b.state.root + w.node)
			known[w.node] = exists
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", w.node, err)
		}
	}
	return known, nil
}
