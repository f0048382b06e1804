// SPDX-License-Identifier: Apache-2.0

// This file takes and gives back pieces: slots and runs of slots. Those that are smaller are in cells.go.

package arena

import (
	"errors"
	"fmt"
	"math/bits"

	"golang.org/x/sys/unix"

	"github.com/gust-stream/gust/stateapi"
)

// warmSlots is how many free slots keep their pages: a segment that grows takes a slot and gives one back.
const warmSlots = 2

// populateFrom is from how many pages on it is cheaper to have them all mapped at once than to fault on each.
const populateFrom = 4

// slot is what the writer knows of a slot.
type slot struct {
	pages uint64 // a bit for each page that has memory
	cells *cells // if it is shared
}

// Alloc takes a piece of at least length bytes. It lies in one region; its content is what was there before.
func (a *Arena) Alloc(length uint64) (uint64, error) {
	if length > Region {
		return 0, fmt.Errorf("piece of %d bytes: %w", length, stateapi.ErrTooLarge)
	}
	length = max(length, 1)
	offset, fresh, err := a.take(length)
	if err != nil {
		return 0, fmt.Errorf("%s: %d bytes: %w", a.path, length, err)
	}
	if fresh >= populateFrom*Page {
		// A failure shows when the pages are touched, or never.
		_ = unix.Madvise(a.Bytes(offset+length-fresh, fresh), unix.MADV_POPULATE_WRITE)
	}
	return offset, nil
}

// take also says how many bytes at the end of a piece of whole pages have never been touched.
func (a *Arena) take(length uint64) (offset, fresh uint64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.adopting {
		return 0, 0, errors.New("arena is not swept yet")
	}
	if length <= LargestCell {
		offset, err = a.takeCell(int(length+cellUnit-1) / cellUnit)
		return offset, 0, err
	}
	pages := int((length + Page - 1) / Page)
	first, err := a.takeSlots((pages + slotPages - 1) / slotPages)
	if err != nil {
		return 0, 0, err
	}
	before := bits.OnesCount64(a.slots[first].pages)
	if err := a.commitRun(first, pages); err != nil {
		a.giveSlots(first, pages)
		return 0, 0, err
	}
	if length%Page == 0 && pages > before {
		fresh = uint64(pages-before) * Page
	}
	return uint64(first) * Slot, fresh, nil
}

// Free gives back a piece that was taken or claimed with this length.
func (a *Arena) Free(offset, length uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	length = max(length, 1)
	if length <= LargestCell {
		a.giveCell(offset, int(length+cellUnit-1)/cellUnit)
		return
	}
	first, pages := int(offset/Slot), int((length+Page-1)/Page)
	if pages <= slotPages && len(a.warm) < warmSlots && !a.adopting {
		a.warm = append(a.warm, first)
		return
	}
	a.giveSlots(first, pages)
}

// extend lets used and slots reach to a slot.
func (a *Arena) extend(index int) {
	for len(a.slots) <= index {
		a.used = append(a.used, 0)
		a.slots = append(a.slots, make([]slot, 64)...)
	}
}

func (a *Arena) isUsed(index int) bool {
	return index < len(a.slots) && a.used[index/64]>>(index%64)&1 != 0
}

// takeSlots takes n neighbouring slots of one region. One slot may have pages of an earlier use.
func (a *Arena) takeSlots(n int) (int, error) {
	if n == 1 && len(a.warm) > 0 {
		last := len(a.warm) - 1
		index := a.warm[last]
		a.warm = a.warm[:last]
		return index, nil
	}
	const perRegion = Region / Slot
	all := int(a.memory.capacity / Slot)
	for index := a.lowest; index+n <= all; {
		if end := (index/perRegion + 1) * perRegion; index+n > end {
			index = end
			continue
		}
		taken := -1
		for i := index + n - 1; i >= index && taken < 0; i-- {
			if a.isUsed(i) {
				taken = i
			}
		}
		if taken >= 0 {
			index = a.firstFree(taken + 1)
			continue
		}
		if _, err := a.memory.need(uint64(index) * Slot); err != nil {
			return 0, err
		}
		a.extend(index + n - 1)
		for i := index; i < index+n; i++ {
			a.used[i/64] |= 1 << (i % 64)
		}
		if index == a.lowest {
			a.lowest = index + n
		}
		return index, nil
	}
	return 0, fmt.Errorf("address space is used up: %w", stateapi.ErrNoRoom)
}

