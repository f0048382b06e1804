// SPDX-License-Identifier: Apache-2.0

// Reading frames from a stream, with memory that follows the bytes received.

package rpc

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// prefixLen is the length prefix of a frame, big-endian.
	prefixLen = 4
	// headLen is what each connection holds while idle: most requests fit, so
	// they cost one read and no buffer.
	headLen = 256
)

// FrameSizeError says that a frame is larger than its reader or writer allows,
// or that a peer announced one of no length or a negative one.
type FrameSizeError struct {
	// Size is the announced length in bytes; it may be negative.
	Size int64
	// Limit is the largest allowed length in bytes.
	Limit int
}

// Error tells both numbers.
func (e *FrameSizeError) Error() string {
	if e.Size <= 0 {
		return fmt.Sprintf("frame of %d bytes", e.Size)
	}
	return fmt.Sprintf("frame of %d bytes is above the limit of %d", e.Size, e.Limit)
}

// frame is one received frame without its prefix. Its bytes are valid until
// it is released or the next frame is read.
type frame struct {
	data []byte

	reader *frameReader
	buf    *buffer
	held   int64
}

// release gives the frame's memory back.
func (f *frame) release() {
	if f.buf != nil {
		f.reader.pool.put(f.buf)
		f.buf = nil
	}
	if f.held > 0 {
		f.reader.budget.Release(f.held)
		f.held = 0
	}
	f.data = nil
}

// frameReader cuts a stream into frames. It is used by one goroutine.
type frameReader struct {
	r      io.Reader
	limit  int
	pool   *bufferPool
	budget *semaphore.Weighted // nil: the limit of one frame is bound enough

	head       [headLen]byte
	start, end int // unread part of head
}

// wait blocks until a byte of the next frame is there. A stream that ends
// before is io.EOF.
func (f *frameReader) wait() error {
	if f.start < f.end {
		return nil
	}
	f.start, f.end = 0, 0
	for f.end == 0 {
		n, err := f.r.Read(f.head[:])
		f.end = n
		if n == 0 && err != nil {
			return err
		}
	}
	return nil
}

// read returns the next frame. The context and the time bound the wait for a
// share of the budget; reading ends through the stream's own deadline.
func (f *frameReader) read(ctx context.Context, until time.Time) (frame, error) {
	if err := f.wait(); err != nil {
		return frame{}, err
	}
	if f.start > 0 {
		f.end = copy(f.head[:], f.head[f.start:f.end])
		f.start = 0
	}
	if err := f.fill(prefixLen); err != nil {
		return frame{}, fmt.Errorf("read frame length: %w", err)
	}
	size := int32(binary.BigEndian.Uint32(f.head[:])) //nolint:gosec // the sign is looked at
	if size <= 0 || int64(size) > int64(f.limit) {
		return frame{}, &FrameSizeError{Size: int64(size), Limit: f.limit}
	}
	n := int(size)
	if prefixLen+n <= headLen {
		if err := f.fill(prefixLen + n); err != nil {
			return frame{}, fmt.Errorf("read frame of %d bytes: %w", n, err)
		}
		f.start = prefixLen + n
		return frame{data: f.head[prefixLen:f.start], reader: f}, nil
	}
	return f.readLarge(ctx, until, n)
}

// fill reads until head holds n bytes.
func (f *frameReader) fill(n int) error {
	if f.end >= n {
		return nil
	}
	got, err := io.ReadAtLeast(f.r, f.head[f.end:], n-f.end)
	f.end += got
	return noEOF(err)
}

// readLarge reads a frame that does not fit into head. The buffer grows only
// when what it has is full, so an announced length costs nothing.
func (f *frameReader) readLarge(ctx context.Context, until time.Time, size int) (frame, error) {
	fr := frame{reader: f, buf: f.pool.get(0)}
	have := copy(fr.buf.b, f.head[prefixLen:f.end])
	f.start, f.end = 0, 0
	for {
		upTo := min(size, len(fr.buf.b))
		n, err := io.ReadFull(f.r, fr.buf.b[have:upTo])
		have += n
		if err != nil {
			fr.release()
			return frame{}, fmt.Errorf("read frame of %d bytes after %d: %w", size, have, noEOF(err))
		}
		if have == size {
			fr.data = fr.buf.b[:size]
			return fr, nil
		}
		if err := f.grow(ctx, until, &fr, have); err != nil {
			fr.release()
			return frame{}, fmt.Errorf("read frame of %d bytes after %d: %w", size, have, err)
		}
	}
}

// grow moves the first have bytes of a frame into the next size of buffer.
func (f *frameReader) grow(ctx context.Context, until time.Time, fr *frame, have int) error {
	next := fr.buf.step + 1
	more := int64(f.pool.sizes[next] - f.pool.sizes[fr.buf.step])
	if f.budget != nil {
		if err := f.take(ctx, until, more); err != nil {
			return fmt.Errorf("wait for %d bytes of buffer: %w", more, err)
		}
		fr.held += more
	}
	bigger := f.pool.get(next)
	copy(bigger.b, fr.buf.b[:have])
	f.pool.put(fr.buf)
	fr.buf = bigger
	return nil
}

// take waits for n bytes of the budget.
func (f *frameReader) take(ctx context.Context, until time.Time, n int64) error {
	if f.budget.TryAcquire(n) {
		return nil
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	return f.budget.Acquire(ctx, n)
}

// noEOF makes an end inside a frame an error of its own: only an end between
// frames is a regular one.
func noEOF(err error) error {
	if err == io.EOF { //nolint:errorlint // io readers hand out the bare value
		return io.ErrUnexpectedEOF
	}
	return err
}
