// SPDX-License-Identifier: Apache-2.0

package frame

// This file holds the buffer between a connection and what reads frames out of it.

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// Sizes of an Input's buffer: what a connection that says nothing costs, and what one that says much may have before it must ask the
// budget.
const (
	idleBuffer = 4 << 10
	busyBuffer = 64 << 10
)

// Conn is what an Input needs of a connection.
type Conn interface {
	io.Reader
	SetReadDeadline(t time.Time) error
}

// Budget is what all connections of a worker together may hold of frames that are larger than the common buffer.
type Budget struct{ left atomic.Int64 }

// NewBudget has that many bytes to lend.
func NewBudget(bytes int64) *Budget {
	var b Budget
	b.left.Store(bytes)
	return &b
}

func (b *Budget) take(n int) bool {
	if b.left.Add(-int64(n)) >= 0 {
		return true
	}
	b.left.Add(int64(n))
	return false
}

func (b *Budget) give(n int) { b.left.Add(int64(n)) }

var (
	// ErrMalformed is in every error about bytes that are no frame or no tuple.
	ErrMalformed = errors.New("malformed frame")
	// ErrStalled is a peer that sent the beginning of a frame and then nothing for the time of Input.Stall.
	ErrStalled = errors.New("the rest of a frame did not come")
	// ErrCrowded is a large frame for which the worker had no memory left to lend.
	ErrCrowded = errors.New("no memory left for large frames")
)

// Input reads ahead. Its memory follows what has come, never what is announced.
type Input struct {
	conn   Conn
	budget *Budget
	stall  time.Duration

	buf      []byte
	from, to int
	// timed says that the connection has a deadline.
	timed bool
}

// NewInput reads from a connection. A frame whose rest does not come within stall ends it.
func NewInput(conn Conn, budget *Budget, stall time.Duration) *Input {
	return &Input{conn: conn, budget: budget, stall: stall, buf: make([]byte, idleBuffer)}
}

// Buffered is what has come and was not taken yet.
func (in *Input) Buffered() []byte { return in.buf[in.from:in.to] }

// Discard takes n bytes that Peek gave.
func (in *Input) Discard(n int) { in.from += n }

// Close gives back what was borrowed.
func (in *Input) Close() { in.resize(0) }

// Peek gives the next n bytes, which stay valid until the next Peek, and waits for them. io.EOF is the end between frames only: whoever
// has peeked and not discarded gets io.ErrUnexpectedEOF.
func (in *Input) Peek(n int) ([]byte, error) {
	for in.to-in.from < n {
		if err := in.fill(n); err != nil {
			return nil, err
		}
	}
	return in.buf[in.from : in.from+n], nil
}

func (in *Input) fill(need int) error {
	if err := in.makeRoom(need); err != nil {
		return err
	}
	if err := in.setDeadline(in.from < in.to); err != nil {
		return err
	}
	n, err := in.conn.Read(in.buf[in.to:])
	in.to += n
	if n > 0 || err == nil {
		return nil
	}
	var timeout interface{ Timeout() bool }
	switch {
	case in.timed && errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("%w within %s: there are %d bytes of %d", ErrStalled, in.stall, in.to-in.from, need)
	case errors.Is(err, io.EOF) && in.from < in.to:
		return fmt.Errorf("%d bytes of %d: %w", in.to-in.from, need, io.ErrUnexpectedEOF)
	default:
		return err
	}
}

// makeRoom gives at least one free byte after what is there.
func (in *Input) makeRoom(need int) error {
	held := in.to - in.from
	if in.from > 0 && (held == 0 || in.to == len(in.buf)) {
		copy(in.buf, in.buf[in.from:in.to])
		in.from, in.to = 0, held
	}
	switch {
	case held == 0 && len(in.buf) > busyBuffer:
		in.resize(busyBuffer)
	case held == len(in.buf):
		// Double what is full: a frame of any announced length takes no more than twice what has come of it.
		size := max(2*len(in.buf), busyBuffer)
		if borrow := size - max(len(in.buf), busyBuffer); borrow > 0 && !in.budget.take(borrow) {
			return fmt.Errorf("%w: %d bytes of %d have come", ErrCrowded, held, need)
		}
		in.resize(size)
	}
	return nil
}

// resize takes another buffer; what was borrowed for the old one and is not needed for the new goes back.
func (in *Input) resize(size int) {
	if back := len(in.buf) - max(size, busyBuffer); back > 0 {
		in.budget.give(back)
	}
	buf := make([]byte, size)
	in.to = copy(buf, in.buf[in.from:in.to])
	in.from = 0
	in.buf = buf
}

func (in *Input) setDeadline(within bool) error {
	if !within && !in.timed {
		return nil
	}
	in.timed = within
	// It counts from the last byte, so it moves with each read.
	var at time.Time
	if within {
		at = time.Now().Add(in.stall)
	}
	return in.conn.SetReadDeadline(at)
}
