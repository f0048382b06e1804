// SPDX-License-Identifier: Apache-2.0

// The engine: one goroutine owns the tree and answers requests in batches, a second
// one makes each batch durable and only then lets its answers out.

package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/zookeeper/jute"
	"github.com/gust-stream/gust/zookeeper/tree"
)

const (
	// A batch that has grown past these is sent off before it takes more.
	maxBatchLog = 4 << 20
	maxBatchOut = 8 << 20
	// burst is how many requests are taken in a row before anything else is looked at.
	burst = 256
	// batches in circulation: one fills, one is synced.
	batches = 2
	// snapshotChunk is how many bytes of a snapshot are collected in one go.
	snapshotChunk = 256 << 10
)

// send is a piece of a batch's output for one connection.
type send struct {
	c          *conn
	start, end int
	answers    int
	last       bool
}

// batch is a run of requests: what they change, and what goes out once that is
// durable. Reads wait in it too, because they may have seen its changes.
type batch struct {
	log      []byte // a frame: room for its header, then transactions
	out      []byte
	sends    []send
	zxid     int64
	reserved int64
	rotate   int64 // start a new log file with this zxid first; 0: do not
}

func (b *batch) empty() bool { return len(b.sends) == 0 && len(b.log) == frameHeader && b.rotate == 0 }

func (b *batch) full() bool { return len(b.log) > maxBatchLog || len(b.out) > maxBatchOut }

// reset makes a batch fit for reuse and lets go of unusual amounts of memory.
func (b *batch) reset() {
	if cap(b.log) > maxBatchLog/16 {
		b.log = nil
	}
	if cap(b.out) > maxBatchOut/32 {
		b.out = nil
	}
	if cap(b.log) < frameHeader {
		b.log = make([]byte, frameHeader, 4096)
	}
	clear(b.sends)
	b.log, b.out, b.sends = b.log[:frameHeader], b.out[:0], b.sends[:0]
	b.zxid, b.reserved, b.rotate = 0, 0, 0
}

// session is what the engine knows about a live session beyond the tree.
type session struct {
	timeout  time.Duration
	deadline time.Duration // by the engine's clock
	conn     *conn         // nil while no client is attached
}

// engine serves requests until the disk fails or ctx ends.
type engine struct {
	s    *Server
	st   *store
	tree *tree.Tree
	log  *logWriter
	logs *zap.Logger

	cur  *batch
	free chan *batch
	sync chan *batch

	sessions map[int64]*session
	clock    time.Duration // advances by ticks, see tick
	lastTick time.Duration
	lastReap time.Duration
	full     bool  // the disk was full when a change was last tried
	promised int64 // reserved for the change that is being made

	snap    *snapshotRun
	logSize int64 // since the last snapshot
	group   *errgroup.Group
}

func newEngine(s *Server, st *store, rec recovered) *engine {
	e := &engine{
		s: s, st: st, tree: rec.tree, log: rec.log, logs: s.log, logSize: rec.size,
		cur: &batch{}, free: make(chan *batch, batches), sync: make(chan *batch),
		sessions: map[int64]*session{},
	}
	e.cur.reset()
	for range batches - 1 {
		b := &batch{}
		b.reset()
		e.free <- b
	}
	e.lastTick = s.mono()
	e.lastReap = e.lastTick
	for _, ses := range rec.tree.Sessions() {
		timeout := time.Duration(ses.Timeout) * time.Millisecond
		e.sessions[ses.ID] = &session{timeout: timeout, deadline: e.expiry(timeout)}
	}
	e.cur.log = e.tree.SkipTo(rec.lost, s.wall().UnixMilli(), e.cur.log)
	e.cur.zxid = e.tree.Zxid()
	return e
}

// run ends with an error only if the disk failed.
func (e *engine) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	e.group = g
	g.Go(func() error { return e.syncBatches() })
	g.Go(func() error {
		defer close(e.sync)
		e.loop(ctx)
		return nil
	})
	err := g.Wait()
	if err != nil {
		// The file may hold part of a frame; whoever recovers will cut it.
		_ = e.log.f.Close()
		return err
	}
	if err := e.log.finish(); err != nil {
		return fmt.Errorf("close log: %w", err)
	}
	return nil
}

