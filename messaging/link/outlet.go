// SPDX-License-Identifier: Apache-2.0

package link

// This file holds the writing half of a client's connection. A goroutine writes what waits; where little waits and nothing is being
// written, the sender does it by itself, which saves the time of waking a goroutine.

import (
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/gust-stream/gust/messaging/frame"
	"github.com/gust-stream/gust/messaging/native"
	"github.com/gust-stream/gust/tuple"
)

const (
	// A write that takes longer is to a host that is gone.
	writeLimit = time.Minute
	// writeSize is how much is written at once, frameSize after how much a frame of the native protocol ends.
	writeSize = 128 << 10
	frameSize = native.MaxTuples // a tuple takes a byte at least
	// maxBuffer is the largest buffer that is kept.
	maxBuffer = 1 << 20
	// atOnce is how many tuples a sender writes by itself at most.
	atOnce = 32
)

// outlet encodes and writes.
type outlet struct {
	conn net.Conn
	raw  syscall.RawConn // nil if senders cannot write by themselves

	// mu is held by whoever writes, and guards what follows. Client.mu may be taken under it.
	mu      sync.Mutex
	closed  bool
	native  bool // set before anybody else writes
	writer  native.Writer
	buf     []byte
	rest    []byte // what the connection did not take of a sender
	refused []refusal
}

// refusal is a tuple that could not be encoded.
type refusal struct {
	m   tuple.Message
	err error
}

func newOutlet(conn net.Conn) *outlet {
	o := &outlet{conn: conn}
	if c, ok := conn.(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			o.raw = raw
		}
	}
	return o
}

// close keeps senders from writing any more.
func (o *outlet) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
}

// write waits until all is written.
func (o *outlet) write(b []byte) error {
	if err := o.conn.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return fmt.Errorf("write to a worker: %w", err)
	}
	if _, err := o.conn.Write(b); err != nil {
		return fmt.Errorf("write to a worker: %w", err)
	}
	// A deadline that has passed would stop senders.
	return o.conn.SetWriteDeadline(time.Time{})
}

// tryWrite writes what the connection takes without waiting, and gives how much.
func (o *outlet) tryWrite(b []byte) int {
	written := 0
	// An error comes back when the rest is written.
	_ = o.raw.Write(func(fd uintptr) bool {
		n, err := syscall.Write(int(fd), b)
		if err == nil {
			written = n
		}
		return true
	})
	return written
}

// sendAtOnce is a sender's try to write what waits. It is false if the goroutine has to.
func (s *session) sendAtOnce() bool {
	o := s.out
	if o.raw == nil || !o.mu.TryLock() {
		return false
	}
	defer o.mu.Unlock()
	if o.closed || len(o.rest) > 0 {
		return false
	}
	batch := s.take()
	defer s.put(batch)
	for done := 0; done < len(batch); {
		done += o.encode(batch[done:])
		o.rest = append(o.rest, o.buf...)
	}
	s.sent.Add(int64(len(batch)))
	o.rest = append(o.rest[:0], o.rest[o.tryWrite(o.rest):]...)
	o.trim()
	return len(o.rest) == 0 && len(o.refused) == 0
}

// send writes what waits.
func (s *session) send() error {
	err := s.sendAll()
	s.out.mu.Lock()
	refused := s.out.refused
	s.out.refused = nil
	s.out.mu.Unlock()
	for _, r := range refused {
		s.lost.Add(1)
		s.sent.Add(-1)
		s.cfg.Refused(r.m, r.err)
	}
	return err
}

func (s *session) sendAll() error {
	o := s.out
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.rest) > 0 {
		err := o.write(o.rest)
		if o.rest = o.rest[:0]; err != nil {
			return err
		}
	}
	batch := s.take()
	defer s.put(batch)
	var err error
	for done := 0; done < len(batch) && err == nil; {
		n := o.encode(batch[done:])
		done += n
		if len(o.buf) == 0 {
			s.sent.Add(int64(n)) // all of them were refused
			continue
		}
		if err = o.write(o.buf); err == nil {
			s.sent.Add(int64(n))
		} else {
			s.lost.Add(int64(n + len(batch) - done))
		}
	}
	o.trim()
	return err
}

// trim gives up buffers that a large tuple needed.
func (o *outlet) trim() {
	if cap(o.buf) > maxBuffer {
		o.buf = nil
	}
	if len(o.rest) == 0 && cap(o.rest) > maxBuffer {
		o.rest = nil
	}
}

// encode fills the buffer and says of how many tuples.
func (o *outlet) encode(batch []tuple.Message) int {
	o.buf = o.buf[:0]
	if o.native {
		return o.encodeNative(batch)
	}
	return o.encodeStorm(batch)
}

func (o *outlet) encodeStorm(batch []tuple.Message) int {
	n := 0
	for n < len(batch) && len(o.buf) < writeSize {
		m := batch[n]
		n++
		var err error
		if o.buf, err = frame.AppendTuple(o.buf, m.Task, m.Tuple); err != nil {
			o.refused = append(o.refused, refusal{m, err})
		}
	}
	if len(o.buf) > 0 {
		o.buf = frame.AppendControl(o.buf, frame.EndOfBatch)
	}
	return n
}

func (o *outlet) encodeNative(batch []tuple.Message) int {
	n := 0
	for n < len(batch) && len(o.buf) < writeSize {
		var start int
		o.buf, start = native.Begin(o.buf, native.Tuples)
		empty := len(o.buf)
		o.writer.Reset()
		for n < len(batch) && len(o.buf)-start < frameSize {
			m := batch[n]
			n++
			var err error
			if o.buf, err = o.writer.Append(o.buf, m.Task, m.Tuple); err != nil {
				o.refused = append(o.refused, refusal{m, err})
			}
		}
		if len(o.buf) == empty {
			o.buf = o.buf[:start]
			continue
		}
		native.End(o.buf, start)
	}
	return n
}
