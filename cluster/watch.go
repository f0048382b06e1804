// SPDX-License-Identifier: Apache-2.0

// This file turns ZooKeeper's one-shot watches into a loop that outlives sessions.

package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
)

// watchPause is how long a watch that could not be set waits, when no new session wakes it before.
const watchPause = time.Second

// watchChildren calls changed at once and after each change of a node's children, until ctx or the state ends.
func (s *State) watchChildren(ctx context.Context, node string, changed func()) error {
	return s.keepWatch(ctx, func() (events <-chan zk.Event, err error) {
		_, _, events, err = s.conn.ChildrenW(s.root + node)
		return events, err
	}, changed)
}

// watchData calls changed with a node's data, nil if it is absent, at once and after each change, until ctx or the state ends.
func (s *State) watchData(ctx context.Context, node string, changed func([]byte)) error {
	var data []byte
	return s.keepWatch(ctx, func() (<-chan zk.Event, error) {
		var events <-chan zk.Event
		var err error
		data, _, events, err = s.conn.GetW(s.root + node)
		if errors.Is(err, zk.ErrNoNode) {
			var exists bool
			if exists, _, events, err = s.conn.ExistsW(s.root + node); exists && err == nil {
				err = errAppeared
			}
			data = nil
		} else if data == nil {
			data = []byte{}
		}
		return events, err
	}, func() { changed(data) })
}

// errAppeared tells that a node came into being between two looks; the next look finds it.
var errAppeared = errors.New("the node has just appeared")

// keepWatch sets a watch by look and calls changed, again and again. look runs in another goroutine, but never beside changed.
func (s *State) keepWatch(ctx context.Context, look func() (<-chan zk.Event, error), changed func()) error {
	for {
		var events <-chan zk.Event
		err := s.call(ctx, func() (err error) {
			events, err = look()
			return err
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrClosed):
			return err
		case errors.Is(err, errAppeared):
			continue
		case err != nil:
			if err := s.waitSession(ctx); err != nil {
				return err
			}
			continue
		}
		changed()
		select {
		case <-events: // a change, or the session broke: either way look again
		case <-ctx.Done():
			return ctx.Err()
		case <-s.done:
			return ErrClosed
		}
	}
}

// waitSession waits until the client has a session again.
func (s *State) waitSession(ctx context.Context) error {
	next := make(chan struct{}, 1)
	s.mu.Lock()
	s.sessions[next] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.sessions, next)
		s.mu.Unlock()
	}()
	pause := time.NewTimer(watchPause) // the call may have failed for another reason than a lost session
	defer pause.Stop()
	select {
	case <-next:
		return nil
	case <-pause.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return ErrClosed
	}
}
