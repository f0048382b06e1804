// SPDX-License-Identifier: Apache-2.0

// This file has what a store is told and what it tells.

package shard

import (
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

	MemoryMax uint64 // bytes that the arena may take; 0: what there is

	SnapshotBytes int64         // bytes of journal after which a snapshot is taken; 0: DefaultSnapshotBytes
	Retain        time.Duration // a namespace that nobody opened for so long is removed; 0: never
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
