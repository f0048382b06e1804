// SPDX-License-Identifier: Apache-2.0

// This file is the writer's end of an arena.

package arena

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Arena is an arena that this process writes. Its methods may be called by several goroutines at once, except Retire and Close.
type Arena struct {
	memory *memory
	path   string
	id     uint64
	header *region

	mu       sync.Mutex // guards what follows
	adopting bool       // until Sweep
	used     []uint64   // a bit for each slot up to the highest that was taken
	slots    []slot     // parallel to used's bits
	lowest   int        // no slot below is free
	shared   []int      // slots of cells
	warm     []int      // free slots that keep their pages
	idle     []uint64   // descriptors that are free
	chain    []int      // descriptor slots
	inUse    uint64     // bytes of all pages
	limit    uint64

	undo chan *Undo
}

// Create makes a new arena in dir, a directory on tmpfs, with address space for capacity bytes, a multiple of Region.
func Create(dir string, capacity uint64) (*Arena, error) {
	if err := checkCapacity(capacity); err != nil {
		return nil, err
	}
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, fmt.Errorf("id of arena: %w", err)
	}
	id := binary.LittleEndian.Uint64(random[:]) | 1
	path := filepath.Join(dir, fmt.Sprintf("arena-%016x", id))
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create arena: %w", err)
	}
	a := newArena(newMemory(file, unix.PROT_READ|unix.PROT_WRITE, capacity), path, id)
	if err := a.initialize(capacity); err != nil {
		return nil, errors.Join(fmt.Errorf("create arena: %w", err), a.memory.close(), os.Remove(path))
	}
	return a, nil
}

func newArena(m *memory, path string, id uint64) *Arena {
	return &Arena{memory: m, path: path, id: id, undo: make(chan *Undo, undoCount)}
}

func (a *Arena) initialize(capacity uint64) error {
	if err := lock(a.memory.file); err != nil {
		return err
	}
	if err := a.memory.file.Truncate(int64(capacity)); err != nil {
		return err
	}
	a.extend(0)
	a.used[0] = 1
	if err := a.commit(0, 0, headerUsed/Page); err != nil {
		return err
	}
	if err := a.mapHeader(); err != nil {
		return err
	}
	a.Sequence() // 0 is what a hole has
	writeHeader(a.header[:headerSize], a.id, capacity)
	return nil
}

// mapHeader makes the header and the undo records usable.
func (a *Arena) mapHeader() (err error) {
	if a.header, err = a.memory.need(0); err != nil {
		return err
	}
	for i := range undoCount {
		start := undoStart + i*undoSize
		a.undo <- newUndo(a.header[start : start+undoSize])
	}
	return nil
}

func lock(file *os.File) error {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("%s: %w", file.Name(), ErrInUse)
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	return nil
}

// ID is the arena's id, random and never 0.
func (a *Arena) ID() uint64 { return a.id }

// Path is where the file is.
func (a *Arena) Path() string { return a.path }

// Capacity is the size of the address space.
func (a *Arena) Capacity() uint64 { return a.memory.capacity }

// InUse is how many bytes of memory the file takes.
func (a *Arena) InUse() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.inUse
}

// SetLimit lets nothing be taken that would make InUse more than limit; 0 is no limit.
func (a *Arena) SetLimit(limit uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.limit = limit
}

// Bytes is a part of a piece that was taken or claimed.
func (a *Arena) Bytes(offset, length uint64) []byte {
	at := offset % Region
	return a.memory.regions[offset/Region].Load()[at : at+length : at+length]
}

// Word is the number of eight bytes at offset, a multiple of 8, in a piece that was taken or claimed.
func (a *Arena) Word(offset uint64) *atomic.Uint64 {
	return word(a.memory.regions[offset/Region].Load(), offset)
}

// Sequence returns an even number from which a segment's sequence numbers begin: it is above all that a piece of the arena has had, if
// PastSequence was told of those.
func (a *Arena) Sequence() uint64 { return word(a.header, atSequence).Add(2) }

// PastSequence says that a segment that is given back had the number n.
func (a *Arena) PastSequence(n uint64) {
	counter := word(a.header, atSequence)
	n = (n + 3) &^ 1
	for {
		old := counter.Load()
		if old >= n || counter.CompareAndSwap(old, n) {
			return
		}
	}
}

// Retire gives the arena up: readers are told to open again, its memory is given back, and the file is removed. Nobody may use it any more.
func (a *Arena) Retire() (err error) {
	defer Catch(debug.SetPanicOnFault(true), &err)
	word(a.header, atRetired).Store(1)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.adopting = true
	err = a.punch(headerSize, a.memory.capacity-headerSize)
	if removed := os.Remove(a.path); removed != nil && !errors.Is(removed, os.ErrNotExist) {
		err = errors.Join(err, fmt.Errorf("retire arena: %w", removed))
	}
	return err
}

// Close unmaps the arena and leaves the file as it is, for Adopt. Nobody may use it any more.
func (a *Arena) Close() error { return a.memory.close() }
