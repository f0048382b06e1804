// SPDX-License-Identifier: Apache-2.0

// This file reads and writes frames.

package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gust-stream/gust/stateapi"
)

// Type is what a frame is; the answer to a request has the request's Type plus Answer, or Error.
type Type byte

// The requests.
const (
	Hello Type = 1 + iota
	Open
	Prepare
	Commit
	Write
	Rollback
	Get
	Iterate
	Drop
)

// The answers.
const (
	Answer Type = 128
	Error  Type = 255
)

const (
	// Magic opens a client's hello.
	Magic uint32 = 0x54535547
	// Version of the protocol.
	Version uint16 = 1
	// MaxFrame is the largest length that a frame may announce.
	MaxFrame = 256 << 20
	// Overhead is what a frame's length counts beside the body: type and request number.
	Overhead = 5

	lengthSize = 4
	// firstRead is the memory that a frame gets on its word alone; past it, memory follows the bytes that came.
	firstRead = 64 << 10
	// keepBuffer is the largest buffer that stays between two frames.
	keepBuffer = 64 << 10
	// readAhead is the buffer that spares small frames a second read; a server has one for each idle client.
	readAhead = 512
)

// ErrMalformed is a frame or body that does not follow the protocol.
var ErrMalformed = errors.New("malformed message")

// Frame is one message. Body is the Reader's until its next call of Next.
type Frame struct {
	Type    Type
	Request uint32
	Body    []byte
}

// Reader reads frames.
type Reader struct {
	// Admit, if set, is asked before a frame's body is read and may refuse its length.
	Admit func(length int) error

	in   *bufio.Reader
	body []byte
	own  bool // body belongs to a caller of Keep
}

// NewReader makes a Reader of what in gives.
func NewReader(in io.Reader) *Reader { return &Reader{in: bufio.NewReaderSize(in, readAhead)} }

// Wait returns when the first byte of a frame has come.
func (r *Reader) Wait() error {
	r.shrink()
	_, err := r.in.Peek(1)
	return err
}

// Next reads a frame. The end of the input between two frames is io.EOF, inside a frame io.ErrUnexpectedEOF.
func (r *Reader) Next() (Frame, error) {
	r.shrink()
	var head [lengthSize + Overhead]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		return Frame{}, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n < Overhead || n > MaxFrame {
		return Frame{}, fmt.Errorf("frame of %d bytes: %w", n, ErrMalformed)
	}
	f := Frame{Type: Type(head[lengthSize]), Request: binary.LittleEndian.Uint32(head[lengthSize+1:])}
	length := int(n) - Overhead
	if r.Admit != nil {
		if err := r.Admit(length); err != nil {
			return f, err
		}
	}
	err := r.read(length)
	f.Body = r.body
	return f, err
}

// read fills body with length bytes.
func (r *Reader) read(length int) error {
	body := r.body[:0]
	for len(body) < length {
		step := min(length, max(2*len(body), firstRead))
		if step > cap(body) {
			body = append(make([]byte, 0, step), body...)
		}
		from := len(body)
		body = body[:step]
		if _, err := io.ReadFull(r.in, body[from:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	r.body = body
	return nil
}

// Keep makes a part of the last frame's body the caller's for good.
func (r *Reader) Keep(part []byte) []byte {
	if len(part) < cap(r.body)/4*3 {
		return slices.Clone(part)
	}
	r.own = true
	return part
}

func (r *Reader) shrink() {
	if r.own || cap(r.body) > keepBuffer {
		r.body, r.own = nil, false
	}
}

// Builder writes frames into one buffer, a frame at a time.
type Builder struct {
	out []byte
}

// Begin begins a frame; what was built before is overwritten.
func (b *Builder) Begin(t Type, request uint32) {
	if cap(b.out) > keepBuffer {
		b.out = nil
	}
	b.out = append(b.out[:0], 0, 0, 0, 0, byte(t))
	b.U32(request)
}

// Frame ends the frame and returns it, valid until the next Begin.
func (b *Builder) Frame() ([]byte, error) {
	n := len(b.out) - lengthSize
	if n > MaxFrame {
		b.out = nil
		return nil, fmt.Errorf("message of %d bytes, at most %d: %w", n, MaxFrame, stateapi.ErrTooLarge)
	}
	binary.LittleEndian.PutUint32(b.out, uint32(n))
	return b.out, nil
}

// U8 and the like append a field.
func (b *Builder) U8(n uint8) { b.out = append(b.out, n) }

// U16 appends two bytes.
func (b *Builder) U16(n uint16) { b.out = binary.LittleEndian.AppendUint16(b.out, n) }

// U32 appends four bytes.
func (b *Builder) U32(n uint32) { b.out = binary.LittleEndian.AppendUint32(b.out, n) }

// U64 appends eight bytes.
func (b *Builder) U64(n uint64) { b.out = binary.LittleEndian.AppendUint64(b.out, n) }

// Bytes appends a byte string.
func (b *Builder) Bytes(s []byte) {
	b.out = append(binary.AppendUvarint(b.out, uint64(len(s))), s...)
}

// String appends a string.
func (b *Builder) String(s string) {
	b.out = append(binary.AppendUvarint(b.out, uint64(len(s))), s...)
}

// Bool appends a byte, 0 or 1.
func (b *Builder) Bool(v bool) {
	if v {
		b.U8(1)
	} else {
		b.U8(0)
	}
}

// Len is the length of the frame so far.
func (b *Builder) Len() int { return len(b.out) }
