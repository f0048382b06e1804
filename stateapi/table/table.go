// SPDX-License-Identifier: Apache-2.0

// This file has the table and its descriptor.

package table

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/arena"
	"github.com/gust-stream/gust/stateapi/segment"
)

// MaxValue is the longest value.
const MaxValue = 64 << 20

// Errors that a reader's user decides on.
var (
	ErrRetired = arena.ErrRetired // open the namespace again
	ErrBusy    = errors.New("state changed all the time while it was read")
)

// Options of tables. They may be shared.
type Options struct {
	Compress int // values of at least so many bytes are deflated where that makes them shorter; 0: none
}

// Table is the writer's end of one namespace. One goroutine may use it at a time; tables of one arena go side by side.
type Table struct {
	arena    *arena.Arena
	words    *descriptor
	offset   uint64 // of the descriptor
	options  *Options
	inflater *inflater
}

// descriptor is a descriptor in place.
type descriptor [arena.DescriptorSize / 8]atomic.Uint64

// What a descriptor's words are.
const (
	wordDirectory = iota
	wordID
	wordApplied
	wordEntries
	wordSession
	wordBytes
	wordPosition
	wordShards // lower half; upper half: values that lie in runs, or more
)

// Stats says how much a table holds.
type Stats struct {
	Entries uint64
	Bytes   uint64 // of the arena
}

// New makes an empty table for the namespace with this id, which is random and not 0.
func New(a *arena.Arena, id uint64, shards int, options *Options) (t *Table, err error) {
	defer arena.Catch(debug.SetPanicOnFault(true), &err)
	if id == 0 || shards <= 0 || shards&(shards-1) != 0 {
		return nil, fmt.Errorf("table %x with %d shards, which must be a power of two", id, shards)
	}
	offset, err := a.NewDescriptor()
	if err != nil {
		return nil, fmt.Errorf("new table: %w", err)
	}
	t = newTable(a, offset, options)
	t.words[wordShards].Store(uint64(bits.TrailingZeros(uint(shards))))
	t.words[wordID].Store(id)
	return t, nil
}

func newTable(a *arena.Arena, offset uint64, options *Options) *Table {
	if options == nil {
		options = &Options{}
	}
	return &Table{arena: a, words: (*descriptor)(unsafe.Pointer(a.Word(offset))), offset: offset, options: options}
}

// load reads a word of the descriptor; 0 if it cannot be read.
func (t *Table) load(word int) (value uint64) {
	var err error
	defer arena.Catch(debug.SetPanicOnFault(true), &err)
	return t.words[word].Load()
}

// save writes a word of the descriptor. If that cannot be done, the next Apply says so.
func (t *Table) save(word int, value uint64) {
	var err error
	defer arena.Catch(debug.SetPanicOnFault(true), &err)
	t.words[word].Store(value)
}

// ID is the namespace's id.
func (t *Table) ID() uint64 { return t.load(wordID) }

// Descriptor is where in the arena readers begin.
func (t *Table) Descriptor() uint64 { return t.offset }

// Shards is the number of shards.
func (t *Table) Shards() int { return 1 << (t.load(wordShards) & 31) }

// Applied is a commit: it and all before it are in the table.
func (t *Table) Applied() uint64 { return t.load(wordApplied) }

// SetApplied tells readers which commits are in the table.
func (t *Table) SetApplied(commit uint64) { t.save(wordApplied, commit) }

// Position is the journal position up to which the table is complete.
func (t *Table) Position() uint64 { return t.load(wordPosition) }

// SetPosition sets Position.
func (t *Table) SetPosition(position uint64) { t.save(wordPosition, position) }

// Session is the session that may write.
func (t *Table) Session() uint64 { return t.load(wordSession) }

// SetSession sets Session.
func (t *Table) SetSession(session uint64) { t.save(wordSession, session) }

// Stats says how much the table holds.
func (t *Table) Stats() Stats { return Stats{Entries: t.load(wordEntries), Bytes: t.load(wordBytes)} }

// count is for numbers that only this process changes.
func (t *Table) count(word, change int) { store(&t.words[word], t.words[word].Load()+uint64(change)) }

// long is how many values lie in runs, or more.
func (t *Table) long() uint32 { return uint32(t.words[wordShards].Load() >> 32) }

func (t *Table) countLong(change int) { t.count(wordShards, change<<32) }

// size is what a piece takes in the arena.
func size(length uint64) int {
	if length <= arena.LargestCell {
		return int(length+63) &^ 63
	}
	return int(length+arena.Page-1) &^ (arena.Page - 1)
}

func (t *Table) take(length uint64) (uint64, error) {
	offset, err := t.arena.Alloc(length)
	if err == nil {
		t.count(wordBytes, size(length))
	}
	return offset, err
}

func (t *Table) give(offset, length uint64) {
	t.arena.Free(offset, length)
	t.count(wordBytes, -size(length))
}

// Get appends the value of key to dst.
func (t *Table) Get(dst, key []byte) (value []byte, found bool, err error) {
	defer arena.Catch(debug.SetPanicOnFault(true), &err)
	hash := segment.Hash(key)
	e := t.entry(hash)
	if e == 0 {
		return dst, false, nil
	}
	v, found := segment.Find(t.segment(e), hash, key)
	if !found {
		return dst, false, nil
	}
	if v.Flags == 0 {
		return append(dst, v.Bytes...), true, nil
	}
	dst, err = t.plain(dst, v)
	return dst, err == nil, err
}

// Put sets a key. Positions stay as they are.
func (t *Table) Put(key, value []byte) (err error) {
	defer arena.Catch(debug.SetPanicOnFault(true), &err)
	c := change{t: t}
	defer c.close()
	return c.put(segment.Hash(key), key, value)
}

// Delete removes a key. Positions stay as they are.
func (t *Table) Delete(key []byte) (err error) {
	defer arena.Catch(debug.SetPanicOnFault(true), &err)
	c := change{t: t}
	defer c.close()
	return c.delete(segment.Hash(key), key)
}

// Apply does a batch. Segments that it changes get the journal position, and the table when it is complete. After an error a part may be done: the table is
// whole, and to apply the batch again is right.
func (t *Table) Apply(batch []byte, position uint64) (err error) {
	defer arena.Catch(debug.SetPanicOnFault(true), &err)
	if err := Check(batch); err != nil {
		return fmt.Errorf("apply batch: %w", err)
	}
	c := change{t: t, position: position}
	defer c.close()
	err = stateapi.Operations(batch, func(op byte, key, value []byte) error {
		hash := segment.Hash(key)
		if op == stateapi.OpDelete {
			return c.delete(hash, key)
		}
		return c.put(hash, key, value)
	})
	if err != nil {
		return fmt.Errorf("apply batch at %d: %w", position, err)
	}
	t.words[wordPosition].Store(position)
	return nil
}

// Check says whether a batch can be applied: it is well-formed, and nothing in it is too large.
func Check(batch []byte) error {
	return stateapi.Operations(batch, func(_ byte, key, value []byte) error { return checkSizes(key, value) })
}

func checkSizes(key, value []byte) error {
	if len(key) > segment.MaxKey || len(value) > MaxValue {
		return fmt.Errorf("key of %d bytes, value of %d, at most %d and %d: %w",
			len(key), len(value), segment.MaxKey, MaxValue, stateapi.ErrTooLarge)
	}
	return nil
}
