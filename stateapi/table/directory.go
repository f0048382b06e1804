// SPDX-License-Identifier: Apache-2.0

// This file is the directory: it leads from a hash to its segment.

package table

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/segment"
)

const (
	offsetBits = 56
	offsetMask = 1<<offsetBits - 1

	// maxDepth lets segments of a hundred kilobytes fill a terabyte. Keys that ask for more have been made to.
	maxDepth = 24
)

// An entry is a depth and an offset in one word, as is the directory word.
func entryOf(depth uint8, offset uint64) uint64 { return uint64(depth)<<offsetBits | offset }

func depthOf(e uint64) uint8 { return uint8(e >> offsetBits) }

func offsetOf(e uint64) uint64 { return e & offsetMask }

// slotOf is where the entry for a hash is, in a directory.
func (t *Table) slotOf(directory, hash uint64) *atomic.Uint64 {
	depth := depthOf(directory)
	if depth == 0 {
		return &t.words[wordDirectory]
	}
	return t.arena.Word(offsetOf(directory) + 8*(hash>>(64-depth)))
}

// entry is the entry for a hash; 0 if nothing is there.
func (t *Table) entry(hash uint64) uint64 {
	d := t.words[wordDirectory].Load()
	if depthOf(d) == 0 {
		return d
	}
	return t.slotOf(d, hash).Load()
}

// segment is the segment that an entry leads to.
func (t *Table) segment(e uint64) []byte {
	offset := offsetOf(e)
	return t.arena.Bytes(offset, uint64(segment.Length(t.arena.Bytes(offset, segment.HeaderSize))))
}

func (t *Table) depth() uint8 { return depthOf(t.words[wordDirectory].Load()) }

// set has all entries of a range lead to e.
func (t *Table) set(prefix uint64, depth uint8, e uint64) {
	d := t.words[wordDirectory].Load()
	own := depthOf(d)
	if own == 0 {
		t.words[wordDirectory].Store(e)
		return
	}
	first := offsetOf(d) + 8*(prefix>>(64-own))
	for i := range uint64(1) << (own - depth) {
		t.arena.Word(first + 8*i).Store(e)
	}
}

// same says whether all entries of a range are e.
func (t *Table) same(prefix uint64, depth uint8, e uint64) bool {
	d := t.words[wordDirectory].Load()
	own := depthOf(d)
	if own == 0 || depth >= own {
		return t.slotOf(d, prefix).Load() == e
	}
	first := offsetOf(d) + 8*(prefix>>(64-own))
	for i := range uint64(1) << (own - depth) {
		if t.arena.Word(first+8*i).Load() != e {
			return false
		}
	}
	return true
}

func directoryLength(depth uint8) uint64 { return 8 << depth }

// double makes the directory one deeper.
func (t *Table) double() error {
	d := t.words[wordDirectory].Load()
	depth := depthOf(d)
	if depth >= maxDepth {
		return fmt.Errorf("too many keys have the same first %d bits of hash: %w", maxDepth, stateapi.ErrNoRoom)
	}
	to, err := t.take(directoryLength(depth + 1))
	if err != nil {
		return fmt.Errorf("larger directory: %w", err)
	}
	for i := range uint64(1) << depth {
		e := d
		if depth > 0 {
			e = t.arena.Word(offsetOf(d) + 8*i).Load()
		}
		t.arena.Word(to + 16*i).Store(e)
		t.arena.Word(to + 16*i + 8).Store(e)
	}
	t.moveDirectory(d, entryOf(depth+1, to))
	return nil
}

func (t *Table) moveDirectory(from, to uint64) {
	t.words[wordDirectory].Store(to)
	if depthOf(from) > 0 {
		t.give(offsetOf(from), directoryLength(depthOf(from)))
	}
}

// halve makes the directory as small as it can be. Where there is no room for a smaller one, it stays.
func (t *Table) halve() error {
	for {
		d := t.words[wordDirectory].Load()
		depth := depthOf(d)
		if depth == 0 {
			return nil
		}
		n := uint64(1) << (depth - 1)
		for i := range n {
			if t.arena.Word(offsetOf(d)+16*i).Load() != t.arena.Word(offsetOf(d)+16*i+8).Load() {
				return nil
			}
		}
		if depth == 1 {
			t.moveDirectory(d, t.arena.Word(offsetOf(d)).Load())
			return nil
		}
		to, err := t.take(directoryLength(depth - 1))
		if errors.Is(err, stateapi.ErrNoRoom) {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range n {
			t.arena.Word(to + 8*i).Store(t.arena.Word(offsetOf(d) + 16*i).Load())
		}
		t.moveDirectory(d, entryOf(depth-1, to))
	}
}

// rangeOf is the range of hashes that an entry for hash stands for: its segment's, or the widest that holds nothing.
func (t *Table) rangeOf(hash uint64) (e, prefix uint64, depth uint8) {
	e = t.entry(hash)
	if e != 0 {
		return e, prefixOf(hash, depthOf(e)), depthOf(e)
	}
	depth = t.depth()
	for depth > 0 && t.same(prefixOf(hash, depth-1), depth-1, 0) {
		depth--
	}
	return 0, prefixOf(hash, depth), depth
}

// prefixOf has the first depth bits of a hash.
func prefixOf(hash uint64, depth uint8) uint64 { return hash &^ (^uint64(0) >> depth) }

// after is the first hash behind a range; 0 if it is the last.
func after(prefix uint64, depth uint8) uint64 {
	if depth == 0 {
		return 0
	}
	return prefix + 1<<(64-depth)
}

// within says whether a hash begins with the first depth bits of prefix.
func within(hash, prefix uint64, depth uint8) bool { return (hash^prefix)>>(64-depth) == 0 }
