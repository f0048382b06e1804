// SPDX-License-Identifier: Apache-2.0

// This file has the sizes of the layout and the header.

package arena

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/gust-stream/gust/stateapi"
)

// Sizes of the layout.
const (
	Region         = 1 << 30 // what is mapped at once; no piece crosses a region's end
	Slot           = 256 << 10
	Page           = 4096
	LargestCell    = 64 << 10 // longer pieces have slots of their own
	DescriptorSize = 64
	MaxCapacity    = 1 << 44

	version    = 1
	headerSize = 4096
	magic      = "GUSTARNA"
	cellUnit   = 64
	slotPages  = Slot / Page

	undoStart  = headerSize
	undoSize   = 1024
	undoCount  = 60
	headerUsed = undoStart + undoCount*undoSize // of slot 0
)

// Where the header's fields are.
const (
	atVersion     = 8
	atHeaderSize  = 12
	atID          = 16
	atCapacity    = 24
	atRetired     = 32
	atSequence    = 40
	atDescriptors = 48
	atChecksum    = 56
)

// Errors that a caller decides on.
var (
	ErrRetired = errors.New("arena is retired")
	ErrInUse   = errors.New("another process writes this arena")
)

func writeHeader(header []byte, id, capacity uint64) {
	copy(header, magic)
	binary.LittleEndian.PutUint32(header[atVersion:], version)
	binary.LittleEndian.PutUint32(header[atHeaderSize:], headerSize)
	binary.LittleEndian.PutUint64(header[atID:], id)
	binary.LittleEndian.PutUint64(header[atCapacity:], capacity)
	binary.LittleEndian.PutUint32(header[atChecksum:], headerChecksum(header))
}

func headerChecksum(header []byte) uint32 {
	return crc32.Checksum(header[:atRetired], crc32.MakeTable(crc32.Castagnoli))
}

// readHeader checks a header of a file of size bytes and says whose it is.
func readHeader(header []byte, size int64) (id, capacity uint64, err error) {
	if string(header[:len(magic)]) != magic {
		return 0, 0, fmt.Errorf("no arena: %w", stateapi.ErrCorrupt)
	}
	if v := binary.LittleEndian.Uint32(header[atVersion:]); v != version {
		return 0, 0, fmt.Errorf("layout version %d, this program knows %d: %w", v, version, stateapi.ErrCorrupt)
	}
	if want, got := binary.LittleEndian.Uint32(header[atChecksum:]), headerChecksum(header); want != got {
		return 0, 0, fmt.Errorf("header has checksum %08x, says %08x: %w", got, want, stateapi.ErrCorrupt)
	}
	id, capacity = binary.LittleEndian.Uint64(header[atID:]), binary.LittleEndian.Uint64(header[atCapacity:])
	if h := binary.LittleEndian.Uint32(header[atHeaderSize:]); h != headerSize || id == 0 || checkCapacity(capacity) != nil {
		return 0, 0, fmt.Errorf("header of %d bytes, id %x, capacity %d: %w", h, id, capacity, stateapi.ErrCorrupt)
	}
	if size < 0 || uint64(size) < capacity {
		return 0, 0, fmt.Errorf("file was shortened to %d of %d bytes: %w", size, capacity, stateapi.ErrCorrupt)
	}
	return id, capacity, nil
}

func checkCapacity(capacity uint64) error {
	if capacity == 0 || capacity%Region != 0 || capacity > MaxCapacity {
		return fmt.Errorf("capacity %d is not a multiple of %d up to %d", capacity, uint64(Region), uint64(MaxCapacity))
	}
	return nil
}
