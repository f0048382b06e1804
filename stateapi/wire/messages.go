// SPDX-License-Identifier: Apache-2.0

// This file has the messages with more than a field or two.

package wire

import (
	"github.com/gust-stream/gust/stateapi"
)

// OpenRequest asks for a session.
type OpenRequest struct {
	stateapi.Definition
	Resume uint64 // the session to go on with, or 0
}

// Append appends the request's body.
func (o *OpenRequest) Append(b *Builder) {
	b.String(o.Topology)
	b.String(o.Owner)
	b.String(o.Component)
	b.U32(uint32(o.Task))
	b.U32(uint32(o.Tasks))
	b.U32(uint32(o.Shards))
	b.String(o.Encoder)
	b.U64(o.Resume)
}

// ReadOpenRequest reads the request's body.
func ReadOpenRequest(f *Fields) OpenRequest {
	var o OpenRequest
	o.Topology, o.Owner, o.Component = f.String(), f.String(), f.String()
	o.Task, o.Tasks, o.Shards = int32(f.U32()), int32(f.U32()), int32(f.U32())
	o.Encoder = f.String()
	o.Resume = f.U64()
	return o
}

// Opened is the answer to an OpenRequest.
type Opened struct {
	Session     uint64
	ArenaPath   string
	ArenaID     uint64
	Descriptor  uint64 // offset in the arena
	NamespaceID uint64
	Commit      uint64 // number of the newest commit
	Prepared    bool   // Batch is prepared under TxID
	TxID        int64
	Batch       []byte
}

// Append appends the answer's body.
func (o *Opened) Append(b *Builder) {
	b.U64(o.Session)
	b.String(o.ArenaPath)
	b.U64(o.ArenaID)
	b.U64(o.Descriptor)
	b.U64(o.NamespaceID)
	b.U64(o.Commit)
	b.Bool(o.Prepared)
	if o.Prepared {
		b.U64(uint64(o.TxID))
		b.Bytes(o.Batch)
	}
}

// ReadOpened reads the answer's body; Batch lies in it.
func ReadOpened(f *Fields) Opened {
	o := Opened{Session: f.U64(), ArenaPath: f.String(), ArenaID: f.U64(), Descriptor: f.U64(), NamespaceID: f.U64(), Commit: f.U64()}
	if o.Prepared = f.Bool(); o.Prepared {
		o.TxID, o.Batch = int64(f.U64()), f.Bytes()
	}
	return o
}
