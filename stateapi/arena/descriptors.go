// SPDX-License-Identifier: Apache-2.0

// This file has the descriptors, by which readers find tables, and the undo records.

package arena

import (
	"encoding/binary"
	"iter"
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
		a.mu.Lock()
		var all []uint64
		for _, index := range a.chain {
			for page := range slotPages {
				if a.slots[index].pages>>page&1 != 0 {
					all = a.appendPage(all, index, page)
				}
			}
		}
		a.mu.Unlock()
		for _, offset := range all {
			if id := a.Word(offset + NamespaceAt).Load(); id != 0 && !yield(offset, id) {
				return
			}
		}
	}
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
type Undo struct{ record []byte }

const undoBytes = 16 // where a record's bytes begin

// BorrowUndo waits for an undo record that nobody has.
func (a *Arena) BorrowUndo() *Undo { return <-a.undo }

// ReturnUndo gives an undo record back, with nothing in it.
func (a *Arena) ReturnUndo(u *Undo) {
	u.Drop()
	a.undo <- u
}

func (u *Undo) segment() *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&u.record[0])) }

// Save notes what is at start in the segment at offset, at most UndoLimit bytes.
func (u *Undo) Save(offset uint64, start int, bytes []byte) {
	u.Drop()
	binary.LittleEndian.PutUint32(u.record[8:], uint32(start))
	binary.LittleEndian.PutUint32(u.record[12:], uint32(len(bytes)))
	copy(u.record[undoBytes:], bytes)
	u.segment().Store(offset)
	u.segment().Load() // after Store, a full barrier on every processor
}

// UndoLimit is how many bytes go into an undo record.
const UndoLimit = undoSize - undoBytes

// Drop forgets what was saved.
func (u *Undo) Drop() {
	if u.segment().Load() != 0 {
		u.segment().Store(0)
	}
}

// Saved is what a writer that was killed had saved of the segment at offset.
func (a *Arena) Saved(offset uint64) (start int, bytes []byte, ok bool) {
	for i := range undoCount {
		u := Undo{a.header[undoStart+i*undoSize : undoStart+(i+1)*undoSize]}
		if u.segment().Load() != offset {
			continue
		}
		length := binary.LittleEndian.Uint32(u.record[12:])
		if length > UndoLimit {
			return 0, nil, false
		}
		return int(binary.LittleEndian.Uint32(u.record[8:])), u.record[undoBytes : undoBytes+length], true
	}
	return 0, nil, false
}
