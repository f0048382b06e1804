// SPDX-License-Identifier: Apache-2.0

// This file has the connections to other peers: requests go out as they come, answers are told apart by their number.

package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

const dialTimeout = 5 * time.Second

// errAway means that a peer cannot be reached now.
var errAway = errors.New("the peer cannot be reached")

// errRefused means that a peer has answered, and what it says is no.
var errRefused = errors.New("the peer refuses")

// link is one connection to a peer. It is made by the first request; once broken it stays so.
type link struct {
	key   []byte
	addr  func(context.Context) (string, error)
	hello head

	writing sync.Mutex // held while a frame is written, and while the connection is made

	mu      sync.Mutex // guards all below
	conn    net.Conn
	out     *bufio.Writer
	last    uint64
	waiting map[uint64]*exchange
	closed  bool // it is not made anew
}

// exchange is one request and the frames that answer it.
type exchange struct {
	link   *link
	id     uint64
	frames chan frame    // closed when the connection is gone
	done   chan struct{} // closed when nobody wants frames any more
}

type frame struct {
	head head
	body []byte
}

// begin sends a request's first frame.
func (l *link) begin(ctx context.Context, h head, body ...[]byte) (*exchange, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	if err := l.connect(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, errAway
	}
	l.last++
	x := &exchange{link: l, id: l.last, frames: make(chan frame, 4), done: make(chan struct{})}
	l.waiting[x.id] = x
	l.mu.Unlock()
	h.ID = x.id
	if err := l.write(h, body...); err != nil {
		x.end()
		return nil, err
	}
	return x, nil
}

// more sends another frame of a request.
func (x *exchange) more(h head, body ...[]byte) error {
	x.link.writing.Lock()
	defer x.link.writing.Unlock()
	h.ID = x.id
	return x.link.write(h, body...)
}

// next waits for the next frame of the answer.
func (x *exchange) next(ctx context.Context) (head, []byte, error) {
	select {
	case f, ok := <-x.frames:
		if !ok {
			return head{}, nil, fmt.Errorf("the connection broke: %w", errAway)
		}
		if f.head.Error != "" {
			return head{}, nil, fmt.Errorf("%w: %s", errRefused, f.head.Error)
		}
		return f.head, f.body, nil
	case <-ctx.Done():
		return head{}, nil, ctx.Err()
	}
}

// end gives up what is still to come.
func (x *exchange) end() {
	x.link.mu.Lock()
	defer x.link.mu.Unlock()
	if x.link.waiting[x.id] == x {
		delete(x.link.waiting, x.id)
	}
	close(x.done)
}

// call sends a request of one frame and waits for its answer of one frame.
func (l *link) call(ctx context.Context, h head, body ...[]byte) (head, error) {
	x, err := l.begin(ctx, h, body...)
	if err != nil {
		return head{}, err
	}
	defer x.end()
	answer, _, err := x.next(ctx)
	return answer, err
}

// connect makes the connection if there is none. The caller holds writing.
func (l *link) connect(ctx context.Context) error {
	l.mu.Lock()
	there, closed := l.conn != nil, l.closed
	l.mu.Unlock()
	if there || closed {
		return nil // a write tells if it is broken
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addr, err := l.addr(ctx)
	if err != nil {
		return err
	}
	c, err := (&net.Dialer{KeepAlive: 5 * time.Second}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("%w: %w", errAway, err)
	}
	deadline, _ := ctx.Deadline()
	if err := errors.Join(c.SetDeadline(deadline), greet(c, l.key, true), c.SetDeadline(time.Time{})); err != nil {
		return errors.Join(err, c.Close())
	}
	out := bufio.NewWriterSize(c, 64<<10)
	if err := errors.Join(writeFrame(out, l.hello), out.Flush()); err != nil {
		return errors.Join(fmt.Errorf("%w: %w", errAway, err), c.Close())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errors.Join(errAway, c.Close())
	}
	l.conn, l.out, l.waiting = c, out, map[uint64]*exchange{}
	go l.read(c) // ends when the connection does: see close
	return nil
}

// write sends a frame. The caller holds writing.
func (l *link) write(h head, body ...[]byte) error {
	l.mu.Lock()
	c, out, closed := l.conn, l.out, l.closed
	l.mu.Unlock()
	if c == nil || closed {
		return errAway
	}
	err := c.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err == nil {
		err = writeFrame(out, h, body...)
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		_ = c.Close()
		return fmt.Errorf("%w: %w", errAway, err)
	}
	return nil
}

// read hands on answers until the connection ends.
func (l *link) read(c net.Conn) {
	in := bufio.NewReaderSize(c, 64<<10)
	for {
		h, body, err := readFrame(in)
		if err != nil {
			break
		}
		l.mu.Lock()
		x := l.waiting[h.ID]
		if h.Last {
			delete(l.waiting, h.ID)
		}
		l.mu.Unlock()
		if x == nil {
			continue
		}
		select {
		case x.frames <- frame{h, body}:
		case <-x.done:
		}
	}
	_ = c.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for id, x := range l.waiting {
		delete(l.waiting, id)
		close(x.frames)
	}
}

// close ends the connection; requests under way fail.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.conn != nil {
		_ = l.conn.Close()
	}
}
