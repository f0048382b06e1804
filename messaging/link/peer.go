// SPDX-License-Identifier: Apache-2.0

package link

// This file holds one connection of a Server: a goroutine that reads, and one that writes the little that a server says.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/messaging/frame"
	"github.com/gust-stream/gust/messaging/kryo"
	"github.com/gust-stream/gust/messaging/native"
	"github.com/gust-stream/gust/tuple"
)

const (
	// deliverSize is how many tuples are collected at most before they are delivered.
	deliverSize = 512
	// A client that lets this much of a task's window pass is given more.
	regrant = native.Window * 3 / 4
)

// peer is a client.
type peer struct {
	*Server
	conn    net.Conn
	address string
	in      *frame.Input
	kick    chan struct{} // room for one: there is something to say
	// heard is when tuples came last, or when the connection began, in nanoseconds since the server was made.
	heard atomic.Int64

	mu sync.Mutex
	// What is to be said, guarded by mu: it is collected, so a peer that reads slowly costs no more than one that does not.
	sayStatus, sayLoad, sayUpgrade bool
	credit                         []int32 // tasks
	// flow counts what came for each task, nil until the peer proposes the native protocol; guarded by mu.
	flow []received

	batch []tuple.Message
}

// received is how many tuples came for a task, and how many the peer was allowed.
type received struct{ came, allowed uint64 }

func newPeer(s *Server, conn net.Conn) *peer {
	p := &peer{
		Server: s, conn: conn, address: conn.RemoteAddr().String(), in: frame.NewInput(conn, s.budget, s.cfg.Stall),
		kick: make(chan struct{}, 1), sayStatus: true,
	}
	p.heard.Store(int64(time.Since(s.made)))
	return p
}

func (p *peer) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var both sync.WaitGroup
	both.Go(func() {
		defer cancel()
		if err := p.read(); err != nil && ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
			p.log.Warn("a peer is cut off", zap.String("peer", p.address), zap.Error(err))
		}
	})
	both.Go(func() {
		defer func() { _ = p.conn.Close() }()
		if err := p.write(ctx); err != nil && ctx.Err() == nil {
			p.log.Warn("a peer does not listen", zap.String("peer", p.address), zap.Error(err))
		}
	})
	both.Wait()
	p.in.Close()
}

// read takes tuples until the connection ends, which gives nil at a frame's end.
func (p *peer) read() error {
	r := &frame.Reader{In: p.in, Max: p.cfg.MaxTuple, Small: 1 << 10}
	tuples := frame.NewTuples(p.cfg.Sources, p.cfg.Names)
	for {
		f, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		switch f.Kind {
		case frame.Task:
			if err := p.task(tuples, f); err != nil {
				return err
			}
		case frame.Upgrade:
			if err := p.upgrade(f); err != nil {
				return err
			}
			return p.readNative(&native.Reader{In: r.Rest(), Max: p.cfg.MaxTuple + frameSize})
		case frame.Control:
			if f.Code == frame.SASLRequest {
				return errors.New("the peer wants to authenticate, which a Go worker does not know")
			}
		case frame.Load, frame.Status, frame.SASL:
			return fmt.Errorf("%w: code %d from a client", frame.ErrMalformed, f.Code)
		}
		if len(p.batch) >= deliverSize || !r.Waiting() {
			if err := p.deliver(); err != nil {
				return err
			}
		}
	}
}

func (p *peer) task(tuples *frame.Tuples, f frame.Frame) error {
	m := tuple.Message{Task: int32(f.Code)}
	t, err := tuples.Read(f.Payload)
	if err != nil {
		if _, unknown := errors.AsType[*kryo.UnknownClassError](err); !unknown || t == nil {
			return err
		}
		m.Tuple = t
		p.cfg.Refused(m, err)
		return nil
	}
	m.Tuple = t
	p.batch = append(p.batch, m)
	return nil
}

func (p *peer) upgrade(f frame.Frame) error {
	if p.cfg.StormOnly {
		return errors.New("a proposal of another protocol, which was not offered")
	}
	if err := checkProposal(f.Payload); err != nil {
		return err
	}
	p.mu.Lock()
	p.flow = make([]received, len(p.blocked))
	for i := range p.flow {
		p.flow[i].allowed = native.Window
	}
	p.sayUpgrade = true
	p.mu.Unlock()
	p.wake()
	return nil
}

