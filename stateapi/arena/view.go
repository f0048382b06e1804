// SPDX-License-Identifier: Apache-2.0

// This file is the reader's end of an arena.

package arena

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/gust-stream/gust/stateapi"
)

// View is an arena that another process writes, mapped for reading. Its methods may be called by several goroutines at once, except Close.
//
// To touch what nobody told the reader of takes memory (reading a hole fills it), and fails with a fault when there is none left or the file was
// shortened: guard with debug.SetPanicOnFault.
type View struct {
	memory  *memory
	retired *atomic.Uint64
}

// Map opens the arena at path, which must have this id: an older file of the same name is somebody else's.
func Map(path string, id uint64) (*View, error) {
	m, found, err := open(path, os.O_RDONLY, unix.PROT_READ)
	if err != nil {
		return nil, err
	}
	if found != id {
		return nil, errors.Join(fmt.Errorf("%s is arena %016x, not %016x: %w", path, found, id, stateapi.ErrCorrupt), m.close())
	}
	first, err := m.need(0)
	if err != nil {
		return nil, errors.Join(err, m.close())
	}
	return &View{memory: m, retired: word(first, atRetired)}, nil
}

// Retired says whether the arena was given up: what is read from it means nothing any more.
func (v *View) Retired() bool { return v.retired.Load() != 0 }

// Bytes is a part of the arena, nil if it is not inside of one region of it or cannot be mapped.
func (v *View) Bytes(offset, length uint64) []byte {
	if offset >= v.memory.capacity || length > Region-offset%Region {
		return nil
	}
	r := v.memory.regions[offset/Region].Load()
	if r == nil {
		var err error
		if r, err = v.memory.need(offset); err != nil {
			return nil
		}
	}
	return r[offset%Region : offset%Region+length]
}

// Word is the number of eight bytes at offset, nil where Bytes would be or if offset is not a multiple of 8.
func (v *View) Word(offset uint64) *atomic.Uint64 {
	if offset >= v.memory.capacity || offset%8 != 0 {
		return nil
	}
	r := v.memory.regions[offset/Region].Load()
	if r == nil {
		var err error
		if r, err = v.memory.need(offset); err != nil {
			return nil
		}
	}
	return word(r, offset)
}

// Close unmaps the arena.
func (v *View) Close() error { return v.memory.close() }
