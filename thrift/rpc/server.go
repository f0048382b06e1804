// SPDX-License-Identifier: Apache-2.0

// The server as a whole: listening, accepting, stopping.

package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sync/semaphore"

	"github.com/gust-stream/gust/internal/clock"
)

const (
	// firstAcceptPause and lastAcceptPause frame the growing pause after an
	// accept that failed, for example because no more files may be opened.
	firstAcceptPause = 5 * time.Millisecond
	lastAcceptPause  = time.Second
	// sameLogs is how many log entries of one text a second pass: peers
	// decide how many there would be.
	sameLogs = 10
)

// Server answers framed binary calls with a processor.
type Server struct {
	cfg     Config
	fault   error // what is wrong with cfg
	methods map[string]thrift.TProcessorFunction
	log     *zap.Logger

	conns    *conns
	buffers  *bufferPool
	budget   *semaphore.Weighted
	messages sync.Pool
	places   chan struct{} // holds one value for each call that runs
	waiting  atomic.Int64  // calls that wait for a place
	running  sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener // guarded by mu; nil before Listen
}

// New makes a server for a generated processor. It opens nothing; a setting
// that cannot work is reported by Listen and Run. The processor's map of
// methods is read here and must not change later.
func New(cfg Config, processor thrift.TProcessor, logger *zap.Logger) *Server {
	cfg = cfg.withDefaults()
	logger = logger.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, time.Second, sameLogs, 0)
	}))
	s := &Server{cfg: cfg, fault: cfg.check(), methods: processor.ProcessorMap(), log: logger}
	if s.fault != nil {
		return s // good for nothing but telling why
	}
	s.conns = newConns(cfg.MaxConns, cfg.Files)
	s.buffers = newBufferPool(cfg.MaxRequest)
	s.budget = semaphore.NewWeighted(cfg.MaxBuffered)
	s.places = make(chan struct{}, cfg.Workers)
	s.messages.New = func() any {
		m := newMessage(cfg.MaxRequest)
		m.mem.limit = cfg.MaxFrame
		return m
	}
	return s
}

// Listen binds the address and returns it, with the port that was chosen.
// From here on peers can connect; they are served once Run is called. Called
// again it returns the same address.
func (s *Server) Listen() (net.Addr, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		return s.listener.Addr(), nil
	}
	if s.fault != nil {
		return nil, fmt.Errorf("listen on %s: %w", s.cfg.Addr, s.fault)
	}
	l, err := net.Listen("tcp", s.cfg.Addr) //nolint:noctx // binding does not wait
	if err != nil {
		return nil, err // it says where
	}
	s.listener = l
	return l.Addr(), nil
}

// Close gives the address back where Run will not be called after Listen.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return nil
	}
	if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close listener: %w", err)
	}
	return nil
}

// Run serves until ctx ends. Then it accepts nobody, closes idle connections,
// lets running calls end and their replies leave within Config.ShutdownGrace,
// ends the contexts of those that are left, and returns when all have
// returned. An error after that says that calls did not return although their
// context had ended. Run is called once.
func (s *Server) Run(ctx context.Context) error {
	if _, err := s.Listen(); err != nil {
		return err
	}
	base, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	defer cutOff()

	accepted := make(chan error, 1)
	go func() { accepted <- s.accept(ctx, base) }()
	var err error
	select {
	case <-ctx.Done():
		err = s.Close()
		err = errors.Join(err, <-accepted)
	case err = <-accepted:
		err = errors.Join(err, s.Close())
	}
	return errors.Join(err, s.finish(cutOff))
}

// accept starts a goroutine for each peer until the listener is closed.
func (s *Server) accept(ctx, base context.Context) error {
	s.mu.Lock()
	listener := s.listener
	s.mu.Unlock()
	pause := firstAcceptPause
	for {
		raw, err := listener.Accept()
		if ctx.Err() != nil {
			if err == nil {
				_ = raw.Close() // the peer sees it as it would see a closed port
			}
			return nil
		}
		if errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("accept on %s: %w", listener.Addr(), err)
		}
		if err != nil {
			s.log.Warn("accept put off", zap.Duration("pause", pause), zap.Error(err))
			_ = clock.Wait(ctx, pause) // the listener is closed when the context ends
			pause = min(2*pause, lastAcceptPause)
			continue
		}
		pause = firstAcceptPause
		s.welcome(base, raw)
	}
}

// welcome finds a place for a new peer and starts serving it.
func (s *Server) welcome(base context.Context, raw net.Conn) {
	c := newConn(s, raw)
	evicted, ok := s.conns.add(c)
	if evicted != nil {
		s.log.Warn("idle connection closed for a new one", zap.Stringer("peer", evicted.peer.Addr), zap.Int("connections", s.cfg.MaxConns))
	}
	if !ok {
		s.log.Warn("connection refused", zap.Stringer("peer", c.peer.Addr), zap.Int("connections", s.cfg.MaxConns))
		_ = raw.Close() // nothing is left to be done about it
		return
	}
	s.running.Go(func() { c.serve(base) })
}

// finish waits for the connections to end, with less and less patience.
func (s *Server) finish(cutOff context.CancelFunc) error {
	s.conns.drain()
	ended := make(chan struct{})
	go func() {
		s.running.Wait()
		close(ended)
	}()
	if endsWithin(ended, s.cfg.ShutdownGrace) {
		return nil
	}
	s.log.Warn("calls cut off", zap.Int("connections", s.conns.len()), zap.Duration("grace", s.cfg.ShutdownGrace))
	cutOff()
	s.conns.closeAll()
	if endsWithin(ended, s.cfg.ShutdownGrace) {
		return nil
	}
	return fmt.Errorf("stop server: %d calls have not returned %s after their context ended", len(s.places), s.cfg.ShutdownGrace)
}

func endsWithin(ended <-chan struct{}, limit time.Duration) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-ended:
		return true
	case <-t.C:
		return false
	}
}