func (p *peer) readNative(r *native.Reader) error {
	d := native.NewDecoder(p.cfg.Sources)
	for {
		kind, payload, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		switch kind {
		case native.Tuples:
			if p.batch, err = d.Read(p.batch, payload); err != nil {
				return err
			}
			if err := p.deliver(); err != nil {
				return err
			}
		case native.Credit, native.Load:
			return fmt.Errorf("%w: kind %d from a client", frame.ErrMalformed, kind)
		case native.Progress: // nobody asks for it yet
		}
	}
}

// deliver hands on what was collected, and gives credit for it.
func (p *peer) deliver() error {
	if len(p.batch) == 0 {
		return nil
	}
	for i := range p.batch {
		if task := p.batch[i].Task; int(task) >= len(p.blocked) {
			return fmt.Errorf("%w: a tuple for task %d, the topology has %d", frame.ErrMalformed, task, len(p.blocked)-1)
		}
	}
	p.heard.Store(int64(time.Since(p.made)))
	p.cfg.Deliver(p.batch)
	err := p.count()
	clear(p.batch)
	p.batch = p.batch[:0]
	return err
}

// count notes what came. Tuples for a blocked task are not only those under way when it was blocked: acks and whatever goes in a circle is
// never held back. But it has an end.
func (p *peer) count() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	say := false
	for i := range p.batch {
		task := p.batch[i].Task
		blocked := p.blocked[task].Load()
		if blocked && p.over[task].Add(1) > p.cfg.MaxOver {
			return fmt.Errorf("more than %d tuples for task %d, which is blocked", p.cfg.MaxOver, task)
		}
		if p.flow == nil {
			continue
		}
		f := &p.flow[task]
		f.came++
		if !blocked && f.came+regrant >= f.allowed {
			f.allowed = f.came + native.Window
			p.credit = append(p.credit, task)
			say = true
		}
	}
	if say {
		p.wake()
	}
	return nil
}

// change is SetBlocked's word.
func (p *peer) change(task int32, blocked bool) {
	p.mu.Lock()
	if p.flow == nil {
		p.sayStatus = true
	} else if !blocked {
		p.flow[task].allowed = p.flow[task].came + native.Window
		p.credit = append(p.credit, task)
	}
	p.mu.Unlock()
	p.wake()
}

func (p *peer) tellLoad() {
	p.mu.Lock()
	p.sayLoad = true
	p.mu.Unlock()
	p.wake()
}

func (p *peer) wake() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// write says what there is to say until ctx ends.
func (p *peer) write(ctx context.Context) error {
	var buf []byte
	upgraded := false
	for {
		buf, upgraded = p.say(buf[:0], upgraded)
		if len(buf) > 0 {
			if err := p.conn.SetWriteDeadline(time.Now().Add(p.cfg.Stall)); err != nil {
				return err
			}
			if _, err := p.conn.Write(buf); err != nil {
				return err
			}
			continue
		}
		select {
		case <-p.kick:
		case <-ctx.Done():
			return nil
		}
	}
}

// say appends what there is to say. The Upgrade is the last word in Storm's frames.
func (p *peer) say(b []byte, upgraded bool) ([]byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sayStatus && !upgraded {
		// A status is a few bytes for each task of a worker; kryo.Status cannot fail.
		if payload, err := kryo.AppendObject(nil, p.status()); err == nil {
			b = frame.Append(b, frame.Status, payload)
		}
	}
	p.sayStatus = false
	if p.sayUpgrade {
		b = frame.Append(b, frame.Upgrade, proposal(native.Version))
		p.sayUpgrade, upgraded = false, true
	}
	if len(p.credit) > 0 {
		var start int
		b, start = native.Begin(b, native.Credit)
		for _, task := range p.credit {
			b = native.AppendCredit(b, task, p.flow[task].allowed)
		}
		native.End(b, start)
		p.credit = p.credit[:0]
	}
	if p.sayLoad {
		b = p.appendLoad(b, upgraded)
		p.sayLoad = false
	}
	return b, upgraded
}

func (p *peer) appendLoad(b []byte, upgraded bool) []byte {
	load := p.load.Load()
	switch {
	case load == nil || len(*load) == 0:
		return b
	case !upgraded:
		return frame.AppendControl(frame.Append(b, frame.Load, kryo.AppendLoad(nil, *load)), frame.EndOfBatch)
	}
	b, start := native.Begin(b, native.Load)
	for task, l := range *load {
		b = native.AppendLoad(b, task, l)
	}
	native.End(b, start)
	return b
}