// firstFree is the first free slot from index on.
func (a *Arena) firstFree(index int) int {
	for index < len(a.slots) {
		if free := ^a.used[index/64] >> (index % 64); free != 0 {
			return index + bits.TrailingZeros64(free)
		}
		index = (index/64 + 1) * 64
	}
	return index
}

// giveSlots makes the slots of a piece of so many pages free and gives their memory back.
func (a *Arena) giveSlots(first, pages int) {
	n := (pages + slotPages - 1) / slotPages
	for i := first; i < first+n; i++ {
		a.inUse -= uint64(bits.OnesCount64(a.slots[i].pages)) * Page
		a.slots[i] = slot{}
		a.used[i/64] &^= 1 << (i % 64)
	}
	a.lowest = min(a.lowest, first)
	// What cannot be given back stays as memory until the slot is used again.
	_ = a.punch(uint64(first)*Slot, uint64(n)*Slot)
}

// commitRun gives memory to the first so many pages from a slot on, and takes it from the rest of the last slot.
func (a *Arena) commitRun(first, pages int) error {
	for i := first; pages > 0; i++ {
		n := min(pages, slotPages)
		pages -= n
		if had := bits.Len64(a.slots[i].pages); had > n {
			if err := a.punch(uint64(i)*Slot+uint64(n)*Page, uint64(had-n)*Page); err != nil {
				return err
			}
			a.inUse -= uint64(bits.OnesCount64(a.slots[i].pages>>n)) * Page
			a.slots[i].pages &= mask(0, n)
		}
		if err := a.commit(i, 0, n); err != nil {
			return err
		}
	}
	return nil
}

// mask has the bits from first to before last.
func mask(first, last int) uint64 { return ^uint64(0) << first & (^uint64(0) >> (64 - last)) }

// commit gives memory to pages first to before last of a slot.
func (a *Arena) commit(index, first, last int) error {
	s := &a.slots[index]
	missing := mask(first, last) &^ s.pages
	if missing == 0 {
		return nil
	}
	bytes := uint64(bits.OnesCount64(missing)) * Page
	if a.limit > 0 && a.inUse+bytes > a.limit {
		// Warm slots are the only memory that can be had without hurting anybody.
		if a.cool(); a.inUse+bytes > a.limit {
			return fmt.Errorf("%d bytes in use, limit %d: %w", a.inUse, a.limit, stateapi.ErrNoRoom)
		}
	}
	from, to := bits.TrailingZeros64(missing), bits.Len64(missing)
	for {
		err := unix.Fallocate(int(a.memory.file.Fd()), unix.FALLOC_FL_KEEP_SIZE,
			int64(index)*Slot+int64(from)*Page, int64(to-from)*Page)
		switch {
		case err == nil:
			a.inUse += bytes
			s.pages |= missing
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.ENOMEM), errors.Is(err, unix.EDQUOT):
			if len(a.warm) == 0 {
				return fmt.Errorf("%w: %w", stateapi.ErrNoRoom, err)
			}
			a.cool()
		default:
			return fmt.Errorf("take memory: %w", err)
		}
	}
}

// cool gives the warm slots' memory back.
func (a *Arena) cool() {
	for _, index := range a.warm {
		a.giveSlots(index, slotPages)
	}
	a.warm = a.warm[:0]
}

// punch gives memory back.
func (a *Arena) punch(offset, length uint64) error {
	for {
		err := unix.Fallocate(int(a.memory.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64(offset), int64(length))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("give memory back: %w", err)
		}
		return nil
	}
}
