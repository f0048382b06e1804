// SPDX-License-Identifier: Apache-2.0

package multilang

// This file holds what waits to be written to a child, and the goroutine that writes it.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gust-stream/gust/multilang/codec"
)

// chunkSize is about how much is written at a time: task ids can overtake what is not written yet.
const chunkSize = 16 << 10

// chunk is a row of whole messages.
type chunk struct {
	text   []byte
	tuples int
}

// outbox is filled by the executor and emptied by the writer. As long as the pipe takes all of it the executor writes itself, which
// spares a child that waits for task ids the time until another goroutine runs.
type outbox struct {
	format codec.Format
	wake   chan struct{}
	// unsent counts tuples that were delivered and not yet written.
	unsent atomic.Int64

	mu     sync.Mutex      // guards what follows
	pipe   syscall.RawConn // nil until the handshake was written
	rest   chunk           // what the pipe did not take of a write
	ids    []byte          // lists of task ids, which go out first
	queue  []chunk
	spare  [][]byte
	busy   bool // the writer writes
	closed bool
}

// put hands a chunk over. It gives an empty buffer in return.
func (o *outbox) put(c chunk) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return c.text[:0]
	}
	if left := o.write(c); len(left.text) > 0 {
		o.queue = append(o.queue, left)
		o.notify()
		return o.buffer()
	}
	return c.text[:0]
}

// putIDs hands over lists of task ids, of which more than limit bytes may not wait. The caller keeps the text.
func (o *outbox) putIDs(text []byte, limit int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	left := o.write(chunk{text: text})
	if len(left.text) == 0 {
		return nil
	}
	if len(o.ids)+len(left.text) > limit {
		return fmt.Errorf("%w: it does not read its task ids, %d bytes of them wait (a child that does not want them sends need_task_ids: false)",
			ErrProtocol, len(o.ids))
	}
	o.ids = append(o.ids, left.text...)
	o.notify()
	return nil
}

// write lets the pipe take what it can if nothing is in front, and gives what has to wait. Half a message stays in rest.
func (o *outbox) write(c chunk) chunk {
	if o.pipe == nil || o.busy || len(o.rest.text) > 0 || len(o.ids) > 0 || len(o.queue) > 0 {
		return c
	}
	n := tryWrite(o.pipe, c.text)
	if n == 0 { // full, or closed, which the writer will find out
		return c
	}
	if n == len(c.text) {
		o.unsent.Add(-int64(c.tuples))
		return chunk{}
	}
	o.rest = chunk{append(o.rest.text[:0], c.text[n:]...), c.tuples}
	o.notify()
	return chunk{}
}

func (o *outbox) buffer() []byte {
	last := len(o.spare) - 1
	if last < 0 {
		return nil
	}
	b := o.spare[last]
	o.spare = o.spare[:last]
	return b
}

func (o *outbox) notify() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take gives the writer what to write next, in place of a buffer that was written: what was begun, then ids, then a chunk.
func (o *outbox) take(written []byte) (chunk, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if cap(written) > 0 && cap(written) <= 4*chunkSize && len(o.spare) < 8 {
		o.spare = append(o.spare, written[:0])
	}
	o.busy = true
	switch {
	case len(o.rest.text) > 0:
		next := o.rest
		o.rest = chunk{}
		return next, true
	case len(o.ids) > 0:
		next := chunk{text: o.ids}
		o.ids = o.buffer()
		return next, true
	case len(o.queue) > 0:
		next := o.queue[0]
		o.queue[0] = chunk{}
		if o.queue = o.queue[1:]; len(o.queue) == 0 {
			o.queue = nil
		}
		return next, true
	}
	o.busy = false
	return chunk{}, false
}

// open lets the executor write too.
func (o *outbox) open(pipe syscall.RawConn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pipe = pipe
}

// close drops what waits, and what is yet to come.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.pipe, o.rest, o.ids, o.queue = nil, chunk{}, nil, nil
	o.notify()
}

// write gives the child its handshake, then what the executor could not write itself, and a bolt its heartbeats.
func (c *child) write(stdin *os.File, hello []byte, exited <-chan struct{}) {
	if _, err := stdin.Write(hello); err != nil {
		c.gone(exited, fmt.Errorf("%w: it closed its stdin before the handshake: %w", ErrProtocol, err))
		return
	}
	if pipe, err := stdin.SyscallConn(); err == nil {
		c.out.open(pipe)
	}
	tick := time.NewTicker(c.cfg.Settings.Beat)
	defer tick.Stop()
	for {
		select {
		case <-exited:
			return
		case <-tick.C:
			if c.decode.bolt && c.life.beatRoom(c.now()) {
				c.out.put(chunk{text: heartbeat(nil, c.out.format)})
			}
		case <-c.out.wake:
			if err := c.empty(stdin); err != nil {
				c.gone(exited, fmt.Errorf("%w: it closed its stdin: %w", ErrProtocol, err))
				return
			}
		}
	}
}

// empty writes all there is.
func (c *child) empty(stdin io.Writer) error {
	var written []byte
	for {
		next, some := c.out.take(written)
		if !some {
			return nil
		}
		if _, err := stdin.Write(next.text); err != nil {
			return err
		}
		written = next.text
		c.out.unsent.Add(-int64(next.tuples))
		if c.wanting.Swap(false) {
			select {
			case c.events <- c.wake:
			default: // the executor has something to take, and looks for room after it
			}
		}
	}
}

// goneWait is how long a child has to end after it closed a pipe.
const goneWait = time.Second

// gone is about a pipe that the child has closed: most often because it has ended, which tells more.
func (c *child) gone(exited <-chan struct{}, err error) {
	if !errors.Is(awaitExit(exited), ErrExited) {
		c.fault(err)
	}
}

// awaitExit waits a little for the end.
func awaitExit(exited <-chan struct{}) error {
	timer := time.NewTimer(goneWait)
	defer timer.Stop()
	select {
	case <-exited:
		return ErrExited
	case <-timer.C:
		return ErrProtocol
	}
}

// heartbeat appends a heartbeat, in Storm's form.
func heartbeat(dst []byte, f codec.Format) []byte {
	if f == codec.Msgpack {
		dst = append(dst, 0x85)
		for _, field := range []struct {
			name  string
			value any
		}{{"id", "0"}, {"comp", nil}, {"stream", "__heartbeat"}, {"task", -1}, {"tuple", []any{}}} {
			dst, _ = codec.AppendString(dst, f, field.name)
			dst, _ = codec.Append(dst, f, field.value)
		}
		return dst
	}
	return append(dst, `{"id":"0","comp":null,"stream":"__heartbeat","task":-1,"tuple":[]}`+"\nend\n"...)
}
