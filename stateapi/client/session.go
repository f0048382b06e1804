// SPDX-License-Identifier: Apache-2.0

package client

// This file is the way to the server and back to it after it was away.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/internal/clock"
	"github.com/gust-stream/gust/stateapi"
)

const (
	firstPause   = 5 * time.Millisecond
	longestPause = 500 * time.Millisecond
	// quiet is how long the server may be away before that is worth a line.
	quiet = 100 * time.Millisecond
)

// session is one opening of a state, over as many connections as it takes.
type session struct {
	cfg        Config
	definition stateapi.Definition

	id     uint64
	conn   *conn  // nil: not connected
	table  *table // nil: reads go through the server
	opened opened
}

func newSession(cfg Config, d stateapi.Definition) *session {
	return &session{cfg: cfg, definition: d}
}

func (s *session) String() string {
	d := &s.definition
	return fmt.Sprintf("state of task %d of %s in topology %s of %s", d.Task, d.Component, d.Topology, d.Owner)
}

// open opens the state for the first time.
func (s *session) open(ctx context.Context) error {
	err := s.do(ctx, func(*conn) error { return nil })
	if err != nil || s.table == nil {
		return err
	}
	return s.settle(ctx)
}

// settle waits until the table has all that was committed before.
func (s *session) settle(ctx context.Context) error {
	commit, deadline := s.opened.Commit, time.Now().Add(s.cfg.Wait)
	for s.table != nil {
		if s.table.Retired() {
			if err := s.again(); err != nil {
				return err
			}
			continue
		}
		if s.table.Applied() >= commit {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: commit %d is not in the table after %v: %w", s, commit, s.cfg.Wait, ErrAway)
		}
		if err := clock.Wait(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// again opens the session anew, after its arena was retired.
func (s *session) again() error {
	s.drop()
	return s.do(context.Background(), func(*conn) error { return nil })
}

// do has the server do something, and waits while it is away. What is asked for may be done twice.
func (s *session) do(ctx context.Context, ask func(*conn) error) error {
	start, wait, told := time.Now(), firstPause, false
	deadline := start.Add(s.cfg.Wait)
	for {
		err := s.attempt(deadline, ask)
		if err == nil {
			if told {
				s.cfg.Log.Warn("state server is back", zap.Stringer("state", s), zap.Duration("after", time.Since(start)))
			}
			return nil
		}
		if !away(err) {
			return fmt.Errorf("%s: %w", s, err)
		}
		s.drop()
		left := time.Until(deadline)
		if left <= 0 {
			return fmt.Errorf("%s: no answer at %s within %v: %w: %w", s, s.cfg.Socket, s.cfg.Wait, ErrAway, err)
		}
		if !told && time.Since(start) > quiet {
			s.cfg.Log.Warn("waiting for the state server", zap.Stringer("state", s), zap.String("socket", s.cfg.Socket), zap.Error(err))
			told = true
		}
		if err := clock.Wait(ctx, min(wait, left)); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		wait = min(2*wait, longestPause)
	}
}

func (s *session) attempt(deadline time.Time, ask func(*conn) error) error {
	if s.conn == nil {
		if err := s.connect(deadline); err != nil {
			return err
		}
	}
	if err := s.conn.limit(deadline); err != nil {
		return err
	}
	return ask(s.conn)
}

// connect opens the state, the first time or again, and maps the arena.
func (s *session) connect(deadline time.Time) error {
	c, err := dial(s.cfg.Socket, deadline)
	if err != nil {
		return err
	}
	o, err := c.open(&s.definition, s.id)
	if err != nil {
		return errors.Join(err, c.close())
	}
	s.conn, s.id, s.opened = c, o.Session, o
	if s.cfg.Remote {
		return nil
	}
	if s.table, err = mapTable(&o); err != nil {
		if away(err) {
			return err // the server is being started again
		}
		s.cfg.Log.Warn("reads go through the state server", zap.Stringer("state", s), zap.Error(err))
		s.table, s.cfg.Remote = nil, true
	}
	return nil
}

// drop gives up the connection and the mapping.
func (s *session) drop() {
	if s.table != nil {
		s.table.close()
		s.table = nil
	}
	if s.conn != nil {
		_ = s.conn.close() // it was of no use
		s.conn = nil
	}
}

func (s *session) close() error {
	var err error
	if s.conn != nil {
		err = s.conn.close()
		s.conn = nil
	}
	s.drop()
	return err
}
