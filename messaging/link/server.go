// SPDX-License-Identifier: Apache-2.0

package link

// This file holds the listener of a worker's port, and what it tells all its peers.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/gust-stream/gust/messaging/frame"
	"github.com/gust-stream/gust/messaging/kryo"
	"github.com/gust-stream/gust/tuple"
)

// ServerConfig is what a Server is made of. Fields after Log may be left out.
type ServerConfig struct {
	Worker string // the worker's id
	// Tasks are the worker's own, of which its back-pressure tells.
	Tasks   []int32
	Sources *frame.Sources
	// Deliver is called with what came from a peer, in its order, on that peer's goroutine. The slice is only lent, the tuples are not.
	Deliver func(batch []tuple.Message)
	Log     *zap.Logger

	// Refused is called with a tuple that has a value of a class that only Java knows, without its values.
	Refused func(m tuple.Message, err error)
	// Load is asked every LoadEvery how full the inboxes are, from 0 to 1.
	Load      func() map[int32]float64
	LoadEvery time.Duration
	// Names are classes of topology.kryo.register, for the texts of errors.
	Names kryo.Names
	// StormOnly keeps to Storm's frames with Go workers too.
	StormOnly bool
	// MaxTuple bounds the bytes of a tuple, MaxHeld those of all tuples that have come in part, beyond 64 KiB for each peer.
	MaxTuple int
	MaxHeld  int64
	// MaxPeers bounds the connections: one more takes the place of the one that sent nothing for longest.
	MaxPeers int
	// MaxOver bounds the tuples for a task that come from all peers while it is blocked; a peer that sends more is cut off.
	MaxOver int64
	// Stall is how long a peer may take to send the rest of a frame, or to read what it is told.
	Stall time.Duration
}

func (c *ServerConfig) setDefaults() {
	setDefault(&c.LoadEvery, time.Second)
	setDefault(&c.MaxTuple, 64<<20)
	setDefault(&c.MaxHeld, 256<<20)
	setDefault(&c.MaxPeers, 4096)
	setDefault(&c.MaxOver, 1<<20)
	setDefault(&c.Stall, time.Minute)
	if c.Refused == nil {
		c.Refused = func(tuple.Message, error) {}
	}
}

// Server takes the tuples for a worker.
type Server struct {
	cfg    ServerConfig
	log    *zap.Logger
	budget *frame.Budget
	made   time.Time

	// blocked and over are by task: whether it wants no more, and how many tuples came nevertheless.
	blocked []atomic.Bool
	over    []atomic.Int64
	load    atomic.Pointer[map[int32]float64]
	// statuses numbers what is said about back-pressure.
	statuses atomic.Int64

	mu    sync.Mutex
	peers map[*peer]struct{} // guarded by mu
}

// NewServer opens nothing.
func NewServer(cfg ServerConfig) *Server {
	cfg.setDefaults()
	// What strangers can cause is logged a few times a minute.
	few := zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, time.Minute, 20, 1000)
	})
	return &Server{
		cfg: cfg, log: cfg.Log.Named("link").WithOptions(few), budget: frame.NewBudget(cfg.MaxHeld), made: time.Now(),
		blocked: make([]atomic.Bool, cfg.Sources.Tasks()), over: make([]atomic.Int64, cfg.Sources.Tasks()),
		peers: map[*peer]struct{}{},
	}
}

// SetBlocked says that a task of this worker wants no more tuples, or wants some again. All peers hear of it. It does not wait.
func (s *Server) SetBlocked(task int32, blocked bool) {
	if uint(task) >= uint(len(s.blocked)) || s.blocked[task].Swap(blocked) == blocked { //nolint:gosec // a negative one is too large then
		return
	}
	if !blocked {
		s.over[task].Store(0)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.peers {
		p.change(task, blocked)
	}
}

// status is the back-pressure of all tasks.
func (s *Server) status() kryo.Status {
	out := kryo.Status{ID: s.statuses.Add(1), Worker: s.cfg.Worker}
	if !s.cfg.StormOnly {
		out.Worker = greet(s.cfg.Worker)
	}
	for _, task := range s.cfg.Tasks {
		if s.isBlocked(task) {
			out.Blocked = append(out.Blocked, task)
		} else {
			out.Free = append(out.Free, task)
		}
	}
	return out
}

func (s *Server) isBlocked(task int32) bool {
	return uint(task) < uint(len(s.blocked)) && s.blocked[task].Load() //nolint:gosec // a negative one is too large then
}

// Run accepts peers until ctx ends, and closes the listener. It returns when all peers are gone, nil unless accepting failed.
func (s *Server) Run(ctx context.Context, ln net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	all.Go(func() { s.tellLoad(ctx) })
	all.Go(func() {
		<-ctx.Done()
		_ = ln.Close()
	})
	wait := time.Millisecond
	for {
		conn, err := ln.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept workers on %s: %w", ln.Addr(), err)
		case err != nil:
			// Files run out and come back; the peers that are there go on.
			s.log.Warn("no worker accepted", zap.Error(err))
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
			timer.Stop()
			wait = min(2*wait, time.Second)
			continue
		}
		wait = time.Millisecond
		p := s.enter(conn)
		all.Go(func() {
			defer s.leave(p)
			p.run(ctx)
		})
	}
}

// enter notes a new connection. Where there are too many, it takes the place of the one that was silent for longest.
func (s *Server) enter(conn net.Conn) *peer {
	p := newPeer(s, conn)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.peers) >= s.cfg.MaxPeers {
		var silent *peer
		for other := range s.peers {
			if silent == nil || other.heard.Load() < silent.heard.Load() {
				silent = other
			}
		}
		delete(s.peers, silent)
		_ = silent.conn.Close()
		s.log.Warn("too many connections, the longest silent is cut off", zap.String("peer", silent.address), zap.Int("most", s.cfg.MaxPeers))
	}
	s.peers[p] = struct{}{}
	return p
}

func (s *Server) leave(p *peer) {
	s.mu.Lock()
	delete(s.peers, p)
	s.mu.Unlock()
}

// Peers is how many connections there are.
func (s *Server) Peers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.peers)
}

// Addresses are those of the peers, sorted.
func (s *Server) Addresses() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]string, 0, len(s.peers))
	for p := range s.peers {
		out = append(out, p.address)
	}
	slices.Sort(out)
	return out
}

// tellLoad tells all peers how full the inboxes are.
func (s *Server) tellLoad(ctx context.Context) {
	if s.cfg.Load == nil {
		return
	}
	ticker := time.NewTicker(s.cfg.LoadEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		load := s.cfg.Load()
		s.load.Store(&load)
		s.mu.Lock()
		for p := range s.peers {
			p.tellLoad()
		}
		s.mu.Unlock()
	}
}
