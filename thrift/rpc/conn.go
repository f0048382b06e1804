// SPDX-License-Identifier: Apache-2.0

// One connection of the server: frames in, replies out, one call at a time.

package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"go.uber.org/zap"
)

// conn is one peer. Its own goroutine does everything, so an idle peer costs
// that goroutine's stack, this struct and nothing else.
type conn struct {
	server *Server
	raw    net.Conn // the TCP connection
	nc     net.Conn // what calls are spoken on: raw or TLS over it
	peer   PeerInfo
	frames frameReader
	vector net.Buffers // for a reply in two pieces

	older, newer *conn // guarded by conns.mu, as is idle
	idle         bool
}

func newConn(s *Server, raw net.Conn) *conn {
	c := &conn{server: s, raw: raw, nc: raw, peer: PeerInfo{Addr: raw.RemoteAddr(), Local: raw.LocalAddr()}}
	if s.cfg.TLS != nil {
		c.nc = tls.Server(raw, s.cfg.TLS)
	}
	c.frames = frameReader{r: c.nc, limit: s.cfg.MaxRequest, pool: s.buffers, budget: s.budget}
	return c
}

// serve runs the connection until either side closes it.
func (c *conn) serve(base context.Context) {
	s := c.server
	defer s.conns.remove(c)
	if err := c.handshake(base); err != nil {
		s.log.Warn("TLS handshake refused", zap.Stringer("peer", c.peer.Addr), zap.Error(err))
		return
	}
	ctx := context.WithValue(base, peerKey{}, &c.peer)
	for {
		fr, err := c.next(ctx)
		if err != nil {
			c.logEnd(err)
			return
		}
		if !c.call(ctx, &fr) || !s.conns.rest(c) {
			return
		}
	}
}

// handshake speaks TLS where it is asked for.
func (c *conn) handshake(ctx context.Context) error {
	tc, ok := c.nc.(*tls.Conn)
	if !ok {
		return nil
	}
	if err := c.nc.SetDeadline(time.Now().Add(c.server.cfg.FrameTimeout)); err != nil {
		return fmt.Errorf("set deadline: %w", err)
	}
	if err := tc.HandshakeContext(ctx); err != nil {
		return err
	}
	state := tc.ConnectionState()
	c.peer.TLS = &state
	return nil
}

// next waits for a frame. io.EOF stands for every regular end.
func (c *conn) next(ctx context.Context) (frame, error) {
	cfg := &c.server.cfg
	if err := c.nc.SetReadDeadline(time.Now().Add(cfg.ReadIdleTimeout)); err != nil {
		return frame{}, io.EOF // closed by the server meanwhile
	}
	if err := c.frames.wait(); err != nil {
		// Closed by the peer or the server, reset, or idle for too long: all
		// of them end a connection on which nothing was asked.
		return frame{}, io.EOF
	}
	if !c.server.conns.busy(c) {
		return frame{}, io.EOF
	}
	until := time.Now().Add(cfg.FrameTimeout)
	if err := c.nc.SetReadDeadline(until); err != nil {
		return frame{}, fmt.Errorf("set deadline: %w", err)
	}
	return c.frames.read(ctx, until)
}

// logEnd tells why a connection ended, where somebody should know.
func (c *conn) logEnd(err error) {
	var size *FrameSizeError
	switch {
	case errors.Is(err, io.EOF):
	case errors.As(err, &size):
		c.server.log.Warn("frame refused", zap.Stringer("peer", c.peer.Addr), zap.Error(err))
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		c.server.log.Warn("frame given up", zap.Stringer("peer", c.peer.Addr), zap.Error(err))
	default:
		c.server.log.Debug("connection lost", zap.Stringer("peer", c.peer.Addr), zap.Error(err))
	}
}

// reply writes a frame that is complete in framed, or goes on in body.
func (c *conn) reply(framed, body []byte) error {
	if err := c.nc.SetWriteDeadline(time.Now().Add(c.server.cfg.WriteTimeout)); err != nil {
		return fmt.Errorf("set deadline: %w", err)
	}
	seal(framed, len(body))
	if len(body) == 0 {
		_, err := c.nc.Write(framed)
		return err
	}
	if c.nc != c.raw { // TLS cannot gather: one copy is cheaper than one more record
		_, err := c.nc.Write(append(framed, body...))
		return err
	}
	c.vector = append(c.vector[:0], framed, body)
	kept := c.vector // WriteTo eats what it has written
	_, err := c.vector.WriteTo(c.nc)
	c.vector = kept[:0]
	clear(kept)
	return err
}
