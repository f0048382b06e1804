// SPDX-License-Identifier: Apache-2.0

// The Server: its life from New to the end of Run, and its listener.

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/internal/clock"
)

// Server is one embedded ZooKeeper server.
type Server struct {
	cfg Config
	log *zap.Logger

	reqs     chan request // from all connections to the engine
	stopped  chan struct{}
	outBytes atomic.Int64 // answers that wait in all connections' buffers
	large    *budget      // memory for big requests that are still arriving
	facts    facts

	mu       sync.Mutex // guards the fields below
	listener net.Listener
	conns    conns
	nextID   uint64
	connWG   sync.WaitGroup

	// Tests replace these.
	wall   func() time.Time
	mono   func() time.Duration
	opener func(path string, flag int) (logFile, error)
}

// facts are numbers for the srvr word, written by the engine.
type facts struct{ zxid, nodes, sessions atomic.Int64 }

// request is one thing for the engine: the first frame of a connection, a later one,
// or the end of the connection (no frame).
type request struct {
	c     *conn
	kind  requestKind
	frame []byte
}

type requestKind uint8

const (
	kindHello requestKind = iota
	kindFrame
	kindGone
)

const (
	// requestQueue is how many requests wait for the engine before readers block.
	requestQueue = 1024
	// largeBudget bounds the memory of big requests that are still arriving.
	largeBudget = 64 << 20
	// sameLogs is how often one message is logged in a second: peers that send nonsense must not fill a disk.
	sameLogs = 10
)

// New checks the configuration. It opens nothing and starts nothing.
func New(cfg Config, logger *zap.Logger) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	started := time.Now()
	logger = logger.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, time.Second, sameLogs, 0)
	}))
	return &Server{
		cfg: cfg, log: logger.Named("zookeeper"),
		reqs: make(chan request, requestQueue), stopped: make(chan struct{}),
		large:  newBudget(largeBudget),
		conns:  newConns(cfg.MaxConns, cfg.Files),
		wall:   time.Now,
		mono:   func() time.Duration { return time.Since(started) },
		opener: openOSFile,
	}, nil
}

// Listen binds the address, so that callers know it before Run. Clients may connect
// from then on; they are answered once Run has read the store. A second call returns
// the same address.
func (s *Server) Listen() (net.Addr, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		l, err := net.Listen("tcp", s.cfg.Addr) //nolint:noctx // binding does not block
		if err != nil {
			return nil, err // it says where
		}
		s.listener = l
	}
	return s.listener.Addr(), nil
}

// Run serves until ctx ends or the store cannot be used. It may be called once.
// Sessions and their ephemeral znodes outlive it: clients resume them with the next
// server on the same directory.
func (s *Server) Run(ctx context.Context) (err error) {
	addr, err := s.Listen()
	if err != nil {
		return fmt.Errorf("zookeeper server: %w", err)
	}
	st, err := openStore(s.cfg.Dir, s.log)
	if err != nil {
		return errors.Join(fmt.Errorf("zookeeper server: %w", err), s.listener.Close())
	}
	st.opener = s.opener
	defer func() { err = errors.Join(err, st.close()) }()
	rec, err := st.recover()
	if err != nil {
		return errors.Join(fmt.Errorf("zookeeper server: %w", err), s.listener.Close())
	}
	s.log.Info("serving", zap.Stringer("addr", addr), zap.String("dir", s.cfg.Dir),
		zap.Int64("zxid", rec.tree.Zxid()), zap.Int("znodes", rec.tree.Len()), zap.Int("sessions", len(rec.tree.Sessions())))

	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.accept(ctx) })
	g.Go(func() error { return s.serve(ctx, st, rec) })
	g.Go(func() error {
		<-ctx.Done()
		// The listener goes first, so that no connection is made that nobody closes.
		err := s.listener.Close()
		s.mu.Lock()
		s.conns.closed = true
		s.mu.Unlock()
		s.closeConns()
		return err
	})
	err = g.Wait()
	close(s.stopped) // readers must not wait for an engine any more
	s.connWG.Wait()
	return err
}

// serve runs engines: one, unless the disk fails under it. Then all connections are
// closed, what was not durable is forgotten by reading the store again, and the next
// engine goes on. Clients come back with their sessions and watches.
func (s *Server) serve(ctx context.Context, st *store, rec recovered) error {
	for {
		err := newEngine(s, st, rec).run(ctx)
		if ctx.Err() != nil {
			return err
		}
		s.log.Error("store failed, reading it again", zap.Error(err))
		s.closeConns()
		if rec, err = s.again(ctx, st); err != nil || rec.tree == nil {
			return err
		}
	}
}

// again reads the store until that works, or shows damage. There is no tree if ctx ends.
func (s *Server) again(ctx context.Context, st *store) (recovered, error) {
	for ctx.Err() == nil {
		rec, err := st.recover()
		if err == nil {
			return rec, nil
		}
		if _, damaged := errors.AsType[*CorruptError](err); damaged {
			return recovered{}, fmt.Errorf("zookeeper server: read store again: %w", err)
		}
		s.log.Error("store cannot be read, trying again", zap.Error(err))
		_ = clock.Wait(ctx, time.Second) // the loop asks the context
	}
	return recovered{}, nil
}

// accept takes connections until the listener is closed.
func (s *Server) accept(ctx context.Context) error {
	for {
		nc, err := s.listener.Accept()
		switch {
		case err == nil:
			s.start(nc)
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the listener was closed because of ctx
		default:
			// Out of file descriptors, most likely: connections that end will free some.
			s.log.Warn("accept connection", zap.Error(err))
			_ = clock.Wait(ctx, 100*time.Millisecond) // the listener is closed when the context ends
		}
	}
}

// start registers a connection and its reader, or closes it if there are too many.
func (s *Server) start(nc net.Conn) {
	s.mu.Lock()
	if s.conns.closed || !s.conns.room() {
		s.mu.Unlock()
		_ = nc.Close() // nobody has used it
		return
	}
	s.nextID++
	c := newConn(s, nc, s.nextID)
	s.conns.add(c)
	s.connWG.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.connWG.Done()
		c.read()
		s.mu.Lock()
		s.conns.remove(c)
		s.mu.Unlock()
	}()
}

// greeted notes that a connection has a session and is not evicted any more.
func (s *Server) greeted(c *conn) {
	s.mu.Lock()
	s.conns.greeted(c)
	s.mu.Unlock()
}

// closeConns closes every open connection; their readers end by that.
func (s *Server) closeConns() {
	s.mu.Lock()
	all := s.conns.all()
	s.mu.Unlock()
	for _, c := range all {
		c.close()
	}
}

func (s *Server) connCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns.len()
}
