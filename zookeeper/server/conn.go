// SPDX-License-Identifier: Apache-2.0

// One connection: a goroutine that reads requests, and one that writes answers while
// there are any.

package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/zookeeper/tree"
)

const (
	// maxHello is the largest first frame; a connect request has 45 bytes.
	maxHello = 1 << 10
	// smallFrame and below are read without asking the shared budget.
	smallFrame = 64 << 10
	// inFlight is how many requests of one connection may wait for their answer.
	inFlight = 64
	// maxPending and maxPendingAll bound the answers and events that wait for slow
	// readers, for one connection and for all. Past it the connection is closed.
	maxPending    = 32 << 20
	maxPendingAll = 256 << 20
	// keepBuffer is the most that an idle connection keeps for its next answer.
	keepBuffer = 512
	// frameTimeout is how long a frame may take to arrive, and a write to be taken.
	frameTimeout = 30 * time.Second
)

// conn is one client connection.
type conn struct {
	s    *Server
	nc   net.Conn
	id   uint64
	slot chan struct{} // one a request that is not answered yet
	done chan struct{} // closed with the connection

	mu      sync.Mutex // guards the fields below
	pending []byte
	answers int // in pending
	writing bool
	last    bool // close when pending is written
	closed  bool

	// The engine's.
	client  *tree.Client
	timeout time.Duration
}

func newConn(s *Server, nc net.Conn, id uint64) *conn {
	return &conn{s: s, nc: nc, id: id, slot: make(chan struct{}, inFlight), done: make(chan struct{})}
}

// close may be called from anywhere, any number of times.
func (c *conn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeLocked()
}

func (c *conn) closeLocked() {
	if c.closed {
		return
	}
	c.closed = true
	close(c.done)
	_ = c.nc.Close() // whatever it says, the socket is gone
	c.s.outBytes.Add(-int64(len(c.pending)))
	c.pending = nil
}

func (c *conn) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// read hands requests to the engine until the connection ends.
func (c *conn) read() {
	defer c.close()
	if err := c.readAll(); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		level := zap.WarnLevel // what the peer sent makes no sense
		if _, lost := errors.AsType[net.Error](err); lost {
			level = zap.DebugLevel // it went away, as peers do
		}
		c.s.log.Log(level, "connection ends", zap.Stringer("peer", c.nc.RemoteAddr()), zap.Error(err))
	}
	select {
	case c.s.reqs <- request{c: c, kind: kindGone}:
	case <-c.s.stopped:
	}
}

func (c *conn) readAll() error {
	kind := kindHello
	var head [4]byte
	for {
		deadline := time.Time{}
		if kind == kindHello {
			deadline = time.Now().Add(c.s.cfg.HandshakeTimeout)
		}
		if err := c.nc.SetReadDeadline(deadline); err != nil {
			return err
		}
		if _, err := io.ReadFull(c.nc, head[:]); err != nil {
			return err
		}
		if kind == kindHello && c.word(string(head[:])) {
			return nil
		}
		frame, err := c.readBody(int32(binary.BigEndian.Uint32(head[:])), kind)
		if err != nil {
			return err
		}
		if !c.deliver(request{c: c, kind: kind, frame: frame}) {
			c.s.handled(frame)
			return nil
		}
		kind = kindFrame
	}
}

// deliver hands a request over once the connection has a free slot for it.
func (c *conn) deliver(r request) bool {
	select {
	case c.slot <- struct{}{}:
	case <-c.done:
		return false
	}
	select {
	case c.s.reqs <- r:
		return true
	case <-c.done:
	case <-c.s.stopped:
	}
	return false
}

// handled gives back what readBody took for a frame.
func (s *Server) handled(frame []byte) {
	if len(frame) > smallFrame {
		s.large.give(len(frame))
	}
}

// readBody reads a frame of n bytes. Memory follows the bytes that arrive.
func (c *conn) readBody(n int32, kind requestKind) ([]byte, error) {
	limit := c.s.cfg.MaxFrame
	if kind == kindHello {
		limit = min(limit, maxHello)
	}
	if n < 0 || int(n) > limit {
		return nil, fmt.Errorf("frame of %d bytes announced, at most %d are taken", n, limit)
	}
	if kind != kindHello {
		if err := c.nc.SetReadDeadline(time.Now().Add(frameTimeout)); err != nil {
			return nil, err
		}
	}
	size := int(n)
	if size <= smallFrame {
		b := make([]byte, size)
		_, err := io.ReadFull(c.nc, b)
		return b, err
	}
	if !c.s.large.take(size, c.done) {
		return nil, net.ErrClosed
	}
	b := make([]byte, 0, smallFrame)
	for len(b) < size {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		m, err := io.ReadFull(c.nc, b[len(b):min(cap(b), size)])
		b = b[:len(b)+m]
		if err != nil {
			c.s.large.give(size)
			return nil, err
		}
	}
	return b, nil
}

// send queues bytes for the client; answers of them are answers. With last the
// connection ends when they are written.
func (c *conn) send(b []byte, answers int, last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	total := c.s.outBytes.Add(int64(len(b)))
	if len(c.pending) > 0 && (len(c.pending)+len(b) > maxPending || total > maxPendingAll) {
		c.s.outBytes.Add(-int64(len(b)))
		c.s.log.Warn("connection reads too slowly", zap.Stringer("peer", c.nc.RemoteAddr()), zap.Int("bytes", len(c.pending)))
		c.closeLocked()
		return
	}
	c.pending = append(c.pending, b...)
	c.answers += answers
	c.last = c.last || last
	if !c.writing {
		c.writing = true
		c.s.connWG.Add(1)
		go c.flush()
	}
}

// flush writes what is pending until nothing is.
func (c *conn) flush() {
	defer c.s.connWG.Done()
	var spare []byte
	for {
		c.mu.Lock()
		if len(c.pending) == 0 || c.closed {
			c.writing = false
			if c.last {
				c.closeLocked()
			}
			if cap(c.pending) > keepBuffer {
				c.pending = nil
			}
			c.mu.Unlock()
			return
		}
		b, answers := c.pending, c.answers
		c.pending, c.answers = spare[:0], 0
		c.mu.Unlock()

		err := c.nc.SetWriteDeadline(time.Now().Add(frameTimeout))
		if err == nil {
			_, err = c.nc.Write(b)
		}
		c.s.outBytes.Add(-int64(len(b)))
		for range answers {
			<-c.slot
		}
		if err != nil {
			c.close()
		}
		spare = b
		if cap(spare) > smallFrame {
			spare = nil
		}
	}
}
