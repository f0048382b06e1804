// SPDX-License-Identifier: Apache-2.0

// The open connections of a server, the idle ones in order of age.

package rpc

import (
	"sync"

	"github.com/gust-stream/gust/internal/openfiles"
)

// conns knows every open connection. Idle ones stand in a ring, the longest
// idle first, so that a new peer can take its place at the bound and a
// stopping server can close them without touching running calls.
type conns struct {
	limit int
	files *openfiles.Share // one taken for each connection

	mu       sync.Mutex
	all      map[*conn]struct{} // guarded by mu
	idle     ring               // guarded by mu
	draining bool               // guarded by mu
}

// ring links idle connections through their own fields; guarded by conns.mu.
type ring struct {
	first, last *conn
}

func newConns(limit int, files *openfiles.Share) *conns {
	return &conns{limit: limit, files: files, all: make(map[*conn]struct{})}
}

// add takes in a new connection, idle. At the bound it closes and returns the
// one that was idle longest, or refuses.
func (s *conns) add(c *conn) (evicted *conn, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return nil, false
	}
	if len(s.all) >= s.limit || !s.files.Take() {
		evicted = s.idle.first
		if evicted == nil {
			return nil, false
		}
		s.end(evicted) // the new one has its file now
	}
	s.all[c] = struct{}{}
	s.idle.push(c)
	return evicted, true
}

// busy marks a connection as one that has begun a frame. False means that it
// has been closed meanwhile.
func (s *conns) busy(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.all[c]; !ok {
		return false
	}
	s.idle.remove(c)
	return true
}

// rest marks a connection as idle again. False means that it should close.
func (s *conns) rest(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.all[c]; !ok || s.draining {
		return false
	}
	s.idle.push(c)
	return true
}

// remove forgets a connection and closes it.
func (s *conns) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(c)
}

// drain closes the idle connections and lets none become idle again.
func (s *conns) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	for s.idle.first != nil {
		s.drop(s.idle.first)
	}
}

// closeAll closes every connection, busy or not, and returns how many there were.
func (s *conns) closeAll() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	n := len(s.all)
	for c := range s.all {
		s.drop(c)
	}
	return n
}

func (s *conns) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// drop ends a connection that has not ended yet; it needs mu.
func (s *conns) drop(c *conn) {
	if _, ok := s.all[c]; ok {
		s.end(c)
		s.files.Give()
	}
}

// end needs mu. It closes the TCP connection below TLS: a farewell could
// block on a peer that reads nothing.
func (s *conns) end(c *conn) {
	delete(s.all, c)
	s.idle.remove(c)
	_ = c.raw.Close() // nothing is left to be done about it
}

// push appends c; it must not be in the ring.
func (r *ring) push(c *conn) {
	c.older, c.newer, c.idle = r.last, nil, true
	if r.last != nil {
		r.last.newer = c
	} else {
		r.first = c
	}
	r.last = c
}

// remove takes c out if it is in.
func (r *ring) remove(c *conn) {
	if !c.idle {
		return
	}
	if c.older != nil {
		c.older.newer = c.newer
	} else {
		r.first = c.newer
	}
	if c.newer != nil {
		c.newer.older = c.older
	} else {
		r.last = c.older
	}
	c.older, c.newer, c.idle = nil, nil, false
}
