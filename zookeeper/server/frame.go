// SPDX-License-Identifier: Apache-2.0

// The framing of files, format version 1. A file starts with a header; then come
// frames, each one write: u32 magic, u32 length, i64 zxid, u64 xxhash of the
// payload, u64 xxhash of these 24 bytes, payload.

package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

const (
	// formatVersion of everything in the directory. A reader refuses a newer one.
	formatVersion = 1

	logMagic   = "GUSTZKLG"
	snapMagic  = "GUSTZKSN"
	storeMagic = "GUSTZKST"
	markMagic  = "GUSTZKMK"

	fileHeader  = 32 // magic, u32 version, u32 zero, i64 zxid, u64 xxhash of these 24 bytes
	frameHeader = 32
	frameMagic  = 0x677a6631

	// maxFramePayload is what a reader believes; writers stay far below.
	maxFramePayload = 256 << 20
)

func newFileHeader(magic string, zxid int64) []byte {
	b := append(make([]byte, 0, fileHeader), magic...)
	b = binary.BigEndian.AppendUint32(b, formatVersion)
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(zxid))
	return binary.BigEndian.AppendUint64(b, xxhash.Sum64(b))
}

// checkFileHeader gives the zxid in a file's first bytes. The version is looked at
// before the checksum: a newer format may have another one.
func checkFileHeader(b []byte, magic string) (int64, error) {
	if len(b) < fileHeader {
		return 0, fmt.Errorf("header has %d bytes, not %d", len(b), fileHeader)
	}
	if string(b[:8]) != magic {
		return 0, fmt.Errorf("header starts with %q, not %q", b[:8], magic)
	}
	if v := binary.BigEndian.Uint32(b[8:]); v > formatVersion {
		return 0, &newerError{version: v}
	}
	if binary.BigEndian.Uint64(b[24:]) != xxhash.Sum64(b[:24]) {
		return 0, errors.New("header has a wrong checksum")
	}
	return int64(binary.BigEndian.Uint64(b[16:])), nil
}

// newerError refuses a store that a later release has written.
type newerError struct{ version uint32 }

func (e *newerError) Error() string {
	return fmt.Sprintf("format version %d is newer than this build's %d", e.version, formatVersion)
}

// putFrameHeader fills the first bytes of frame, whose payload is already there.
func putFrameHeader(frame []byte, zxid int64) {
	payload := frame[frameHeader:]
	binary.BigEndian.PutUint32(frame, frameMagic)
	binary.BigEndian.PutUint32(frame[4:], uint32(len(payload)))
	binary.BigEndian.PutUint64(frame[8:], uint64(zxid))
	binary.BigEndian.PutUint64(frame[16:], xxhash.Sum64(payload))
	binary.BigEndian.PutUint64(frame[24:], xxhash.Sum64(frame[:24]))
}

type frameFault int

const (
	frameOK    frameFault = iota
	frameShort            // the file ends before the frame does
	frameBad              // bytes are there, and wrong
)

// readFrame looks at the frame at the start of b. size is its whole length.
func readFrame(b []byte) (payload []byte, size int, fault frameFault) {
	if len(b) < frameHeader {
		return nil, 0, frameShort
	}
	n := int(binary.BigEndian.Uint32(b[4:]))
	if binary.BigEndian.Uint32(b) != frameMagic || n > maxFramePayload ||
		binary.BigEndian.Uint64(b[24:]) != xxhash.Sum64(b[:24]) {
		return nil, 0, frameBad
	}
	if n > len(b)-frameHeader {
		return nil, 0, frameShort
	}
	payload = b[frameHeader : frameHeader+n]
	if binary.BigEndian.Uint64(b[16:]) != xxhash.Sum64(payload) {
		return nil, 0, frameBad
	}
	return payload, frameHeader + n, frameOK
}

// findFrame looks for a whole frame anywhere in b.
func findFrame(b []byte) (int, bool) {
	magic := binary.BigEndian.AppendUint32(nil, frameMagic)
	for at := 0; ; at++ {
		i := bytes.Index(b[at:], magic)
		if i < 0 {
			return 0, false
		}
		at += i
		if _, _, fault := readFrame(b[at:]); fault == frameOK {
			return at, true
		}
	}
}

// allZero tells whether b is untouched preallocated space.
func allZero(b []byte) bool {
	for _, v := range b {
		if v != 0 {
			return false
		}
	}
	return true
}
