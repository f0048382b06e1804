// SPDX-License-Identifier: Apache-2.0

// This file puts and deletes keys.

package table

import (
	"encoding/binary"
	"fmt"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/arena"
	"github.com/gust-stream/gust/stateapi/segment"
)

// change is one change or batch of changes.
type change struct {
	t        *Table
	position uint64 // 0: positions stay
	undo     *arena.Undo
}

func (c *change) close() {
	if c.undo != nil {
		c.t.arena.ReturnUndo(c.undo)
	}
}

// saver returns where a segment's bytes are saved before they move. Only packed segments move bytes.
func (c *change) saver(offset uint64, seg []byte) segment.Undo {
	if segment.Kind(seg) != segment.Packed {
		return func(int, int) {}
	}
	if c.undo == nil {
		c.undo = c.t.arena.BorrowUndo()
	}
	return c.undo.Of(offset, seg)
}

// begin makes a segment's number odd, before anything else that readers could see.
func begin(seg []byte) {
	n := segment.Sequence(seg)
	store(n, n.Load()+1)
}

// end makes a segment's number even again.
func (c *change) end(seg []byte, changed bool) {
	if changed && c.position != 0 {
		segment.SetPosition(seg, c.position)
	}
	if c.undo != nil {
		c.undo.Drop()
	}
	n := segment.Sequence(seg)
	store(n, n.Load()+1)
}

// put sets a key to a value.
func (c *change) put(hash uint64, key, value []byte) error {
	if err := checkSizes(key, value); err != nil {
		return err
	}
	t := c.t
	v, err := t.stored(value)
	if err != nil {
		return err
	}
	err = c.insert(hash, key, v)
	if err != nil && v.Flags&segment.Outside != 0 {
		t.giveRun(v.Bytes)
	}
	return err
}

// mostTries is more than segments split and grow for one entry.
const mostTries = 200

// insert sets a key to a value as it is stored.
func (c *change) insert(hash uint64, key []byte, v segment.Value) error {
	t := c.t
	for tries := range mostTries {
		e := t.entry(hash)
		if e == 0 {
			if err := t.firstSegment(hash, key, v); err != nil {
				return err
			}
			continue
		}
		seg := t.segment(e)
		old := t.runOf(seg, hash, key)
		save := c.saver(offsetOf(e), seg)
		begin(seg)
		result := segment.Put(seg, hash, key, v, save)
		c.end(seg, result <= segment.Replaced)
		switch result {
		case segment.Added:
			t.count(wordEntries, 1)
			return nil
		case segment.Replaced:
			if old != (run{}) {
				t.giveRun(old[:])
			}
			return nil
		case segment.Full, segment.Unfit: // it has to grow
		}
		if err := t.grow(e, seg, entrySize{len(key), len(v.Bytes), v.Flags}, tries > 0); err != nil {
			return err
		}
	}
	return fmt.Errorf("no segment takes an entry of %d and %d bytes: %w", len(key), len(v.Bytes), stateapi.ErrCorrupt)
}

// delete removes a key.
func (c *change) delete(hash uint64, key []byte) error {
	t := c.t
	e := t.entry(hash)
	if e == 0 {
		return nil
	}
	seg := t.segment(e)
	old := t.runOf(seg, hash, key)
	save := c.saver(offsetOf(e), seg)
	begin(seg)
	found := segment.Delete(seg, hash, key, save)
	c.end(seg, found)
	if !found {
		return nil
	}
	t.count(wordEntries, -1)
	if old != (run{}) {
		t.giveRun(old[:])
	}
	if segment.Entries(seg) == 0 || segment.Sparse(seg) {
		return t.shrink(hash)
	}
	return nil
}

// run is the reference to a value outside: u64 offset, u32 length, u32 checksum.
type run [16]byte

func (r *run) offset() uint64 { return binary.LittleEndian.Uint64(r[:]) }

func (r *run) length() uint64 { return uint64(binary.LittleEndian.Uint32(r[8:])) }

func (r *run) checksum() uint32 { return binary.LittleEndian.Uint32(r[12:]) }

// runOf is the reference that a key's value is in its segment; all zero if it is none.
func (t *Table) runOf(seg []byte, hash uint64, key []byte) (r run) {
	if t.long() == 0 || segment.Kind(seg) != segment.Records {
		return r
	}
	if v, found := segment.Find(seg, hash, key); found && v.Flags&segment.Outside != 0 {
		copy(r[:], v.Bytes)
	}
	return r
}

// stored is a value as it is stored: shorter if that can be, in a run if it is long.
func (t *Table) stored(value []byte) (segment.Value, error) {
	v := segment.Value{Bytes: value}
	if t.options.Compress > 0 && len(value) >= t.options.Compress {
		if short := deflate(value); short != nil {
			v = segment.Value{Bytes: short, Flags: segment.Deflated}
		}
	}
	if len(v.Bytes) <= segment.LongValue {
		return v, nil
	}
	var r run
	if err := t.takeRun(&r, v.Bytes); err != nil {
		return segment.Value{}, err
	}
	return segment.Value{Bytes: r[:], Flags: v.Flags | segment.Outside}, nil
}

// takeRun copies bytes into a run.
func (t *Table) takeRun(r *run, bytes []byte) error {
	offset, err := t.take(uint64(len(bytes)))
	if err != nil {
		return fmt.Errorf("value of %d bytes: %w", len(bytes), err)
	}
	t.countLong(1)
	copy(t.arena.Bytes(offset, uint64(len(bytes))), bytes)
	binary.LittleEndian.PutUint64(r[:], offset)
	binary.LittleEndian.PutUint32(r[8:], uint32(len(bytes)))
	binary.LittleEndian.PutUint32(r[12:], checksum(bytes))
	return nil
}

func (t *Table) giveRun(reference []byte) {
	r := run(reference)
	t.give(r.offset(), r.length())
	t.countLong(-1)
}

// plain appends a value as it was put to dst.
func (t *Table) plain(dst []byte, v segment.Value) ([]byte, error) {
	b := v.Bytes
	if v.Flags&segment.Outside != 0 {
		if len(b) != len(run{}) {
			return dst, fmt.Errorf("reference of %d bytes: %w", len(b), stateapi.ErrCorrupt)
		}
		r := run(b)
		b = t.arena.Bytes(r.offset(), r.length())
	}
	if v.Flags&segment.Deflated == 0 {
		return append(dst, b...), nil
	}
	if t.inflater == nil {
		t.inflater = newInflater()
	}
	return t.inflater.append(dst, b)
}
