// SPDX-License-Identifier: Apache-2.0

// This file makes images of segments and takes them in. An image is the segment's bytes with checksum, then the values outside of it, one behind the
// other in the order of the entries; a reference has the value's place in the image instead of its offset in the arena.

package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/arena"
	"github.com/gust-stream/gust/stateapi/segment"
)

// Image is a segment as it goes into snapshots and to peers.
type Image struct {
	Segment
	Bytes []byte
}

// Image appends the image of the segment that has a hash to dst; not ok: there is none in the range around it.
func (t *Table) Image(dst []byte, hash uint64) (image Image, ok bool, err error) {
	defer arena.Catch(debug.SetPanicOnFault(true), &err)
	e, prefix, depth := t.rangeOf(hash)
	image = Image{Segment: Segment{Prefix: prefix, Depth: depth, Next: after(prefix, depth)}, Bytes: dst}
	if e == 0 {
		return image, false, nil
	}
	seg := t.segment(e)
	image.Position = segment.Position(seg)
	start := len(dst)
	dst = append(dst, seg...)
	runs, err := t.runsIn(seg)
	if err != nil {
		return image, false, fmt.Errorf("image of %x/%d: %w", prefix, depth, err)
	}
	places := make([]uint64, len(runs))
	for i := range runs {
		places[i] = uint64(len(dst) - start)
		dst = append(dst, t.arena.Bytes(runs[i].offset(), runs[i].length())...)
	}
	if err := replace(dst[start:start+len(seg)], places); err != nil {
		return image, false, fmt.Errorf("image of %x/%d: %w", prefix, depth, err)
	}
	segment.Seal(dst[start : start+len(seg)])
	image.Bytes = dst
	return image, true, nil
}

// replace sets the places in a segment's references, in the order of entries.
func replace(seg []byte, places []uint64) error {
	if len(places) == 0 {
		return nil
	}
	return segment.Each(seg, func(_ []byte, v segment.Value) bool {
		if v.Flags&segment.Outside != 0 && len(places) > 0 {
			binary.LittleEndian.PutUint64(v.Bytes, places[0])
			places = places[1:]
		}
		return true
	})
}

// CheckImage checks an image from anywhere and says what it is of.
func CheckImage(image []byte) (Segment, error) {
	s, _, err := checkImage(image)
	return s, err
}

// checkImage also returns the references, with places in the image.
func checkImage(image []byte) (s Segment, runs []run, err error) {
	if err := segment.CheckSum(image); err != nil {
		return s, nil, fmt.Errorf("image: %w: %w", err, stateapi.ErrCorrupt)
	}
	seg := image[:segment.Length(image)]
	if err := segment.Verify(seg); err != nil {
		return s, nil, fmt.Errorf("image: %w: %w", err, stateapi.ErrCorrupt)
	}
	s = Segment{Prefix: segment.Prefix(seg), Depth: segment.Depth(seg), Position: segment.Position(seg)}
	s.Next = after(s.Prefix, s.Depth)
	at := uint64(len(seg))
	err = segment.Each(seg, func(_ []byte, v segment.Value) bool {
		if v.Flags&segment.Outside == 0 {
			return true
		}
		if len(v.Bytes) != len(run{}) {
			return false
		}
		r := run(v.Bytes)
		if r.offset() != at || r.length() > uint64(len(image))-at || r.length() > MaxValue || checksum(image[at:at+r.length()]) != r.checksum() {
			return false
		}
		runs = append(runs, r)
		at += r.length()
		return true
	})
	if err == nil && at != uint64(len(image)) {
		err = fmt.Errorf("values behind the segment end at %d of %d bytes: %w", at, len(image), stateapi.ErrCorrupt)
	}
	if err != nil {
		return s, nil, fmt.Errorf("image: %w", err)
	}
	return s, runs, nil
}

// Install takes in an image: as it is where the table has nothing in its range, else entry by entry.
func (t *Table) Install(image []byte) error { return t.InstallIn(image, 0, 0) }

// InstallIn is Install for those entries whose hash begins with the first depth bits of prefix.
func (t *Table) InstallIn(image []byte, prefix uint64, depth uint8) (err error) {
	defer arena.Catch(debug.SetPanicOnFault(true), &err)
	s, runs, err := checkImage(image)
	if err != nil {
		return err
	}
	if s.Depth >= depth && !within(s.Prefix, prefix, depth) {
		return nil
	}
	if s.Depth >= depth && s.Depth <= maxDepth && segment.Entries(image) > 0 && t.hasNone(s.Prefix, s.Depth) {
		return t.installWhole(image, s, runs)
	}
	return t.installEntries(image, prefix, depth)
}

// hasNone says whether a range is empty.
func (t *Table) hasNone(prefix uint64, depth uint8) bool {
	for e := range t.ranges(prefix, depth) {
		if e != 0 {
			return false
		}
	}
	return true
}

// installWhole makes an image a segment of this table.
func (t *Table) installWhole(image []byte, s Segment, runs []run) error {
	for t.depth() < s.Depth {
		if err := t.double(); err != nil {
			return err
		}
	}
	from := image[:segment.Length(image)]
	offset, seg, err := t.fresh(segment.ShapeOf(from), s.Prefix, s.Depth)
	if err != nil {
		return err
	}
	places := make([]uint64, 0, len(runs))
	for _, r := range runs {
		var taken run
		if err = t.takeRun(&taken, image[r.offset():r.offset()+r.length()]); err != nil {
			break
		}
		places = append(places, taken.offset())
	}
	if err == nil {
		copy(seg[8:], from[8:])
		segment.SetNamespace(seg, t.words[wordID].Load())
		err = replace(seg, places)
	}
	if err != nil {
		for i, place := range places {
			t.give(place, runs[i].length())
			t.countLong(-1)
		}
		t.give(offset, uint64(len(seg)))
		return err
	}
	clear(seg[60:64])
	finish(seg)
	t.set(s.Prefix, s.Depth, entryOf(s.Depth, offset))
	t.count(wordEntries, segment.Entries(seg))
	return nil
}

// installEntries puts the entries of an image.
func (t *Table) installEntries(image []byte, prefix uint64, depth uint8) error {
	c := change{t: t, position: segment.Position(image)}
	defer c.close()
	var wrong error
	err := segment.Each(image[:segment.Length(image)], func(key []byte, v segment.Value) bool {
		hash := segment.Hash(key)
		if !within(hash, prefix, depth) {
			return true
		}
		if v.Flags&segment.Outside != 0 {
			r, taken := run(v.Bytes), run{}
			if wrong = t.takeRun(&taken, image[r.offset():r.offset()+r.length()]); wrong != nil {
				return false
			}
			v.Bytes = taken[:]
		}
		if wrong = c.insert(hash, key, v); wrong != nil && v.Flags&segment.Outside != 0 {
			t.giveRun(v.Bytes)
		}
		return wrong == nil
	})
	if err = errors.Join(err, wrong); err != nil {
		return fmt.Errorf("install image: %w", err)
	}
	return nil
}
