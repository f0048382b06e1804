// SPDX-License-Identifier: Apache-2.0

// This file walks a table in the order of hashes, checks it, and clears parts of it.

package table

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/arena"
	"github.com/gust-stream/gust/stateapi/segment"
)

// Segment says which hashes a segment has and when it changed last. Next is the first hash behind it, 0 if it is the last.
type Segment struct {
	Prefix   uint64
	Depth    uint8
	Position uint64
	Next     uint64
}

// Segment describes the segment that has a hash, or the range around it where there is none.
func (t *Table) Segment(hash uint64) (s Segment, ok bool) {
	var err error
	defer arena.Catch(debug.SetPanicOnFault(true), &err)
	e, prefix, depth := t.rangeOf(hash)
	s = Segment{Prefix: prefix, Depth: depth, Next: after(prefix, depth)}
	if e != 0 {
		s.Position = segment.Position(t.segment(e))
	}
	return s, e != 0
}

// EachIn yields all entries of the segment that has a hash, until yield says false, and returns the first hash behind the segment, 0 if it is the last.
// Key and value are valid during the call, in which the table must not change.
func (t *Table) EachIn(hash uint64, yield func(key, value []byte) bool) (next uint64, err error) {
	defer arena.Catch(debug.SetPanicOnFault(true), &err)
	e, prefix, depth := t.rangeOf(hash)
	next = after(prefix, depth)
	if e == 0 {
		return next, nil
	}
	var scratch []byte
	var inside error
	err = segment.Each(t.segment(e), func(key []byte, v segment.Value) bool {
		value := v.Bytes
		if v.Flags != 0 {
			if scratch, inside = t.plain(scratch[:0], v); inside != nil {
				return false
			}
			value = scratch
		}
		return yield(key, value)
	})
	if err = errors.Join(err, inside); err != nil {
		return next, fmt.Errorf("segment %x/%d: %w", prefix, depth, err)
	}
	return next, nil
}

// All yields every entry in the order of segments. Key and value are valid during the step, in which the table must not change.
func (t *Table) All(err *error) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		hash, more := uint64(0), true
		for more {
			next, wrong := t.EachIn(hash, func(key, value []byte) bool {
				more = yield(key, value)
				return more
			})
			if wrong != nil {
				*err = wrong
				return
			}
			hash = next
			more = more && next != 0
		}
	}
}

// ranges yields each segment's entry, or 0 where there is none, with its range, in the part of the hashes that begins so.
func (t *Table) ranges(prefix uint64, depth uint8) iter.Seq2[uint64, Segment] {
	return func(yield func(uint64, Segment) bool) {
		for hash := prefix; ; {
			e, own, ownDepth := t.rangeOf(hash)
			next := after(own, ownDepth)
			if !yield(e, Segment{Prefix: own, Depth: ownDepth, Next: next}) || next == 0 || !within(next, prefix, depth) {
				return
			}
			hash = next
		}
	}
}

// Clear removes all keys whose hash begins with the first depth bits of prefix; depth 0: all keys.
func (t *Table) Clear(prefix uint64, depth uint8) (err error) {
	defer arena.Catch(debug.SetPanicOnFault(true), &err)
	prefix = prefixOf(prefix, depth)
	for e, s := range t.ranges(prefix, depth) {
		if e == 0 {
			continue
		}
		seg := t.segment(e)
		if s.Depth < depth {
			return t.clearPart(seg, prefix, depth)
		}
		runs, err := t.runsIn(seg)
		if err != nil {
			return fmt.Errorf("clear %x/%d: %w", prefix, depth, err)
		}
		t.count(wordEntries, -segment.Entries(seg))
		t.drop(e, seg)
		for i := range runs {
			t.giveRun(runs[i][:])
		}
	}
	return t.halve()
}

