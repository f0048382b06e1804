// SPDX-License-Identifier: Apache-2.0

// The set of open connections, and a budget for memory.

package server

import (
	"container/list"
	"sync"
)

// conns holds open connections; those without a session are also in order of
// arrival. Its owner guards it.
type conns struct {
	open    map[*conn]*list.Element // nil element: has a session
	waiting *list.List
	closed  bool
}

func newConns() conns { return conns{open: map[*conn]*list.Element{}, waiting: list.New()} }

func (cs *conns) len() int { return len(cs.open) }

func (cs *conns) add(c *conn) { cs.open[c] = cs.waiting.PushBack(c) }

func (cs *conns) greeted(c *conn) {
	if el := cs.open[c]; el != nil {
		cs.waiting.Remove(el)
		cs.open[c] = nil
	}
}

func (cs *conns) remove(c *conn) {
	cs.greeted(c)
	delete(cs.open, c)
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
