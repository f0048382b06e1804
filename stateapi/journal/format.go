// SPDX-License-Identifier: Apache-2.0

// This file has the bytes of headers, heads and the mark.

package journal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/gust-stream/gust/stateapi"
)

const (
	version    = 1
	headerSize = 64
	headSize   = 40
	frameSize  = 2 * headSize // what a record takes beside its body
	markSize   = 24

	headerMagic = "GUSTJRNL"
	markMagic   = "GUSTMARK"
	markName    = "mark"
	filePrefix  = "journal-"

	// unbegun is the position in a file that was made ahead of its use.
	unbegun = ^uint64(0)
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) } // made once by the library

func update(crc uint32, b []byte) uint32 { return crc32.Update(crc, castagnoli(), b) }

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli()) }

func fileName(number uint64) string { return fmt.Sprintf("%s%016x", filePrefix, number) }

// fileNumber reads a file's number from its name.
func fileNumber(name string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, filePrefix)
	if !ok || len(digits) != 16 {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 16, 64)
	return n, err == nil
}

func newHeader(position uint64) []byte {
	b := make([]byte, headerSize)
	copy(b, headerMagic)
	binary.LittleEndian.PutUint32(b[8:], version)
	binary.LittleEndian.PutUint32(b[12:], headerSize)
	binary.LittleEndian.PutUint64(b[16:], position)
	binary.LittleEndian.PutUint32(b[60:], checksum(b[:60]))
	return b
}

// parseHeader returns the position of the first record. A file of a newer version is an error of its own: it is not damaged.
func parseHeader(b []byte) (uint64, error) {
	switch {
	case len(b) < headerSize || string(b[:8]) != headerMagic:
		return 0, fmt.Errorf("no journal's header: %w", stateapi.ErrCorrupt)
	case binary.LittleEndian.Uint32(b[60:]) != checksum(b[:60]):
		return 0, fmt.Errorf("checksum of the header: %w", stateapi.ErrCorrupt)
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != version {
		return 0, &versionError{v}
	}
	return binary.LittleEndian.Uint64(b[16:]), nil
}

type versionError struct{ found uint32 }

func (e *versionError) Error() string {
	return fmt.Sprintf("journal of version %d, this program knows %d", e.found, version)
}

// head describes a record.
type head struct {
	body     uint32 // its checksum
	position uint64
	synced   uint64
	tag      uint64
	length   uint64
}

func (h head) end() uint64 { return h.position + frameSize + h.length }

func (h head) encode() [headSize]byte {
	var b [headSize]byte
	binary.LittleEndian.PutUint32(b[4:], h.body)
	binary.LittleEndian.PutUint64(b[8:], h.position)
	binary.LittleEndian.PutUint64(b[16:], h.synced)
	binary.LittleEndian.PutUint64(b[24:], h.tag)
	binary.LittleEndian.PutUint64(b[32:], h.length)
	binary.LittleEndian.PutUint32(b[:], checksum(b[4:]))
	return b
}

// parseHead reads the head of a record that begins at or after least and ends by limit.
func parseHead(b []byte, least, limit uint64) (head, bool) {
	h := head{
		body:     binary.LittleEndian.Uint32(b[4:]),
		position: binary.LittleEndian.Uint64(b[8:]),
		synced:   binary.LittleEndian.Uint64(b[16:]),
		tag:      binary.LittleEndian.Uint64(b[24:]),
		length:   binary.LittleEndian.Uint64(b[32:]),
	}
	if h.position < least || h.position >= limit || limit-h.position < frameSize || h.length > limit-h.position-frameSize {
		return head{}, false
	}
	return h, binary.LittleEndian.Uint32(b) == checksum(b[4:headSize])
}

func newMark(position uint64) []byte {
	b := make([]byte, markSize)
	copy(b, markMagic)
	binary.LittleEndian.PutUint64(b[8:], position)
	binary.LittleEndian.PutUint32(b[16:], version)
	binary.LittleEndian.PutUint32(b[20:], checksum(b[:20]))
	return b
}

// parseMark reads a mark; one that is absent or torn says nothing.
func parseMark(b []byte) uint64 {
	if len(b) != markSize || string(b[:8]) != markMagic || binary.LittleEndian.Uint32(b[20:]) != checksum(b[:20]) {
		return 0
	}
	return binary.LittleEndian.Uint64(b[8:])
}
