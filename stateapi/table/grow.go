// SPDX-License-Identifier: Apache-2.0

// This file lets segments grow, shrink, split and merge: each time, new ones are built beside the old.

package table

import (
	"errors"
	"fmt"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/segment"
)

// entrySize is what a segment must have room for besides what it holds.
type entrySize struct {
	key, value int
	flags      byte
}

// fresh makes an empty segment that nothing leads to yet; its number is odd.
func (t *Table) fresh(s segment.Shape, prefix uint64, depth uint8) (offset uint64, seg []byte, err error) {
	if offset, err = t.take(uint64(s.Length)); err != nil {
		return 0, nil, fmt.Errorf("segment: %w", err)
	}
	seg = t.arena.Bytes(offset, uint64(s.Length))
	segment.Sequence(seg).Store(t.arena.Sequence() + 1)
	segment.Sequence(seg).Load() // after Store, a full barrier on every processor
	segment.Init(seg, s, t.words[wordID].Load(), prefix, depth)
	return offset, seg, nil
}

// finish makes the number of a new segment even.
func finish(seg []byte) { segment.Sequence(seg).Add(1) }

// leave says that a segment is about to be given back.
func (t *Table) leave(seg []byte) { t.arena.PastSequence(segment.Sequence(seg).Load()) }

func (t *Table) giveSegment(e uint64, seg []byte) { t.give(offsetOf(e), uint64(len(seg))) }

// firstSegment makes a segment where there is none.
func (t *Table) firstSegment(hash uint64, key []byte, v segment.Value) error {
	_, prefix, depth := t.rangeOf(hash)
	var s segment.Stats
	s.Add(len(key), len(v.Bytes), v.Flags)
	offset, seg, err := t.fresh(segment.Choose(s), prefix, depth)
	if err != nil {
		return err
	}
	finish(seg)
	t.set(prefix, depth, entryOf(depth, offset))
	return nil
}

// grow makes room for one more entry. again says that it was tried before and did not help.
func (t *Table) grow(e uint64, seg []byte, more entrySize, again bool) error {
	s, err := segment.Measure(seg)
	if err != nil {
		return fmt.Errorf("measure segment: %w", err)
	}
	s.Add(more.key, more.value, more.flags)
	shape := segment.Choose(s)
	if now := segment.ShapeOf(seg); again && shape.Kind == now.Kind && shape.Length <= now.Length {
		shape = now.Larger()
	}
	if s.Entries <= segment.MaxEntries {
		if done, err := t.rebuild(e, seg, shape); done || err != nil {
			return err
		}
	}
	return t.split(e, seg)
}

// rebuild moves a segment's entries to a new one of at least this shape. It says no if that would be longer than a segment can be.
func (t *Table) rebuild(e uint64, seg []byte, shape segment.Shape) (bool, error) {
	prefix, depth := segment.Prefix(seg), segment.Depth(seg)
	for ; shape.Length <= segment.SlotSize; shape = shape.Larger() {
		offset, to, err := t.fresh(shape, prefix, depth)
		if err != nil {
			return false, err
		}
		if ok, err := segment.Rebuild([][]byte{to}, seg); !ok || err != nil {
			t.give(offset, uint64(len(to)))
			if err != nil {
				return false, fmt.Errorf("rebuild segment: %w", err)
			}
			continue
		}
		segment.SetPosition(to, segment.Position(seg))
		finish(to)
		t.leave(seg)
		t.set(prefix, depth, entryOf(depth, offset))
		t.giveSegment(e, seg)
		return true, nil
	}
	return false, nil
}

// half is one of two segments that take the place of one.
type half struct {
	prefix uint64
	shape  segment.Shape
	offset uint64
	seg    []byte
}

// split divides a segment in two.
func (t *Table) split(e uint64, seg []byte) error {
	prefix, depth := segment.Prefix(seg), segment.Depth(seg)+1
	if depth > t.depth() {
		if err := t.double(); err != nil {
			return err
		}
	}
	stats, err := segment.MeasureHalves(seg)
	if err != nil {
		return fmt.Errorf("measure segment: %w", err)
	}
	halves := [2]half{{prefix: prefix}, {prefix: prefix | 1<<(64-depth)}}
	for i := range halves {
		// What was in one segment fits into one of that shape, if nothing goes to the other half.
		if halves[i].shape = segment.Choose(stats[i]); halves[i].shape.Length > segment.SlotSize {
			halves[i].shape = segment.ShapeOf(seg)
		}
	}
	built := false
	for range mostTries {
		if built, err = t.buildHalves(&halves, depth, seg); built || err != nil {
			break
		}
		// Nobody says which half was too small, and the other one may have no room to grow.
		for i := range halves {
			if larger := halves[i].shape.Larger(); larger.Length <= segment.SlotSize {
				halves[i].shape = larger
			}
		}
	}
	if err != nil {
		return err
	}
	if !built {
		return fmt.Errorf("a half of segment %x/%d does not fit into one: %w", prefix, depth-1, stateapi.ErrCorrupt)
	}
	t.leave(seg)
	for i, h := range halves {
		segment.SetPosition(h.seg, segment.Position(seg))
		finish(h.seg)
		if stats[i].Entries == 0 {
			t.leave(h.seg)
			t.set(h.prefix, depth, 0)
			t.give(h.offset, uint64(len(h.seg)))
			continue
		}
		t.set(h.prefix, depth, entryOf(depth, h.offset))
	}
	t.giveSegment(e, seg)
	return nil
}