// loop owns the tree.
func (e *engine) loop(ctx context.Context) {
	ticker := time.NewTicker(e.s.cfg.TickTime / 2)
	defer ticker.Stop()
	defer e.abortSnapshot()
	for {
		reqs, sync := e.s.reqs, e.sync
		if e.cur == nil || e.cur.full() {
			reqs = nil
		}
		if e.cur == nil || e.cur.empty() {
			sync = nil
		}
		free := e.free
		if e.cur != nil {
			free = nil
		}
		chunks, chunk := e.nextChunk()
		select {
		case <-ctx.Done():
			return
		case r := <-reqs:
			e.handle(r)
			e.drain()
		case sync <- e.cur:
			e.cur = nil
		case e.cur = <-free:
		case chunks <- chunk:
			e.chunkSent()
		case err := <-e.snapshotEnd():
			e.snapshotEnded(err)
		case <-ticker.C:
			if e.cur != nil {
				e.drain() // what has arrived keeps sessions alive before they are judged
				e.tick()
			}
		}
		e.publish()
	}
}

// drain takes what has arrived, so that one fsync serves it all.
func (e *engine) drain() {
	for range burst {
		if e.cur.full() {
			return
		}
		select {
		case r := <-e.s.reqs:
			e.handle(r)
		default:
			return
		}
	}
}

func (e *engine) publish() {
	f := &e.s.facts
	f.zxid.Store(e.tree.Zxid())
	f.nodes.Store(int64(e.tree.Len()))
	f.sessions.Store(int64(len(e.sessions)))
}

// syncBatches writes each batch with one fsync, then lets its answers go.
func (e *engine) syncBatches() error {
	for b := range e.sync {
		if b.rotate != 0 {
			if err := e.log.create(b.rotate); err != nil {
				if errors.Is(err, errUnfinished) {
					return err
				}
				// The old file still works. The snapshot's log just begins a little early.
				e.logs.Warn("cannot start a new log, going on with the old one", zap.Error(err))
			}
		}
		if len(b.log) > frameHeader {
			if err := e.log.write(b.log, b.zxid, b.reserved); err != nil {
				return err
			}
		} else if b.reserved > 0 {
			e.log.release(b.reserved)
		}
		for _, s := range b.sends {
			s.c.send(b.out[s.start:s.end], s.answers, s.last)
		}
		b.reset()
		e.free <- b
	}
	return nil
}

// reserve takes room in the log for a change of about n bytes of request. If the disk
// is full the change must not be made. changed settles what was really needed.
func (e *engine) reserve(n int) bool {
	size := int64(2*n + 1024)
	if err := e.log.reserve(size); err != nil {
		if !e.full {
			e.logs.Error("disk is full, changes are refused", zap.Error(err))
		}
		e.full = true
		return false
	}
	if e.full {
		e.logs.Info("disk has room again")
	}
	e.full = false
	e.promised = size
	return true
}

// changed notes that the tree and the batch's log went on from before.
func (e *engine) changed(before int) {
	n := int64(len(e.cur.log) - before)
	keep := int64(0)
	if n > 0 {
		keep = n + frameHeader // too much for all but the first; it comes back with the batch
		e.cur.zxid = e.tree.Zxid()
		e.logSize += n
		e.maybeSnapshot()
	}
	e.log.release(e.promised - keep)
	e.cur.reserved += keep
	e.promised = 0
	e.sendEvents()
}

// sendEvents puts the watches that fired in front of the answer that comes next.
func (e *engine) sendEvents() {
	for _, ev := range e.tree.TakeEvents() {
		c, ok := e.connOf(ev.Client)
		if !ok {
			continue
		}
		start := e.begin()
		e.cur.out = jute.AppendEvent(e.cur.out, ev.Zxid, ev.Type, ev.Path)
		e.end(c, start, 0, false)
	}
	for _, cl := range e.tree.TakeOverrun() {
		if c, ok := e.connOf(cl); ok {
			e.logs.Warn("more events than can be kept, the client has to come back", zap.Stringer("peer", c.nc.RemoteAddr()))
			c.close()
		}
	}
}

func (e *engine) connOf(cl *tree.Client) (*conn, bool) {
	ses := e.sessions[cl.Session]
	if ses == nil || ses.conn == nil || ses.conn.client != cl {
		return nil, false
	}
	return ses.conn, true
}

// begin and end frame a piece of output: a length, then what is appended in between.
func (e *engine) begin() int {
	start := len(e.cur.out)
	e.cur.out = append(e.cur.out, 0, 0, 0, 0)
	return start
}

func (e *engine) end(c *conn, start, answers int, last bool) {
	n := len(e.cur.out) - start - 4
	jute.AppendInt(e.cur.out[start:start], int32(n))
	e.cur.sends = append(e.cur.sends, send{c: c, start: start, end: len(e.cur.out), answers: answers, last: last})
}
