// SPDX-License-Identifier: Apache-2.0

// This file takes and gives back pieces of up to 64 KiB, many in a slot.

package arena

import (
	"math/bits"
	"slices"
)

// cells says which units of a shared slot are taken. A page has as many units as a word has bits.
type cells struct {
	used  [slotPages]uint64
	bound int // no free piece is longer, in units
}

const slotUnits = Slot / cellUnit

// find is the first of n neighbouring free units, or -1.
func (c *cells) find(n int) int {
	run, start := 0, 0
	for page, taken := range c.used {
		for bit := 0; bit < 64; {
			rest := taken >> bit
			if rest&1 != 0 {
				run = 0
				bit += bits.TrailingZeros64(^rest)
				continue
			}
			if run == 0 {
				start = page*64 + bit
			}
			free := min(bits.TrailingZeros64(rest), 64-bit)
			if run += free; run >= n {
				return start
			}
			bit += free
		}
	}
	return -1
}

// set marks n units from start on.
func (c *cells) set(start, n int, taken bool) {
	for n > 0 {
		bit := start % 64
		now := min(n, 64-bit)
		if m := mask(bit, bit+now); taken {
			c.used[start/64] |= m
		} else {
			c.used[start/64] &^= m
		}
		start += now
		n -= now
	}
}

// anyUsed says whether one of n units from start on is taken.
func (c *cells) anyUsed(start, n int) bool {
	for n > 0 {
		bit := start % 64
		now := min(n, 64-bit)
		if c.used[start/64]&mask(bit, bit+now) != 0 {
			return true
		}
		start += now
		n -= now
	}
	return false
}

func (c *cells) empty() bool {
	for _, taken := range c.used {
		if taken != 0 {
			return false
		}
	}
	return true
}

// takeCell takes n units.
func (a *Arena) takeCell(n int) (uint64, error) {
	for _, index := range a.shared {
		c := a.slots[index].cells
		if c.bound < n {
			continue
		}
		start := c.find(n)
		if start < 0 {
			c.bound = n - 1
			continue
		}
		return a.fillCell(index, start, n)
	}
	index, err := a.takeSlots(1)
	if err != nil {
		return 0, err
	}
	a.slots[index].cells = &cells{bound: slotUnits}
	a.shared = append(a.shared, index)
	offset, err := a.fillCell(index, 0, n)
	if err != nil {
		a.unshare(index)
		return 0, err
	}
	a.trim(index)
	return offset, nil
}

// fillCell gives memory to n units from start on and marks them.
func (a *Arena) fillCell(index, start, n int) (uint64, error) {
	if err := a.commit(index, start/64, (start+n-1)/64+1); err != nil {
		a.trim(index)
		return 0, err
	}
	a.slots[index].cells.set(start, n, true)
	return uint64(index)*Slot + uint64(start)*cellUnit, nil
}

func (a *Arena) giveCell(offset uint64, n int) {
	index := int(offset / Slot)
	c := a.slots[index].cells
	c.set(int(offset%Slot/cellUnit), n, false)
	c.bound = slotUnits
	if c.empty() {
		a.unshare(index)
		return
	}
	a.trim(index)
}

// unshare makes a shared slot free.
func (a *Arena) unshare(index int) {
	if i := slices.Index(a.shared, index); i >= 0 {
		a.shared = slices.Delete(a.shared, i, i+1)
	}
	a.giveSlots(index, slotPages)
}

// trim gives back the memory of pages in a shared slot on which nothing lies.
func (a *Arena) trim(index int) {
	s := &a.slots[index]
	for page := 0; page < slotPages; page++ {
		first := page
		for page < slotPages && s.pages>>page&1 != 0 && s.cells.used[page] == 0 {
			page++
		}
		if page == first || a.punch(uint64(index)*Slot+uint64(first)*Page, uint64(page-first)*Page) != nil {
			continue
		}
		a.inUse -= uint64(page-first) * Page
		s.pages &^= mask(first, page)
	}
}
