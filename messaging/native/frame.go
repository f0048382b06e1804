// SPDX-License-Identifier: Apache-2.0

package native

// This file holds the frames: a kind, a length of four bytes, little-endian, and a payload.

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/gust-stream/gust/messaging/frame"
)

// Version is the protocol that this package speaks.
const Version = 1

// Window is how many tuples for a task a client may send ahead of the server's word, and what each word of credit adds to what has come.
const Window = 4096

// MaxTuples bounds the tuples of a frame: one takes a byte at least there, and far more where it is read.
const MaxTuples = 1 << 14

// Kind says what a frame is. A kind that the reader does not know is skipped, so that a later version can add some.
type Kind uint8

// The kinds. Progress is reserved for tags about how far sources are, for windows of event time.
const (
	Tuples   Kind = 1 // client: tuples for tasks
	Progress Kind = 2 // client: reserved
	Credit   Kind = 3 // server: how many tuples each task has allowed so far
	Load     Kind = 4 // server: how full the inboxes are
)

// headSize is a kind and a length.
const headSize = 5

// Begin appends the head of a frame and gives where it is; End puts the length into it.
func Begin(b []byte, kind Kind) ([]byte, int) {
	return append(b, byte(kind), 0, 0, 0, 0), len(b)
}

// End ends the frame whose head is at start.
func End(b []byte, start int) {
	binary.LittleEndian.PutUint32(b[start+1:], uint32(len(b)-start-headSize)) //nolint:gosec // a frame is far smaller
}

// Reader takes frames out of an Input.
type Reader struct {
	In *frame.Input
	// Max bounds a payload.
	Max int

	taken int
}

// Next waits for the next frame; the payload is valid until the Next after it. io.EOF is the end between two frames.
func (r *Reader) Next() (Kind, []byte, error) {
	r.In.Discard(r.taken)
	r.taken = 0
	b, err := r.In.Peek(headSize)
	if err != nil {
		return 0, nil, err
	}
	kind, n := Kind(b[0]), uint64(binary.LittleEndian.Uint32(b[1:]))
	if n > uint64(r.Max) { //nolint:gosec // a bound
		return 0, nil, fmt.Errorf("%w: kind %d announces %d bytes, at most %d are allowed", frame.ErrMalformed, kind, n, r.Max)
	}
	if b, err = r.In.Peek(headSize + int(n)); err != nil { //nolint:gosec // bounded above
		return 0, nil, fmt.Errorf("frame of kind %d: %w", kind, err)
	}
	r.taken = headSize + int(n) //nolint:gosec // bounded above
	return kind, b[headSize:], nil
}

// AppendCredit appends a task and how many tuples it has allowed since the connection began.
func AppendCredit(b []byte, task int32, allowed uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(uint32(task))), allowed) //nolint:gosec // the same bits
}

// ReadCredit calls with each task of a Credit payload.
func ReadCredit(b []byte, with func(task int32, allowed uint64)) error {
	for len(b) > 0 {
		task, rest, err := uvarint(b)
		if err != nil {
			return fmt.Errorf("credit: %w", err)
		}
		allowed, rest, err := uvarint(rest)
		if err != nil {
			return fmt.Errorf("credit: %w", err)
		}
		if task > frame.MaxTask {
			return fmt.Errorf("%w: credit of task %d", frame.ErrMalformed, task)
		}
		b = rest
		with(int32(task), allowed) //nolint:gosec // bounded above
	}
	return nil
}

// AppendLoad appends a task and how full its inbox is, from 0 to 1.
func AppendLoad(b []byte, task int32, load float64) []byte {
	b = binary.AppendUvarint(b, uint64(uint32(task))) //nolint:gosec // the same bits
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(load))
}

// ReadLoad reads a Load payload.
func ReadLoad(b []byte) (map[int32]float64, error) {
	load := make(map[int32]float64, min(len(b)/9, frame.MaxTask))
	for len(b) > 0 {
		task, rest, err := uvarint(b)
		if err != nil {
			return nil, fmt.Errorf("load: %w", err)
		}
		if len(rest) < 8 || task > frame.MaxTask {
			return nil, fmt.Errorf("%w: load of task %d in %d bytes", frame.ErrMalformed, task, len(rest))
		}
		load[int32(task)] = math.Float64frombits(binary.LittleEndian.Uint64(rest)) //nolint:gosec // bounded above
		b = rest[8:]
	}
	return load, nil
}

func uvarint(b []byte) (uint64, []byte, error) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, fmt.Errorf("%w: a varint of %d bytes: %w", frame.ErrMalformed, len(b), io.ErrUnexpectedEOF)
	}
	return v, b[n:], nil
}
