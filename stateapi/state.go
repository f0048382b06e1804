// SPDX-License-Identifier: Apache-2.0

// This file has the names of a state and what a client can do with it.

package stateapi

import (
	"errors"
	"iter"
)

// DefaultShards is the number of shards of a task's state where the submit says nothing else; a power of two.
const DefaultShards = 32

// Name says whose state it is. It outlives a topology's id: the next topology of the same name and owner finds it again.
type Name struct {
	Topology  string
	Owner     string
	Component string
	Task      int32
}

// Definition is a Name with what must stay the same between two openings.
type Definition struct {
	Name
	Tasks   int32  // tasks of the component
	Shards  int32  // a power of two
	Encoder string // how clients encode keys and values: serializer, Kryo major version, registrations
}

// State is one task's keyed state as its only writer sees it. Reads see changes not yet committed over prepared ones over committed
// ones. Keys and values are copied at the call. A State is used by one goroutine at a time; other openings read through their own.
type State interface {
	// Get appends the value of key to dst and returns it, and whether there is one.
	Get(dst, key []byte) ([]byte, bool, error)
	// Put sets key to value, both of any length up to 64 MiB, also empty.
	Put(key, value []byte) error
	// Delete removes key; a key that is not there is no error.
	Delete(key []byte) error
	// All yields every key once with its value; the order is the hash's. Errors end the sequence and are found in the pointed-to error.
	All(err *error) iter.Seq2[[]byte, []byte]
	// Prepare makes the changes since the last Prepare durable under txid, not yet visible to others, together with what was prepared and
	// not committed before: only the newer txid can be committed then.
	Prepare(txid int64) error
	// Commit makes what was prepared under txid visible for good. Committing the last committed txid again succeeds.
	Commit(txid int64) error
	// CommitNow makes the changes since the last Prepare visible for good, without a txid. What is prepared stays so.
	CommitNow() error
	// Rollback drops what is prepared and what is not yet prepared.
	Rollback() error
	// Close ends the session; what is prepared stays for the next one.
	Close() error
}

// Errors that a caller decides on; what is returned wraps them with the namespace's name.
var (
	ErrFenced         = errors.New("a newer session has opened this state")
	ErrUnknownPrepare = errors.New("nothing was prepared under this txid")
	ErrEncoder        = errors.New("the state was written with another encoder")
	ErrTasks          = errors.New("the state was written by another number of tasks")
	ErrNoRoom         = errors.New("no room for state")
	ErrNotReady       = errors.New("the state is not complete yet")
	ErrDenied         = errors.New("the state belongs to somebody else")
	ErrTooLarge       = errors.New("key, value or batch too large")
	ErrCorrupt        = errors.New("damaged state")
)
