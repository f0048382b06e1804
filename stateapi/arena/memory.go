// SPDX-License-Identifier: Apache-2.0

// This file maps the regions of an arena's file.

package arena

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gust-stream/gust/stateapi"
)

type region = [Region]byte

// memory is the file with what of it is mapped.
type memory struct {
	file     *os.File
	protect  int
	capacity uint64
	regions  []atomic.Pointer[region]
	mu       sync.Mutex // held while a region is mapped
}

func newMemory(file *os.File, protect int, capacity uint64) *memory {
	return &memory{file: file, protect: protect, capacity: capacity, regions: make([]atomic.Pointer[region], capacity/Region)}
}

// open opens a file and checks its header, without mapping it.
func open(path string, flag, protect int) (m *memory, id uint64, err error) {
	file, err := os.OpenFile(path, flag|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("open arena: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, 0, fmt.Errorf("open arena: %w", err)
	}
	var header [DescriptorSize]byte
	if !info.Mode().IsRegular() || info.Size() < headerSize {
		return nil, 0, fmt.Errorf("%s of %d bytes is no arena: %w", path, info.Size(), stateapi.ErrCorrupt)
	}
	if _, err = file.ReadAt(header[:], 0); err != nil {
		return nil, 0, fmt.Errorf("read header of %s: %w", path, err)
	}
	id, capacity, err := readHeader(header[:], info.Size())
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	if binary.LittleEndian.Uint64(header[atRetired:]) != 0 {
		return nil, 0, fmt.Errorf("%s: %w", path, ErrRetired)
	}
	return newMemory(file, protect, capacity), id, nil
}

// need maps the region of an offset that is below the capacity.
func (m *memory) need(offset uint64) (*region, error) {
	r := &m.regions[offset/Region]
	if mapped := r.Load(); mapped != nil {
		return mapped, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if mapped := r.Load(); mapped != nil {
		return mapped, nil
	}
	if m.file == nil {
		return nil, os.ErrClosed
	}
	info, err := m.file.Stat()
	if err != nil {
		return nil, fmt.Errorf("map arena: %w", err)
	}
	if info.Size() < 0 || uint64(info.Size()) < m.capacity {
		return nil, fmt.Errorf("map arena: file was shortened to %d of %d bytes: %w", info.Size(), m.capacity, stateapi.ErrCorrupt)
	}
	b, err := unix.Mmap(int(m.file.Fd()), int64(offset/Region*Region), Region, m.protect, unix.MAP_SHARED|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("map region %d of arena: %w", offset/Region, err)
	}
	mapped := (*region)(unsafe.Pointer(&b[0]))
	r.Store(mapped)
	return mapped, nil
}

// close unmaps everything.
func (m *memory) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil {
		return nil
	}
	var all error
	for i := range m.regions {
		if mapped := m.regions[i].Swap(nil); mapped != nil {
			all = errors.Join(all, unix.Munmap(mapped[:]))
		}
	}
	all = errors.Join(all, m.file.Close())
	m.file = nil
	return all
}

// word is the number of eight bytes at a place in a region; at is a multiple of 8.
func word(r *region, at uint64) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&r[at%Region]))
}
