// SPDX-License-Identifier: Apache-2.0

// This file opens the tables of an arena that was adopted, and mends what a killed writer left.

package table

import (
	"fmt"
	"runtime/debug"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/arena"
	"github.com/gust-stream/gust/stateapi/segment"
)

// Open is the table of a descriptor in an arena that is being adopted and is not swept yet. It claims what the table has. What lies in segments that were
// not in change is not checked: Verify does that.
func Open(a *arena.Arena, offset uint64, options *Options) (t *Table, err error) {
	defer arena.Catch(debug.SetPanicOnFault(true), &err)
	t = newTable(a, offset, options)
	if err := t.open(); err != nil {
		return nil, fmt.Errorf("open table at %x: %w", offset, err)
	}
	return t, nil
}

func (t *Table) open() error {
	d := t.words[wordDirectory].Load()
	depth := depthOf(d)
	if t.words[wordID].Load() == 0 || depth > maxDepth {
		return fmt.Errorf("namespace %x, directory of depth %d: %w", t.words[wordID].Load(), depth, stateapi.ErrCorrupt)
	}
	t.words[wordBytes].Store(0)
	t.words[wordEntries].Store(0)
	if depth > 0 {
		if err := t.claim(offsetOf(d), directoryLength(depth)); err != nil {
			return fmt.Errorf("directory: %w", err)
		}
		if err := t.mendDirectory(); err != nil {
			return fmt.Errorf("directory: %w", err)
		}
	}
	long := 0
	for e, s := range t.ranges(0, 0) {
		if e == 0 {
			continue
		}
		n, err := t.adoptSegment(e, s)
		if err != nil {
			return fmt.Errorf("segment %x/%d at %x: %w", s.Prefix, s.Depth, offsetOf(e), err)
		}
		long += n
	}
	t.words[wordShards].Store(t.words[wordShards].Load()&(1<<32-1) | uint64(long)<<32)
	return nil
}

func (t *Table) claim(offset, length uint64) error {
	if err := t.arena.Claim(offset, length); err != nil {
		return err
	}
	t.count(wordBytes, size(length))
	return nil
}

// mendDirectory ends or takes back a change of several entries that was cut off. Of segments whose ranges overlap, the one with the wider range has all that
// the others have: the new one of a merge, the old one of a split.
func (t *Table) mendDirectory() error {
	d := t.words[wordDirectory].Load()
	depth, first := depthOf(d), offsetOf(d)
	n, last := uint64(1)<<depth, uint64(0)
	for i := range n {
		e := t.arena.Word(first + 8*i).Load()
		if e == 0 || e == last && i > 0 {
			last = e
			continue
		}
		last = e
		if depthOf(e) > depth || offsetOf(e) == 0 {
			return fmt.Errorf("entry %x in a directory of depth %d: %w", e, depth, stateapi.ErrCorrupt)
		}
		width := uint64(1) << (depth - depthOf(e))
		start := i &^ (width - 1)
		for j := start; j < start+width; j++ {
			word := t.arena.Word(first + 8*j)
			other := word.Load()
			if other != 0 && other != e && depthOf(other) < depthOf(e) {
				break // the other one's turn is before or still to come
			}
			word.Store(e)
		}
	}
	return nil
}

// adoptSegment claims a segment and the values outside of it, of which it returns the number.
func (t *Table) adoptSegment(e uint64, s Segment) (long int, err error) {
	offset := offsetOf(e)
	if offset%segment.HeaderSize != 0 {
		return 0, fmt.Errorf("not at a multiple of %d: %w", segment.HeaderSize, stateapi.ErrCorrupt)
	}
	header, err := t.arena.Peek(offset, segment.HeaderSize)
	if err != nil {
		return 0, err
	}
	length := segment.Length(header)
	if length < segment.HeaderSize || uint64(length) > arena.Slot-offset%arena.Slot {
		return 0, fmt.Errorf("length %d: %w", length, stateapi.ErrCorrupt)
	}
	if err := t.claim(offset, uint64(length)); err != nil {
		return 0, err
	}
	seg := t.arena.Bytes(offset, uint64(length))
	if err := t.belongs(seg, s.Prefix, s.Depth); err != nil {
		return 0, err
	}
	t.arena.PastSequence(segment.Sequence(seg).Load())
	if err := t.mendSegment(offset, seg); err != nil {
		return 0, err
	}
	t.count(wordEntries, segment.Entries(seg))
	runs, err := t.runsIn(seg)
	if err != nil {
		return 0, err
	}
	for _, r := range runs {
		if err := t.claim(r.offset(), r.length()); err != nil {
			return 0, fmt.Errorf("value outside: %w", err)
		}
	}
	return len(runs), nil
}

// mendSegment makes a segment whole that a writer was killed in, and checks the header of any.
func (t *Table) mendSegment(offset uint64, seg []byte) error {
	number := segment.Sequence(seg)
	if number.Load()%2 == 0 {
		return segment.Each(seg, func([]byte, segment.Value) bool { return false })
	}
	if start, saved, ok := t.arena.Saved(offset); ok {
		if start < segment.HeaderSize || start > len(seg) || len(saved) > len(seg)-start {
			return fmt.Errorf("%d saved bytes at %d of %d: %w", len(saved), start, len(seg), stateapi.ErrCorrupt)
		}
		copy(seg[start:], saved)
	}
	if err := segment.Repair(seg); err != nil {
		return fmt.Errorf("mend: %w", err)
	}
	number.Add(1)
	return nil
}
