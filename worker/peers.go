// SPDX-License-Identifier: Apache-2.0

package worker

// This file keeps the links to other workers as assignments come and go, and finds the one of each task without a lock.

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/tuple"
)

// peer is a link to another worker; *link.Client is one.
type peer interface {
	Run(ctx context.Context) error
	Send(batch []tuple.Message)
	Blocked(task int32) bool
	Load(task int32) (float64, bool)
	Ready() bool
}

// peers are the links to all other workers. It is a transfer.Remote.
type peers struct {
	dial      func(addr string) peer // opens nothing
	log       *zap.Logger
	connected chan struct{}
	table     atomic.Pointer[peerTable]
	scratch   sync.Pool // of *[][]tuple.Message, a row for each link

	mu     sync.Mutex
	ctx    context.Context //nolint:containedctx // of run, nil before it; guarded by mu, as all that follows
	byAddr map[string]*runningPeer
	was    bool // connected is closed
	all    sync.WaitGroup
}

type runningPeer struct {
	peer
	stop context.CancelFunc // nil before run
}

// peerTable finds links by task. It is not changed.
type peerTable struct {
	of    []int32 // by task: place in links, -1 where there is none
	links []peer
}

func (t *peerTable) find(task int32) int32 {
	if task < 0 || int(task) >= len(t.of) {
		return -1
	}
	return t.of[task]
}

func newPeers(dial func(addr string) peer, log *zap.Logger) *peers {
	p := &peers{dial: dial, log: log, connected: make(chan struct{}), byAddr: map[string]*runningPeer{}}
	p.table.Store(&peerTable{})
	return p
}

// set says where the tasks of other workers are. Links that stay are left as they are.
func (p *peers) set(tasks map[int32]Peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := &peerTable{}
	index := map[string]int32{}
	for _, task := range slices.Sorted(maps.Keys(tasks)) {
		addr := tasks[task].Addr
		link := p.byAddr[addr]
		if link == nil {
			link = &runningPeer{peer: p.dial(addr)}
			p.byAddr[addr] = link
			p.start(link, addr)
		}
		if _, ok := index[addr]; !ok {
			index[addr] = int32(len(next.links)) //nolint:gosec // fewer than tasks
			next.links = append(next.links, link.peer)
		}
		for len(next.of) <= int(task) {
			next.of = append(next.of, -1)
		}
		next.of[task] = index[addr]
	}
	p.table.Store(next)
	for addr, link := range p.byAddr {
		if _, used := index[addr]; used {
			continue
		}
		delete(p.byAddr, addr)
		if link.stop != nil {
			link.stop()
		}
	}
	p.look()
}

// start runs a link if links run already. Callers hold mu.
func (p *peers) start(link *runningPeer, addr string) {
	if p.ctx == nil || p.ctx.Err() != nil {
		return
	}
	ctx, stop := context.WithCancel(p.ctx)
	link.stop = stop
	p.all.Go(func() {
		defer stop()
		if err := link.Run(ctx); err != nil && ctx.Err() == nil {
			p.log.Error("link to another worker ended", zap.String("peer", addr), zap.Error(err))
		}
	})
}

// run runs the links until ctx ends.
func (p *peers) run(ctx context.Context) {
	p.mu.Lock()
	p.ctx = ctx
	for addr, link := range p.byAddr {
		p.start(link, addr)
	}
	p.mu.Unlock()
	<-ctx.Done()
	p.mu.Lock()   // whoever adds a link after this sees that it is over
	p.mu.Unlock() //nolint:staticcheck // see above
	p.all.Wait()
}

// notice is called by links when they are connected.
func (p *peers) notice() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.look()
}

// look closes connected when all links are there. Callers hold mu.
func (p *peers) look() {
	if p.was {
		return
	}
	for _, link := range p.byAddr {
		if !link.Ready() {
			return
		}
	}
	p.was = true
	close(p.connected)
}

// Send takes a row of tuples for tasks of other workers. What is for a task that is nowhere is dropped, as Storm does: its
// tree times out.
func (p *peers) Send(batch []tuple.Message) {
	t := p.table.Load()
	if len(batch) == 0 {
		return
	}
	first := t.find(batch[0].Task)
	if !slices.ContainsFunc(batch[1:], func(m tuple.Message) bool { return t.find(m.Task) != first }) {
		if first >= 0 {
			t.links[first].Send(batch)
		}
		return
	}
	rows, ok := p.scratch.Get().(*[][]tuple.Message)
	if !ok {
		rows = new([][]tuple.Message)
	}
	for len(*rows) < len(t.links) {
		*rows = append(*rows, nil)
	}
	for _, m := range batch {
		if i := t.find(m.Task); i >= 0 {
			(*rows)[i] = append((*rows)[i], m)
		}
	}
	for i, row := range (*rows)[:len(t.links)] {
		if len(row) > 0 {
			t.links[i].Send(row)
			clear(row)
			(*rows)[i] = row[:0]
		}
	}
	p.scratch.Put(rows)
}

// Blocked says whether a task of another worker wants no more.
func (p *peers) Blocked(task int32) bool {
	t := p.table.Load()
	i := t.find(task)
	return i >= 0 && t.links[i].Blocked(task)
}

// Load is how full the inbox of a task of another worker is.
func (p *peers) Load(task int32) (float64, bool) {
	t := p.table.Load()
	if i := t.find(task); i >= 0 {
		return t.links[i].Load(task)
	}
	return 0, false
}
