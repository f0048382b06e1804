// SPDX-License-Identifier: Apache-2.0

package link

// This file holds what the executors of a worker see of another one.

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/messaging/frame"
	"github.com/gust-stream/gust/messaging/native"
	"github.com/gust-stream/gust/tuple"
)

// ClientConfig is what a Client is made of. Fields after Log may be left out.
type ClientConfig struct {
	Address string // host:port of the other worker
	Sources *frame.Sources
	Log     *zap.Logger

	// Notify is called when a task or the link is no longer blocked, or is connected or lost. It must not block.
	Notify func()
	// Refused is called with a tuple that cannot be sent, because of a value of its or, with ErrFull, because too many wait. Send calls it in
	// the second case.
	Refused func(m tuple.Message, err error)
	// StormOnly keeps to Storm's frames with Go workers too.
	StormOnly bool
	// MinWait and MaxWait are between attempts to connect: storm.messaging.netty.min_wait_ms and max_wait_ms.
	MinWait, MaxWait time.Duration
	// Greet is how long a server may take for its first word; one that says nothing is taken for a Java worker.
	Greet time.Duration
	// Flush is how long what is waiting may take at the end.
	Flush time.Duration
	// Mark is how many waiting tuples block, Hard from how many on tuples are refused; messages about trees are not. Without a connection
	// Mark is the bound of both, and what comes is lost.
	Mark, Hard int
	// Dial makes connections.
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

// ErrFull says that too many tuples wait for another worker.
var ErrFull = errors.New("too many tuples wait for another worker")

func (c *ClientConfig) setDefaults() {
	setDefault(&c.MinWait, 100*time.Millisecond)
	setDefault(&c.MaxWait, time.Second)
	setDefault(&c.Greet, 4*time.Second)
	setDefault(&c.Flush, 2*time.Second)
	setDefault(&c.Mark, 1<<14)
	setDefault(&c.Hard, 1<<20)
	if c.Notify == nil {
		c.Notify = func() {}
	}
	if c.Refused == nil {
		c.Refused = func(tuple.Message, error) {}
	}
	if c.Dial == nil {
		dialer := net.Dialer{Timeout: 5 * time.Second}
		c.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", address)
		}
	}
}

func setDefault[T comparable](v *T, to T) {
	var zero T
	if *v == zero {
		*v = to
	}
}

// Stats is what a Client has done so far.
type Stats struct {
	Sent, Lost int64 // tuples
	Pending    int   // tuples that wait
	Connects   int64
	Native     bool // Go speaks with Go at the moment
}

// Client is the way to one other worker. All its methods may be called from any goroutine.
type Client struct {
	cfg  ClientConfig
	log  *zap.Logger
	wake chan struct{}

	mu sync.Mutex
	// queue, spare and all of flow are guarded by mu. spare is the queue's other buffer.
	queue, spare []tuple.Message
	// flow counts the tuples for each task if the server gives credit, else it is nil.
	flow []flow
	open bool // there is a connection

	// full says that the queue is above its mark, blocked that a task wants no more. They are changed under mu.
	full    atomic.Bool
	blocked []atomic.Bool

	current              atomic.Pointer[session] // whose outlet senders may use
	ready, native        atomic.Bool
	load                 atomic.Pointer[map[int32]float64]
	sent, lost, connects atomic.Int64
}

// flow is how many tuples went to a task since the connection began, and how many may.
type flow struct{ sent, allowed uint64 }

// NewClient opens nothing.
func NewClient(cfg ClientConfig) *Client {
	cfg.setDefaults()
	return &Client{
		cfg: cfg, log: cfg.Log.Named("link").With(zap.String("peer", cfg.Address)), wake: make(chan struct{}, 1),
		blocked: make([]atomic.Bool, cfg.Sources.Tasks()),
	}
}