// buildHalves fills both halves; it says no if one is too small.
func (t *Table) buildHalves(halves *[2]half, depth uint8, from []byte) (ok bool, err error) {
	defer func() {
		for i := range halves {
			if h := &halves[i]; !ok && h.seg != nil {
				t.give(h.offset, uint64(len(h.seg)))
				h.seg = nil
			}
		}
	}()
	for i := range halves {
		h := &halves[i]
		if h.offset, h.seg, err = t.fresh(h.shape, h.prefix, depth); err != nil {
			return false, err
		}
	}
	if ok, err = segment.Rebuild([][]byte{halves[0].seg, halves[1].seg}, from); err != nil {
		return false, fmt.Errorf("split segment: %w", err)
	}
	return ok, nil
}

// Two segments are merged when they have no more entries than this, so that they do not split again soon.
const (
	mergedEntries = segment.MaxEntries / 2
	mergedLength  = segment.SlotSize / 2
)

// shrink makes what is around a hash smaller, after deletes. Where there is no room to build what would be smaller, all stays as it is.
func (t *Table) shrink(hash uint64) error {
	err := t.shrinkNow(hash)
	if errors.Is(err, stateapi.ErrNoRoom) {
		return nil
	}
	return err
}

func (t *Table) shrinkNow(hash uint64) error {
	merged := false
	for {
		ok, err := t.merge(hash)
		if err != nil && !errors.Is(err, stateapi.ErrNoRoom) {
			return err
		}
		if !ok {
			break
		}
		merged = true
	}
	e := t.entry(hash)
	if e != 0 {
		seg := t.segment(e)
		switch {
		case segment.Entries(seg) == 0:
			t.drop(e, seg)
			merged = true
		case !merged && segment.Sparse(seg):
			s, err := segment.Measure(seg)
			if err != nil {
				return fmt.Errorf("measure segment: %w", err)
			}
			if shape := segment.Choose(s); int(shape.Length) < len(seg) {
				if _, err := t.rebuild(e, seg, shape); err != nil {
					return err
				}
			}
		}
	}
	if merged {
		return t.halve()
	}
	return nil
}

// drop gives an empty segment back.
func (t *Table) drop(e uint64, seg []byte) {
	t.leave(seg)
	t.set(segment.Prefix(seg), segment.Depth(seg), 0)
	t.giveSegment(e, seg)
}

// merge makes one of the segment for a hash and its neighbour, if they are small.
func (t *Table) merge(hash uint64) (bool, error) {
	e, prefix, depth := t.rangeOf(hash)
	if e == 0 || depth == 0 {
		return false, nil
	}
	seg := t.segment(e)
	other := t.entry(prefix ^ 1<<(64-depth))
	if other != 0 && depthOf(other) != depth || other == 0 && !t.same(prefix^1<<(64-depth), depth, 0) {
		return false, nil
	}
	from, entries := [][]byte{seg}, segment.Entries(seg)
	if other != 0 {
		from = append(from, t.segment(other))
		entries += segment.Entries(from[1])
	}
	if entries > mergedEntries || entries == 0 && other == 0 {
		return false, nil
	}
	var s segment.Stats
	for _, one := range from {
		part, err := segment.Measure(one)
		if err != nil {
			return false, fmt.Errorf("measure segment: %w", err)
		}
		s.AddAll(part)
	}
	return t.mergeInto(segment.Choose(s), prefixOf(prefix, depth-1), depth-1, []uint64{e, other}, from)
}

// mergeInto moves the entries of segments into a new one.
func (t *Table) mergeInto(shape segment.Shape, prefix uint64, depth uint8, entries []uint64, from [][]byte) (bool, error) {
	for ; shape.Length <= mergedLength; shape = shape.Larger() {
		offset, to, err := t.fresh(shape, prefix, depth)
		if err != nil {
			return false, err
		}
		ok, position := true, uint64(0)
		for _, seg := range from {
			if ok && err == nil {
				ok, err = segment.Rebuild([][]byte{to}, seg)
			}
			position = max(position, segment.Position(seg))
		}
		if !ok || err != nil {
			t.give(offset, uint64(len(to)))
			if err != nil {
				return false, fmt.Errorf("merge segments: %w", err)
			}
			continue
		}
		segment.SetPosition(to, position)
		finish(to)
		for _, seg := range from {
			t.leave(seg)
		}
		t.set(prefix, depth, entryOf(depth, offset))
		for i, seg := range from {
			t.giveSegment(entries[i], seg)
		}
		return true, nil
	}
	return false, nil
}
