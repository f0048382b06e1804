// SPDX-License-Identifier: Apache-2.0

package frame

// This file holds the frames themselves: big-endian, a code of two bytes, for most a length of four and a payload.

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Kind says what a frame is.
type Kind uint8

// The frames of Storm, and Upgrade, which only a gust worker sends and only to another one.
const (
	Task    Kind = iota + 1 // a tuple for a task
	Load                    // a server's load
	Control                 // Frame.Code says which
	SASL                    // a token of an authentication
	Status                  // a server's back-pressure
	Upgrade                 // a client proposes the native protocol
)

// Codes on the wire. A code of zero and more is a task.
const (
	loadCode     = -1
	saslCode     = -500
	statusCode   = -600
	upgradeCode  = -1000
	Close        = -100
	OK           = -200
	EndOfBatch   = -201
	SASLRequest  = -202
	SASLComplete = -203
	Failure      = -400
)

// headSize is a code and a length.
const headSize = 6

// MaxTask is the largest task id that a frame can name.
const MaxTask = math.MaxInt16

// Frame is one frame. Payload belongs to the Reader and is valid until its next Next.
type Frame struct {
	Kind    Kind
	Code    int16 // the task of a Task, the code of a Control
	Payload []byte
}

// Append appends a frame with a payload.
func Append(b []byte, kind Kind, payload []byte) []byte {
	code := int16(loadCode)
	switch kind {
	case SASL:
		code = saslCode
	case Status:
		code = statusCode
	case Upgrade:
		code = upgradeCode
	case Task, Load, Control:
	}
	b = binary.BigEndian.AppendUint16(b, uint16(code))         //nolint:gosec // the same bits
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload))) //nolint:gosec // far below
	return append(b, payload...)
}

// AppendControl appends a frame that is only a code.
func AppendControl(b []byte, code int16) []byte {
	return binary.BigEndian.AppendUint16(b, uint16(code)) //nolint:gosec // the same bits
}

// Reader takes frames out of an Input.
type Reader struct {
	In *Input
	// Max bounds a payload, Small the payload of what is no tuple.
	Max, Small int

	taken int
}

// Next waits for the next frame. io.EOF is the end between two frames.
func (r *Reader) Next() (Frame, error) {
	r.In.Discard(r.taken)
	r.taken = 0
	b, err := r.In.Peek(2)
	if err != nil {
		return Frame{}, err
	}
	code := int16(binary.BigEndian.Uint16(b)) //nolint:gosec // the same bits
	kind, limit := Task, r.Max
	switch code {
	case Close, OK, EndOfBatch, SASLRequest, SASLComplete, Failure:
		r.taken = 2
		return Frame{Kind: Control, Code: code}, nil
	case loadCode:
		kind = Load
	case saslCode:
		kind, limit = SASL, r.Small
	case statusCode:
		kind = Status
	case upgradeCode:
		kind, limit = Upgrade, r.Small
	default:
		if code < 0 {
			return Frame{}, fmt.Errorf("%w: unknown code %d", ErrMalformed, code)
		}
	}
	if b, err = r.In.Peek(headSize); err != nil {
		return Frame{}, err
	}
	n := int(int32(binary.BigEndian.Uint32(b[2:]))) //nolint:gosec // the same bits
	if n < 0 || n > limit {
		announced := uint32(n) //nolint:gosec // the same bits
		return Frame{}, fmt.Errorf("%w: code %d announces %d bytes, at most %d are allowed", ErrMalformed, code, announced, limit)
	}
	if b, err = r.In.Peek(headSize + n); err != nil {
		return Frame{}, fmt.Errorf("frame of code %d: %w", code, err)
	}
	r.taken = headSize + n
	return Frame{Kind: kind, Code: code, Payload: b[headSize:]}, nil
}

// Waiting says whether a whole frame has come already, so that Next will not wait.
func (r *Reader) Waiting() bool {
	b := r.In.Buffered()[r.taken:]
	if len(b) < 2 {
		return false
	}
	switch int16(binary.BigEndian.Uint16(b)) { //nolint:gosec // the same bits
	case Close, OK, EndOfBatch, SASLRequest, SASLComplete, Failure:
		return true
	}
	return len(b) >= headSize && uint64(len(b)-headSize) >= uint64(binary.BigEndian.Uint32(b[2:])) //nolint:gosec // lengths
}

// Rest gives back what the Reader took last, so that another kind of reader can go on after it.
func (r *Reader) Rest() *Input {
	r.In.Discard(r.taken)
	r.taken = 0
	return r.In
}
