// SPDX-License-Identifier: Apache-2.0

package link

// This file connects a Client, and connects it again.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/gust-stream/gust/messaging/frame"
	"github.com/gust-stream/gust/messaging/kryo"
	"github.com/gust-stream/gust/messaging/native"
)

// What a server says is short: the load of all tasks of a worker.
const maxFromServer = 1 << 20

// Run connects, sends what comes, and connects again where a connection ends, until ctx does; then it sends what is waiting. It
// returns nil.
func (c *Client) Run(ctx context.Context) error {
	wait := c.cfg.MinWait
	level := zap.WarnLevel
	for ctx.Err() == nil {
		if c.attempt(ctx, level) {
			wait = c.cfg.MinWait
		}
		// Said once until there was a connection again.
		level = zap.DebugLevel
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
		wait = min(2*wait, c.cfg.MaxWait)
	}
	c.mu.Lock()
	c.lost.Add(int64(len(c.queue)))
	c.queue, c.spare = nil, nil
	c.mu.Unlock()
	return nil
}

// attempt is one connection from its beginning to its end, if there is one.
func (c *Client) attempt(ctx context.Context, level zapcore.Level) (connected bool) {
	conn, err := c.cfg.Dial(ctx, c.cfg.Address)
	if err == nil {
		connected, level = true, zap.WarnLevel
		err = c.session(ctx, conn)
	}
	if ctx.Err() == nil {
		c.log.Log(level, "no connection to a worker", zap.Error(err))
	}
	return connected
}

// session is one connection.
type session struct {
	*Client
	conn net.Conn
	in   *frame.Input
	// version comes once: what the server's greeting asks for.
	version chan int
	// ended is closed after err was set by the reader.
	ended chan struct{}
	err   error

	out *outlet
}

func (c *Client) session(ctx context.Context, conn net.Conn) error {
	s := &session{
		Client: c, conn: conn, version: make(chan int, 1), ended: make(chan struct{}),
		in: frame.NewInput(conn, frame.NewBudget(maxFromServer), writeLimit), out: newOutlet(conn),
	}
	go s.read()
	err := s.speak(ctx)
	c.current.Store(nil)
	s.out.close()
	c.end()
	if err == nil {
		err = s.leave()
	}
	_ = conn.Close()
	<-s.ended
	s.in.Close()
	if err == nil || errors.Is(err, net.ErrClosed) {
		err = s.err
	}
	return err
}

// speak writes until ctx ends, which gives nil, or something fails.
func (s *session) speak(ctx context.Context) error {
	version, err := s.hear(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
	s.out.native = version > 0 && !s.cfg.StormOnly
	if s.out.native {
		if err := s.out.write(frame.Append(nil, frame.Upgrade, proposal(version))); err != nil {
			return err
		}
	}
	s.begin(s.out.native)
	s.current.Store(s)
	s.log.Info("connected to a worker", zap.Bool("native", s.out.native))
	for {
		if err := s.send(); err != nil {
			return err
		}
		select {
		case <-s.wake:
		case <-s.ended:
			return s.err
		case <-ctx.Done():
			return s.send()
		}
	}
}

// hear waits for the server's first word.
func (s *session) hear(ctx context.Context) (version int, err error) {
	timer := time.NewTimer(s.cfg.Greet)
	defer timer.Stop()
	select {
	case v := <-s.version:
		return v, nil
	case <-timer.C:
		return 0, nil
	case <-s.ended:
		return 0, s.err
	case <-ctx.Done():
		return 0, nil
	}
}

// leave ends a connection in order: a connection that is closed with something unread would lose what is under way to the server.
func (s *session) leave() error {
	if tcp, ok := s.conn.(interface{ CloseWrite() error }); ok {
		if err := tcp.CloseWrite(); err != nil {
			return fmt.Errorf("end a connection: %w", err)
		}
	}
	timer := time.NewTimer(s.cfg.Flush)
	defer timer.Stop()
	select {
	case <-s.ended:
	case <-timer.C:
	}
	return nil
}

// read takes what the server says until the connection ends.
func (s *session) read() {
	defer close(s.ended)
	s.err = s.readStorm()
	if errors.Is(s.err, io.EOF) {
		s.err = fmt.Errorf("the worker closed the connection: %w", s.err)
	}
}

func (s *session) readStorm() error {
	r := &frame.Reader{In: s.in, Max: maxFromServer, Small: maxFromServer}
	var d kryo.Decoder
	first := true
	for {
		f, err := r.Next()
		if err != nil {
			return err
		}
		d.Reset(f.Payload)
		switch f.Kind {
		case frame.Status:
			status, err := d.Status()
			if err != nil {
				return err
			}
			s.status(status)
			if first {
				first = false
				s.version <- greeted(status.Worker)
			}
		case frame.Load:
			load, err := d.Load()
			if err != nil {
				return err
			}
			s.load.Store(&load)
		case frame.Upgrade:
			if err := checkProposal(f.Payload); err != nil {
				return err
			}
			return s.readNative(&native.Reader{In: r.Rest(), Max: maxFromServer})
		case frame.Control:
			if f.Code == frame.Failure {
				s.log.Info("a worker answers with a failure")
			}
		case frame.Task, frame.SASL:
			return fmt.Errorf("%w: code %d from a server", frame.ErrMalformed, f.Code)
		}
	}
}

// status is back-pressure in Storm's words: all that a Java worker has, and the first of a Go worker, until it gives credit.
func (s *session) status(status kryo.Status) {
	s.mu.Lock()
	unblocked := false
	for _, task := range status.Blocked {
		s.set(task, true)
	}
	for _, task := range status.Free {
		unblocked = s.set(task, s.spent(task)) || unblocked
	}
	s.mu.Unlock()
	if unblocked {
		s.cfg.Notify()
	}
}

// spent says whether a task has no credit left. The caller holds mu.
func (s *session) spent(task int32) bool {
	return uint(task) < uint(len(s.flow)) && s.flow[task].sent >= s.flow[task].allowed //nolint:gosec // a negative one is too large then
}

// set changes whether a task is blocked, and gives whether it was before. The caller holds mu.
func (s *session) set(task int32, blocked bool) bool {
	return uint(task) < uint(len(s.blocked)) && s.blocked[task].Swap(blocked) //nolint:gosec // a negative one is too large then
}

func (s *session) readNative(r *native.Reader) error {
	for {
		kind, payload, err := r.Next()
		if err != nil {
			return err
		}
		switch kind {
		case native.Credit:
			unblocked := false
			s.mu.Lock()
			err = native.ReadCredit(payload, func(task int32, allowed uint64) {
				unblocked = s.allow(task, allowed) || unblocked
			})
			s.mu.Unlock()
			if unblocked {
				s.cfg.Notify()
			}
		case native.Load:
			var load map[int32]float64
			if load, err = native.ReadLoad(payload); err == nil {
				s.load.Store(&load)
			}
		case native.Tuples, native.Progress:
			err = fmt.Errorf("%w: kind %d from a server", frame.ErrMalformed, kind)
		}
		if err != nil {
			return err
		}
	}
}