// clearPart deletes those keys of a segment that are in a part of its range.
func (t *Table) clearPart(seg []byte, prefix uint64, depth uint8) error {
	var keys [][]byte
	err := segment.Each(seg, func(key []byte, _ segment.Value) bool {
		if within(segment.Hash(key), prefix, depth) {
			keys = append(keys, bytes.Clone(key))
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("clear %x/%d: %w", prefix, depth, err)
	}
	c := change{t: t, position: segment.Position(seg)}
	defer c.close()
	for _, key := range keys {
		if err := c.delete(segment.Hash(key), key); err != nil {
			return fmt.Errorf("clear %x/%d: %w", prefix, depth, err)
		}
	}
	return nil
}

// runsIn has the references to values outside of a segment.
func (t *Table) runsIn(seg []byte) (runs []run, err error) {
	if t.long() == 0 || segment.Kind(seg) != segment.Records {
		return nil, nil
	}
	var wrong error
	err = segment.Each(seg, func(_ []byte, v segment.Value) bool {
		if v.Flags&segment.Outside == 0 {
			return true
		}
		if len(v.Bytes) != len(run{}) {
			wrong = fmt.Errorf("reference of %d bytes: %w", len(v.Bytes), stateapi.ErrCorrupt)
			return false
		}
		runs = append(runs, run(v.Bytes))
		return true
	})
	return runs, errors.Join(err, wrong)
}

// Free gives back everything, the descriptor too. The table is of no more use.
func (t *Table) Free() {
	var err error
	defer arena.Catch(debug.SetPanicOnFault(true), &err)
	// What a damaged segment leads to stays behind until the arena is adopted or retired.
	_ = t.Clear(0, 0)
	t.arena.FreeDescriptor(t.offset)
}

// Verify checks everything in the table.
func (t *Table) Verify() (err error) {
	defer arena.Catch(debug.SetPanicOnFault(true), &err)
	entries, all := 0, 0
	if depth := t.depth(); depth > 0 {
		all = size(directoryLength(depth))
	}
	for e, s := range t.ranges(0, 0) {
		if e == 0 {
			continue
		}
		seg := t.segment(e)
		n, err := t.verifySegment(seg, e, s)
		if err != nil {
			return fmt.Errorf("segment %x/%d at %x: %w", s.Prefix, s.Depth, offsetOf(e), err)
		}
		entries += segment.Entries(seg)
		all += n
	}
	if stats := t.Stats(); stats.Entries != uint64(entries) || stats.Bytes != uint64(all) {
		return fmt.Errorf("%d entries in %d bytes, descriptor says %d in %d: %w", entries, all, stats.Entries, stats.Bytes, stateapi.ErrCorrupt)
	}
	return nil
}

// verifySegment checks a segment and what it leads to, and says how much of the arena that takes.
func (t *Table) verifySegment(seg []byte, e uint64, s Segment) (bytes int, err error) {
	if err := t.belongs(seg, s.Prefix, s.Depth); err != nil {
		return 0, err
	}
	if !t.same(s.Prefix, s.Depth, e) {
		return 0, fmt.Errorf("directory leads elsewhere from a part of its range: %w", stateapi.ErrCorrupt)
	}
	if segment.Sequence(seg).Load()%2 != 0 {
		return 0, fmt.Errorf("change was not ended: %w", stateapi.ErrCorrupt)
	}
	if err := segment.Verify(seg); err != nil {
		return 0, err
	}
	runs, err := t.runsIn(seg)
	if err != nil {
		return 0, err
	}
	bytes = size(uint64(len(seg)))
	for _, r := range runs {
		if got := checksum(t.arena.Bytes(r.offset(), r.length())); got != r.checksum() {
			return 0, fmt.Errorf("value of %d bytes has checksum %08x, not %08x: %w", r.length(), got, r.checksum(), stateapi.ErrCorrupt)
		}
		bytes += size(r.length())
	}
	return bytes, nil
}

// belongs says whether a segment is one of this table with this range.
func (t *Table) belongs(seg []byte, prefix uint64, depth uint8) error {
	if id := t.words[wordID].Load(); segment.Namespace(seg) != id || segment.Prefix(seg) != prefix || segment.Depth(seg) != depth {
		return fmt.Errorf("segment of namespace %x, %x/%d: %w", segment.Namespace(seg), segment.Prefix(seg), segment.Depth(seg), stateapi.ErrCorrupt)
	}
	return nil
}
