// SPDX-License-Identifier: Apache-2.0

// This file is one client's connection: its bounds and its end.

package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/wire"
)

// smallFrame is up to where a frame does not count against the bound on large ones.
const smallFrame = 1 << 20

// client is one connection. A request at a time is under way on it.
type client struct {
	server *Server
	conn   *net.UnixConn
	peer   peer
	ctx    context.Context //nolint:containedctx // of this connection's requests
	stop   context.CancelFunc

	in      *wire.Reader
	out     wire.Builder
	greeted bool
	value   []byte // of the last get
	taken   int64  // of the budget for large frames

	mu       sync.Mutex
	sessions map[uint64]struct{} // opened here; changed by the client's own goroutine only
	busy     time.Time           // since when a request is under way; zero: none
	closed   bool
}

func newClient(ctx context.Context, s *Server, conn *net.UnixConn, p peer) *client {
	c := &client{server: s, conn: conn, peer: p, in: wire.NewReader(conn), sessions: map[uint64]struct{}{}}
	c.ctx, c.stop = context.WithCancel(ctx)
	c.in.Admit = c.admit
	return c
}

// serve answers requests until the connection ends.
func (c *client) serve() {
	defer c.stop()
	defer c.close()
	for {
		err := c.next()
		c.server.pending.give(c.taken)
		c.taken = 0
		if err == nil {
			continue
		}
		if !ordinary(err) {
			c.server.log.Warn("closed the connection of a client of keyed state", zap.Stringer("client", c.peer), zap.Error(err))
		}
		return
	}
}

// ordinary says whether an error is how connections end every day.
func ordinary(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE) ||
		errors.Is(err, errStopping) || errors.Is(err, context.Canceled)
}

// next reads a request and answers it. An error ends the connection.
func (c *client) next() error {
	var deadline time.Time // a client may rest between two requests
	if !c.greeted {
		deadline = time.Now().Add(c.server.limits.hello)
	}
	if err := c.conn.SetReadDeadline(deadline); err != nil {
		return err
	}
	if err := c.in.Wait(); err != nil {
		return c.late(err)
	}
	if !c.begin() {
		return errStopping
	}
	defer c.end()
	if err := c.conn.SetReadDeadline(time.Now().Add(c.server.limits.frame)); err != nil {
		return err
	}
	frame, err := c.in.Next()
	if err != nil {
		err = c.late(err)
		if !ordinary(err) && !errors.Is(err, io.ErrUnexpectedEOF) {
			c.answerError(frame.Request, err)
		}
		return err
	}
	return c.handle(&frame)
}

// late says what a deadline that passed means.
func (c *client) late(err error) error {
	switch {
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return err
	case !c.greeted:
		return fmt.Errorf("no hello within %v: %w", c.server.limits.hello, err)
	}
	return fmt.Errorf("a request came too slowly: %w", err)
}

// admit bounds a frame before its body is read.
func (c *client) admit(length int) error {
	if !c.greeted && length > 64 {
		return malformed("a first message of %d bytes", length)
	}
	if length <= smallFrame {
		return nil
	}
	if !c.server.pending.take(int64(length)) {
		return fmt.Errorf("a request of %d bytes beside those of other clients, together at most %d: %w", length, c.server.cfg.MaxPending, stateapi.ErrNotReady)
	}
	c.taken = int64(length)
	return c.conn.SetReadDeadline(time.Now().Add(c.timeFor(length)))
}

func (c *client) timeFor(length int) time.Duration {
	return c.server.limits.frame + time.Duration(length>>20)*time.Second
}

// send writes the answer that out holds.
func (c *client) send() error {
	frame, err := c.out.Frame()
	if err != nil {
		return err
	}
	if err := c.conn.SetWriteDeadline(time.Now().Add(c.timeFor(len(frame)))); err != nil {
		return err
	}
	if _, err = c.conn.Write(frame); errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("an answer of %d bytes was not taken: %w", len(frame), err)
	}
	return err
}

// answerError tells an error; that this may fail is of no interest any more.
func (c *client) answerError(request uint32, err error) {
	c.out.Begin(wire.Error, request)
	wire.AppendError(&c.out, err)
	_ = c.send()
}

// refuse says to a connection that never becomes a client why.
func (c *client) refuse(err error) {
	c.out.Begin(wire.Error, 0)
	wire.AppendError(&c.out, err)
	if frame, err := c.out.Frame(); err == nil && c.conn.SetWriteDeadline(time.Now().Add(time.Millisecond)) == nil {
		_, _ = c.conn.Write(frame)
	}
}

// begin notes that a request is under way, unless the connection is being closed.
func (c *client) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.busy = time.Now()
	return true
}

func (c *client) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = time.Time{}
}

// closeIdle closes the connection if no request is under way, and says whether it is closed.
func (c *client) closeIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy.IsZero() && !c.closed {
		c.closed = true
		_ = c.conn.Close() // nothing is under way
	}
	return c.closed
}

func (c *client) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop()
	if !c.closed {
		c.closed = true
		_ = c.conn.Close() // the other end sees it
	}
}

// look ends a request that takes long if its client has gone.
func (c *client) look() {
	c.mu.Lock()
	long := !c.closed && !c.busy.IsZero() && time.Since(c.busy) > watchEvery
	c.mu.Unlock()
	if long && hungUp(c.conn) {
		c.stop()
	}
}

func hungUp(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(poll, 0)
		gone = err == nil && n > 0 && poll[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	})
	return gone || err != nil
}
