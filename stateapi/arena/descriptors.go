// SPDX-License-Identifier: Apache-2.0

// This file has the descriptors, by which readers find tables, and the undo records.

package arena

import (
	"encoding/binary"
	"iter"
	"runtime/debug"
	"sync/atomic"
	"unsafe"
)

const perPage = Page / DescriptorSize

// NamespaceAt is where a descriptor has its namespace's id; 0 there means that it is free.
const NamespaceAt = 8

// NewDescriptor takes a descriptor. It is all zero and counts as free until somebody stores a namespace's id.
func (a *Arena) NewDescriptor() (uint64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.idle) == 0 {
		if err := a.moreDescriptors(); err != nil {
			return 0, err
		}
	}
	last := len(a.idle) - 1
	offset := a.idle[last]
	a.idle = a.idle[:last]
	return offset, nil
}

// FreeDescriptor gives a descriptor back. Readers of it are told to open again.
func (a *Arena) FreeDescriptor(offset uint64) {
	a.Word(offset + NamespaceAt).Store(0)
	for at := uint64(0); at < DescriptorSize; at += 8 {
		a.Word(offset + at).Store(0)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.idle = append(a.idle, offset)
}

// Drop forgets the namespace of a descriptor while an arena is adopted: Sweep gives back what it had.
func (a *Arena) Drop(descriptor uint64) { a.FreeDescriptor(descriptor) }

// Descriptors yields the offset of each used descriptor and its namespace's id.
func (a *Arena) Descriptors() iter.Seq2[uint64, uint64] {
	return func(yield func(offset, namespace uint64) bool) {
		all, err := a.usedDescriptors()
		for i := 0; i < len(all) && err == nil; i += 2 {
			if !yield(all[i], all[i+1]) {
				return
			}
		}
	}
}

// usedDescriptors has offset and namespace of each in turn.
func (a *Arena) usedDescriptors() (all []uint64, err error) {
	defer Catch(debug.SetPanicOnFault(true), &err)
	a.mu.Lock()
	defer a.mu.Unlock()
	var offsets []uint64
	for _, index := range a.chain {
		for page := range slotPages {
			if a.slots[index].pages>>page&1 != 0 {
				offsets = a.appendPage(offsets, index, page)
			}
		}
	}
	for _, offset := range offsets {
		if id := a.Word(offset + NamespaceAt).Load(); id != 0 {
			all = append(all, offset, id)
		}
	}
	return all, nil
}

// appendPage appends the offsets of a page's descriptors.
func (a *Arena) appendPage(to []uint64, index, page int) []uint64 {
	for i := range perPage {
		if page > 0 || i > 0 { // the slot's first piece is its link
			to = append(to, uint64(index)*Slot+uint64(page)*Page+uint64(i)*DescriptorSize)
		}
	}
	return to
}

// moreDescriptors takes one more page of them.
func (a *Arena) moreDescriptors() error {
	for _, index := range a.chain {
		for page := range slotPages {
			if a.slots[index].pages>>page&1 == 0 {
				if err := a.commit(index, page, page+1); err != nil {
					return err
				}
				a.idle = a.appendPage(a.idle, index, page)
				return nil
			}
		}
	}
	index, err := a.takeSlots(1)
	if err != nil {
		return err
	}
	if err := a.commitRun(index, 1); err != nil {
		a.giveSlots(index, slotPages)
		return err
	}
	offset := uint64(index) * Slot
	clear(a.Bytes(offset, Page))
	link := word(a.header, atDescriptors)
	if n := len(a.chain); n > 0 {
		link = a.Word(uint64(a.chain[n-1]) * Slot)
	}
	link.Store(offset)
	a.chain = append(a.chain, index)
	a.idle = a.appendPage(a.idle, index, 0)
	return nil
}

// Undo is a place for bytes of a segment that are about to move: a writer that adopts the arena puts them back.
type Undo struct {
	record []byte
	offset uint64
	bytes  []byte
	save   func(start, length int) // made once
}

const undoBytes = 16 // where a record's bytes begin

// UndoLimit is how many bytes go into an undo record.
const UndoLimit = undoSize - undoBytes

func newUndo(record []byte) *Undo {
	u := &Undo{record: record}
	u.save = u.keep
	return u
}

// BorrowUndo waits for an undo record that nobody has.
func (a *Arena) BorrowUndo() *Undo { return <-a.undo }

// ReturnUndo gives an undo record back, with nothing in it.
func (a *Arena) ReturnUndo(u *Undo) {
	u.Drop()
	u.bytes = nil
	a.undo <- u
}

// Of returns a function that saves so many bytes of a segment, at most UndoLimit, and forgets them when it is called with length 0.
func (u *Undo) Of(offset uint64, segment []byte) func(start, length int) {
	u.offset, u.bytes = offset, segment
	return u.save
}

func (u *Undo) segment() *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&u.record[0])) }

func (u *Undo) keep(start, length int) {
	u.Drop()
	if length == 0 {
		return
	}
	binary.LittleEndian.PutUint32(u.record[8:], uint32(start))
	binary.LittleEndian.PutUint32(u.record[12:], uint32(length))
	copy(u.record[undoBytes:], u.bytes[start:start+length])
	u.segment().Store(u.offset)
	u.segment().Load() // after Store, a full barrier on every processor
}

// Drop forgets what was saved.
func (u *Undo) Drop() {
	if u.segment().Load() != 0 {
		u.segment().Store(0)
	}
}

// Saved is what a writer that was killed had saved of the segment at offset.
func (a *Arena) Saved(offset uint64) (start int, bytes []byte, ok bool) {
	for i := range undoCount {
		record := a.header[undoStart+i*undoSize : undoStart+(i+1)*undoSize]
		length := binary.LittleEndian.Uint32(record[12:])
		if binary.LittleEndian.Uint64(record) == offset && length <= UndoLimit {
			return int(binary.LittleEndian.Uint32(record[8:])), record[undoBytes : undoBytes+length], true
		}
	}
	return 0, nil, false
}