// Send hands over tuples, which nobody may change from then on; the slice is only lent. It never waits. What does not fit is refused, or lost
// where there is no connection, as Storm's client loses all then.
func (c *Client) Send(batch []tuple.Message) {
	c.mu.Lock()
	limit := c.cfg.Hard
	if !c.open {
		limit = c.cfg.Mark
	}
	var refused []tuple.Message
	if room := max(limit-len(c.queue), 0); len(batch) > room {
		batch, refused = c.overflow(batch, room)
	}
	c.queue = append(c.queue, batch...)
	c.count(batch)
	if c.open && len(c.queue) >= c.cfg.Mark {
		c.full.Store(true)
	}
	few := len(c.queue) <= atOnce
	c.mu.Unlock()
	for _, m := range refused { // they may send something themselves
		c.cfg.Refused(m, ErrFull)
	}
	if s := c.current.Load(); few && s != nil && s.sendAtOnce() {
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// overflow gives what is kept of a batch that there is no room for, and what its senders have to hear of. The caller holds mu.
func (c *Client) overflow(batch []tuple.Message, room int) (kept, refused []tuple.Message) {
	rest := batch[room:]
	if !c.open {
		c.lost.Add(int64(len(rest)))
		return batch[:room], nil
	}
	kept = slices.Clone(batch[:room])
	for _, m := range rest {
		if m.Tuple.OfTrees() {
			kept = append(kept, m)
		} else {
			refused = append(refused, m)
		}
	}
	c.lost.Add(int64(len(refused)))
	return kept, refused
}

// count takes tuples off their tasks' credit. The caller holds mu.
func (c *Client) count(batch []tuple.Message) {
	if c.flow == nil {
		return
	}
	for i := range batch {
		task := batch[i].Task
		if uint(task) >= uint(len(c.flow)) { //nolint:gosec // a negative one is too large then
			continue
		}
		f := &c.flow[task]
		if f.sent++; f.sent == f.allowed {
			c.blocked[task].Store(true)
		}
	}
}

// Blocked says whether a task of the other worker, or the link itself, wants no more for now. It is false while there is no connection.
func (c *Client) Blocked(task int32) bool {
	if c.full.Load() {
		return true
	}
	return uint(task) < uint(len(c.blocked)) && c.blocked[task].Load() //nolint:gosec // a negative one is too large then
}

// Load is how full the inbox of a task is, from 0 to 1, and whether its worker has said so.
func (c *Client) Load(task int32) (float64, bool) {
	m := c.load.Load()
	if m == nil {
		return 0, false
	}
	l, ok := (*m)[task]
	return l, ok
}

// Ready says whether there is a connection over which tuples go.
func (c *Client) Ready() bool { return c.ready.Load() }

// Stats is a snapshot.
func (c *Client) Stats() Stats {
	c.mu.Lock()
	pending := len(c.queue)
	c.mu.Unlock()
	return Stats{
		Sent: c.sent.Load(), Lost: c.lost.Load(), Pending: pending, Connects: c.connects.Load(), Native: c.native.Load(),
	}
}

// take is what waits; it goes back with put.
func (c *Client) take() []tuple.Message {
	c.mu.Lock()
	batch := c.queue
	c.queue, c.spare = c.spare[:0], nil
	was := c.full.Swap(false)
	c.mu.Unlock()
	if was {
		c.cfg.Notify()
	}
	return batch
}

// maxSpare bounds the buffer that is kept for the next tuples.
const maxSpare = 1 << 16

func (c *Client) put(batch []tuple.Message) {
	if cap(batch) > maxSpare {
		return
	}
	clear(batch) // else it keeps the tuples alive
	c.mu.Lock()
	c.spare = batch[:0]
	c.mu.Unlock()
}

// begin is called when it is known how to speak with a new connection: withCredit if Go speaks with Go.
func (c *Client) begin(withCredit bool) {
	c.mu.Lock()
	c.open, c.flow = true, nil
	if withCredit {
		c.flow = make([]flow, len(c.blocked))
		for i := range c.flow {
			c.flow[i].allowed = native.Window
		}
		c.count(c.queue)
	}
	c.mu.Unlock()
	c.native.Store(withCredit)
	c.ready.Store(true)
	c.connects.Add(1)
	c.cfg.Notify()
}

// end is called when a connection is lost.
func (c *Client) end() {
	c.ready.Store(false)
	c.native.Store(false)
	c.mu.Lock()
	c.open, c.flow = false, nil
	c.full.Store(false)
	for i := range c.blocked {
		c.blocked[i].Store(false)
	}
	c.mu.Unlock()
	c.load.Store(nil)
	c.cfg.Notify()
}

// allow is the server's word of credit for a task.
func (c *Client) allow(task int32, allowed uint64) (unblocked bool) {
	if uint(task) >= uint(len(c.flow)) { //nolint:gosec // a negative one is too large then
		return false
	}
	f := &c.flow[task]
	f.allowed = max(f.allowed, allowed)
	return f.sent < f.allowed && c.blocked[task].Swap(false)
}
