// SPDX-License-Identifier: Apache-2.0

// This file takes over the arena of a writer that is gone.

package arena

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"github.com/gust-stream/gust/stateapi"
)

// Adopt takes over the arena at path. Then the tables of Descriptors claim what they reach, or are dropped, and Sweep gives back the rest; before that,
// nothing can be taken.
func Adopt(path string) (*Arena, error) {
	m, id, err := open(path, os.O_RDWR, unix.PROT_READ|unix.PROT_WRITE)
	if err != nil {
		return nil, err
	}
	a := newArena(m, path, id)
	if err := a.adopt(); err != nil {
		return nil, errors.Join(fmt.Errorf("adopt %s: %w", path, err), m.close())
	}
	return a, nil
}

func (a *Arena) adopt() (err error) {
	defer Catch(debug.SetPanicOnFault(true), &err)
	if err := lock(a.memory.file); err != nil {
		return err
	}
	a.adopting = true
	a.extend(0)
	a.used[0] = 1
	if err := a.commit(0, 0, headerUsed/Page); err != nil {
		return err
	}
	if err := a.mapHeader(); err != nil {
		return err
	}
	if word(a.header, atRetired).Load() != 0 {
		return ErrRetired
	}
	for offset := word(a.header, atDescriptors).Load(); offset != 0; offset = a.Word(offset).Load() {
		if err := a.adoptDescriptors(offset); err != nil {
			return fmt.Errorf("descriptors at %x: %w", offset, err)
		}
	}
	return nil
}

// adoptDescriptors claims a descriptor slot.
func (a *Arena) adoptDescriptors(offset uint64) error {
	if err := a.Claim(offset, Slot); err != nil {
		return err
	}
	index := int(offset / Slot)
	pages, err := a.dataPages(offset)
	if err != nil {
		return err
	}
	if pages&1 == 0 {
		return fmt.Errorf("empty: %w", stateapi.ErrCorrupt)
	}
	a.inUse -= uint64(slotPages-bits.OnesCount64(pages)) * Page
	a.slots[index].pages = pages
	a.chain = append(a.chain, index)
	var all []uint64
	for page := range slotPages {
		if pages>>page&1 != 0 {
			all = a.appendPage(all, index, page)
		}
	}
	for _, descriptor := range all {
		if a.Word(descriptor+NamespaceAt).Load() == 0 {
			clear(a.Bytes(descriptor, DescriptorSize))
			a.idle = append(a.idle, descriptor)
		}
	}
	return nil
}

// dataPages has a bit for each page of a slot that holds data: to look would fill the others.
func (a *Arena) dataPages(offset uint64) (pages uint64, err error) {
	fd, at, end := int(a.memory.file.Fd()), int64(offset), int64(offset+Slot)
	for at < end {
		data, err := unix.Seek(fd, at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) || err == nil && data >= end {
			break
		}
		if err != nil {
			return 0, fmt.Errorf("look for data: %w", err)
		}
		hole, err := unix.Seek(fd, data, unix.SEEK_HOLE)
		if err != nil {
			return 0, fmt.Errorf("look for a hole: %w", err)
		}
		at = min(hole, end)
		pages |= mask(int((data-int64(offset))/Page), int((at-int64(offset)+Page-1)/Page))
	}
	return pages, nil
}

// Peek is a part of the arena that nobody has claimed yet.
func (a *Arena) Peek(offset, length uint64) ([]byte, error) {
	if offset >= a.memory.capacity || length > Region-offset%Region {
		return nil, fmt.Errorf("%d bytes at %x are outside: %w", length, offset, stateapi.ErrCorrupt)
	}
	if _, err := a.memory.need(offset); err != nil {
		return nil, err
	}
	return a.Bytes(offset, length), nil
}

// Claim says that a piece of this length is in use, while an arena is adopted. It is an error if somebody else has claimed a part of it.
func (a *Arena) Claim(offset, length uint64) error {
	length = max(length, 1)
	if offset < Slot || offset >= a.memory.capacity || length > Region-offset%Region {
		return fmt.Errorf("piece of %d bytes at %x is outside: %w", length, offset, stateapi.ErrCorrupt)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.adopting {
		return errors.New("arena is swept already")
	}
	if _, err := a.memory.need(offset); err != nil {
		return err
	}
	if length <= LargestCell {
		return a.claimCell(offset, int(length+cellUnit-1)/cellUnit)
	}
	if offset%Slot != 0 {
		return fmt.Errorf("piece of %d bytes at %x inside of a slot: %w", length, offset, stateapi.ErrCorrupt)
	}
	first, pages := int(offset/Slot), int((length+Page-1)/Page)
	last := first + (pages+slotPages-1)/slotPages - 1
	a.extend(last)
	for i := first; i <= last; i++ {
		if a.isUsed(i) {
			return fmt.Errorf("piece of %d bytes at %x is claimed twice: %w", length, offset, stateapi.ErrCorrupt)
		}
	}
	for i := first; i <= last; i++ {
		n := min(pages, slotPages)
		pages -= n
		a.used[i/64] |= 1 << (i % 64)
		a.slots[i].pages = mask(0, n)
		a.inUse += uint64(n) * Page
	}
	return nil
}

func (a *Arena) claimCell(offset uint64, n int) error {
	index, start := int(offset/Slot), int(offset%Slot/cellUnit)
	if offset%cellUnit != 0 || start+n > slotUnits {
		return fmt.Errorf("cell of %d bytes at %x: %w", n*cellUnit, offset, stateapi.ErrCorrupt)
	}
	a.extend(index)
	s := &a.slots[index]
	switch {
	case !a.isUsed(index):
		a.used[index/64] |= 1 << (index % 64)
		s.cells = &cells{bound: slotUnits}
		a.shared = append(a.shared, index)
	case s.cells == nil || s.cells.anyUsed(start, n):
		return fmt.Errorf("cell of %d bytes at %x is claimed twice: %w", n*cellUnit, offset, stateapi.ErrCorrupt)
	}
	s.cells.set(start, n, true)
	pages := mask(start/64, (start+n-1)/64+1) &^ s.pages
	s.pages |= pages
	a.inUse += uint64(bits.OnesCount64(pages)) * Page
	return nil
}

// Sweep ends the adoption: it gives back the memory of all that was not claimed.
func (a *Arena) Sweep() (err error) {
	defer Catch(debug.SetPanicOnFault(true), &err)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.adopting {
		return nil
	}
	for i := range undoCount {
		clear(a.header[undoStart+i*undoSize : undoStart+i*undoSize+undoBytes])
	}
	gap := uint64(headerUsed)
	for index := range a.slots {
		if !a.isUsed(index) {
			continue
		}
		for page := range slotPages {
			if a.slots[index].pages>>page&1 == 0 {
				continue
			}
			offset := uint64(index)*Slot + uint64(page)*Page
			if offset > gap {
				if err := a.punch(gap, offset-gap); err != nil {
					return err
				}
			}
			gap = offset + Page
		}
	}
	if gap < a.memory.capacity {
		if err := a.punch(gap, a.memory.capacity-gap); err != nil {
			return err
		}
	}
	a.adopting = false
	return nil
}
