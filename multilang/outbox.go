// SPDX-License-Identifier: Apache-2.0

package multilang

// This file holds what waits to be written to a child, and the goroutine that writes it.

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
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

// outbox is filled by the executor and emptied by the writer.
type outbox struct {
	format codec.Format
	wake   chan struct{}
	// unsent counts tuples that were delivered and not yet written.
	unsent atomic.Int64

	mu     sync.Mutex // guards what follows
	ids    []byte     // lists of task ids, which go out first
	queue  []chunk
	spare  [][]byte
	closed bool
}

// put hands chunks over. It gives an empty buffer in return.
func (o *outbox) put(c chunk) []byte {
	o.mu.Lock()
	var next []byte
	if last := len(o.spare) - 1; last >= 0 {
		next = o.spare[last]
		o.spare = o.spare[:last]
	}
	if !o.closed {
		o.queue = append(o.queue, c)
	}
	o.mu.Unlock()
	o.notify()
	return next
}

// putIDs hands over lists of task ids, of which more than limit bytes may not wait.
func (o *outbox) putIDs(text []byte, limit int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	if len(o.ids)+len(text) > limit {
		return fmt.Errorf("%w: it does not read its task ids, %d bytes of them wait (a child that does not want them sends need_task_ids: false)",
			ErrProtocol, len(o.ids))
	}
	o.ids = append(o.ids, text...)
	o.notify()
	return nil
}

func (o *outbox) notify() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take gives the next bytes to write, in place of a buffer that was written; ids come before a chunk, never behind it.
func (o *outbox) take(written []byte) (text []byte, tuples int, some bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if cap(written) > 0 && cap(written) <= 4*chunkSize && len(o.spare) < 8 {
		o.spare = append(o.spare, written[:0])
	}
	if len(o.ids) > 0 {
		text, o.ids = o.ids, nil
		if last := len(o.spare) - 1; last >= 0 {
			o.ids = o.spare[last]
			o.spare = o.spare[:last]
		}
		return text, 0, true
	}
	if len(o.queue) == 0 {
		return nil, 0, false
	}
	next := o.queue[0]
	o.queue[0] = chunk{}
	if o.queue = o.queue[1:]; len(o.queue) == 0 {
		o.queue = o.queue[:0:0]
	}
	return next.text, next.tuples, true
}

// close drops what waits, and what is yet to come.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.ids, o.queue = nil, nil
	o.notify()
}

// write gives the child its handshake, then whatever there is, and a bolt its heartbeats.
func (c *child) write(stdin io.Writer, hello []byte, exited <-chan struct{}) {
	if _, err := stdin.Write(hello); err != nil {
		c.gone(exited, fmt.Errorf("%w: it closed its stdin before the handshake: %w", ErrProtocol, err))
		return
	}
	tick := time.NewTicker(c.cfg.Settings.Beat)
	defer tick.Stop()
	var written []byte
	for {
		select {
		case <-exited:
			return
		case <-tick.C:
			if !c.decode.bolt || !c.life.beatRoom(c.now()) {
				continue
			}
			if !c.send(stdin, heartbeat(nil, c.out.format), 0, exited) {
				return
			}
		case <-c.out.wake:
			for {
				text, tuples, some := c.out.take(written)
				if !some {
					written = nil
					break
				}
				if !c.send(stdin, text, tuples, exited) {
					return
				}
				written = text
			}
		}
	}
}

// send writes, and wakes an executor that waits for room.
func (c *child) send(stdin io.Writer, text []byte, tuples int, exited <-chan struct{}) bool {
	if _, err := stdin.Write(text); err != nil {
		c.gone(exited, fmt.Errorf("%w: it closed its stdin: %w", ErrProtocol, err))
		return false
	}
	c.out.unsent.Add(-int64(tuples))
	if c.wanting.Swap(false) {
		select {
		case c.events <- c.wake:
		default: // the executor has something to take, and looks for room after it
		}
	}
	return true
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
