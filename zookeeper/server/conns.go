// SPDX-License-Identifier: Apache-2.0

// The set of open connections, and a budget for memory.

package server

import (
	"container/list"
	"sync"

	"github.com/gust-stream/gust/internal/openfiles"
)

// conns holds open connections; those without a session are also in order of
// arrival. Its owner guards it.
type conns struct {
	limit   int
	files   *openfiles.Share        // one taken for each connection
	open    map[*conn]*list.Element // nil element: has a session
	waiting *list.List
	closed  bool
}

func newConns(limit int, files *openfiles.Share) conns {
	return conns{limit: limit, files: files, open: map[*conn]*list.Element{}, waiting: list.New()}
}

func (cs *conns) len() int { return len(cs.open) }

// room takes a file for one more connection, if need be from one that has not said who it is.
func (cs *conns) room() bool {
	if cs.len() < cs.limit && cs.files.Take() {
		return true
	}
	return cs.evict() && cs.files.Take()
}

func (cs *conns) add(c *conn) { cs.open[c] = cs.waiting.PushBack(c) }

func (cs *conns) greeted(c *conn) {
	if el := cs.open[c]; el != nil {
		cs.waiting.Remove(el)
		cs.open[c] = nil
	}
}

func (cs *conns) remove(c *conn) {
	cs.greeted(c)
	if _, ok := cs.open[c]; ok {
		delete(cs.open, c)
		cs.files.Give()
	}
}

// evict closes the connection that has waited longest without starting a session.
func (cs *conns) evict() bool {
	el := cs.waiting.Front()
	if el == nil {
		return false
	}
	c := el.Value.(*conn) //nolint:errcheck,forcetypeassert // only add puts values in
	cs.remove(c)
	c.close()
	return true
}

func (cs *conns) all() []*conn {
	out := make([]*conn, 0, len(cs.open))
	for c := range cs.open {
		out = append(out, c)
	}
	return out
}

// budget is memory that several connections share.
type budget struct {
	mu   sync.Mutex // guards the fields below
	free int64
	more chan struct{} // closed and replaced when free grows
}

func newBudget(n int64) *budget { return &budget{free: n, more: make(chan struct{})} }

// take waits for n bytes; false means that done came first.
func (b *budget) take(n int, done <-chan struct{}) bool {
	for {
		b.mu.Lock()
		if b.free >= int64(n) {
			b.free -= int64(n)
			b.mu.Unlock()
			return true
		}
		more := b.more
		b.mu.Unlock()
		select {
		case <-more:
		case <-done:
			return false
		}
	}
}

func (b *budget) give(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += int64(n)
	close(b.more)
	b.more = make(chan struct{})
}
