// SPDX-License-Identifier: Apache-2.0

// This file has what a store is told and what it tells.

package shard

import (
	"context"
	"time"

	"github.com/gust-stream/gust/stateapi"
)

// Defaults of a Config.
const (
	DefaultCapacity      = 1 << 40
	DefaultSnapshotBytes = 32 << 20
)

// Config is what a Store needs.
type Config struct {
	Dir      string // the journal and the snapshots
	ArenaDir string // on tmpfs: the arena
	Capacity uint64 // address space of an arena, a multiple of 1 GiB; 0: DefaultCapacity
	NewArena bool   // build a new arena even if the old one could be adopted

	SnapshotBytes int64         // bytes of journal after which a snapshot is taken; 0: DefaultSnapshotBytes
	Retain        time.Duration // a namespace that nobody opened for so long is removed; 0: never

	Copies Copies // nil: none
}

// Copies takes the records of namespaces to other machines. Append returns when all copies of the epoch have the record; it is called
// while the local fsync runs, and an operation succeeds only after both. Records of a namespace are numbered (RecordNumber); a number
// that comes again is the same record. Calls for one namespace can overtake each other when a new session fences an older one: order
// them by number.
type Copies interface {
	Append(ctx context.Context, name stateapi.Name, epoch uint64, record []byte) error
}

// Opened is what opening a namespace answers.
type Opened struct {
	Session     uint64
	ArenaPath   string
	ArenaID     uint64
	Descriptor  uint64 // offset in the arena
	NamespaceID uint64
	Commit      uint64 // the newest commit; the table may be a moment behind
	Prepared    bool   // Batch is prepared under TxID and not committed
	TxID        int64
	Batch       []byte // not to be changed
}

// Info describes a namespace.
type Info struct {
	stateapi.Definition
	NamespaceID uint64
	Epoch       uint64
	Session     uint64
	Commit      uint64
	Applied     uint64
	Prepared    bool
	TxID        int64 // of what is prepared
	Entries     uint64
	Bytes       uint64 // in the arena
	Opened      time.Time
	Damage      error // not nil: refuses to work until it is repaired, or until there is room
}

// Entry is one key with its value.
type Entry struct{ Key, Value []byte }
