// SPDX-License-Identifier: Apache-2.0

// This file makes a server, opens its socket and takes clients in.

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/internal/clock"
	"github.com/gust-stream/gust/internal/openfiles"
	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/shard"
)

// Store is what the server needs of a store; *shard.Store is one.
type Store interface {
	Ready() <-chan struct{}
	Open(ctx context.Context, d stateapi.Definition, resume uint64) (shard.Opened, error)
	Prepare(ctx context.Context, session uint64, txid int64, batch []byte) error
	Commit(ctx context.Context, session uint64, txid int64) (uint64, error)
	Write(ctx context.Context, session uint64, batch []byte) (uint64, error)
	Rollback(ctx context.Context, session uint64) error
	Get(ctx context.Context, session uint64, dst, key []byte) ([]byte, bool, error)
	Iterate(ctx context.Context, session, cursor uint64, want int) ([]shard.Entry, uint64, error)
	Drop(ctx context.Context, session uint64) error

	Namespaces() []shard.Info
	Remove(ctx context.Context, name stateapi.Name) error
	Verify(ctx context.Context) error
	Snapshot(ctx context.Context) error
}

const (
	// DefaultMaxClients bounds connections where Config does not.
	DefaultMaxClients = 32 << 10
	// DefaultMaxPending bounds the bytes of large requests on their way in, all clients together.
	DefaultMaxPending = 1 << 30

	// longestSocket is what fits into a socket's address.
	longestSocket = 107
	// stopTime is what requests that run have when the server stops.
	stopTime = 2 * time.Second
	// watchEvery is how often clients whose request takes long are looked after.
	watchEvery = time.Second
	// acceptPause is the rest after a client could not be taken in.
	acceptPause = 50 * time.Millisecond
)

// Config is what a Server needs.
type Config struct {
	// Socket is the path of the socket. Its folder must exist.
	Socket string
	// Shared lets every user of the machine connect; each can then open states of its own name only. Otherwise the socket is the
	// owner's alone.
	Shared bool
	// MaxClients and MaxPending bound connections and bytes of large requests; 0 is the default.
	MaxClients int
	MaxPending int64
	// Files are those that connections may take; nil is no bound but that on their number.
	Files *openfiles.Share
	// Opened, if set, is told of every session that begins.
	Opened func(d stateapi.Definition, o shard.Opened)
}

// limits bounds slow clients.
type limits struct {
	hello time.Duration // what a client has for its first message
	frame time.Duration // what a frame may take on its way in or out once it has begun; each MiB has a second more
}

// Server serves a Store. Make it with New.
type Server struct {
	cfg     Config
	limits  limits
	store   Store
	log     *zap.Logger
	self    int // our user
	ready   chan struct{}
	pending budget

	mu       sync.Mutex
	clients  map[*client]struct{}
	stopping bool
}

// New makes a Server; it opens nothing.
func New(cfg Config, store Store, log *zap.Logger) *Server {
	if cfg.MaxClients == 0 {
		cfg.MaxClients = DefaultMaxClients
	}
	if cfg.MaxPending == 0 {
		cfg.MaxPending = DefaultMaxPending
	}
	return &Server{
		cfg: cfg, limits: limits{hello: 10 * time.Second, frame: 20 * time.Second}, store: store, log: log, self: os.Geteuid(), ready: make(chan struct{}),
		pending: budget{left: cfg.MaxPending}, clients: map[*client]struct{}{},
	}
}

// Ready is closed when clients can connect. Until the store is ready they are told to come again.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Run serves until ctx ends. Requests that run then have a moment to end.
func (s *Server) Run(ctx context.Context) error {
	listener, err := s.listen()
	if err != nil {
		return fmt.Errorf("open the state socket: %w", err)
	}
	close(s.ready)
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var group errgroup.Group
	group.Go(func() error {
		<-ctx.Done()
		return s.end(listener, stop)
	})
	group.Go(func() error { return s.accept(working, listener, &group) })
	group.Go(func() error { return s.watch(working) })
	err = group.Wait()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil
	}
	return err
}

// listen makes the socket beside its final place, so that nobody meets it with other rights than it shall have, and puts it in the
// place of one that an earlier process left. That no such process lives is for the caller to know.
func (s *Server) listen() (*net.UnixListener, error) {
	if len(s.cfg.Socket) > longestSocket {
		return nil, fmt.Errorf("%s is %d bytes long, a socket's path has at most %d", s.cfg.Socket, len(s.cfg.Socket), longestSocket)
	}
	folder, err := os.MkdirTemp(filepath.Dir(s.cfg.Socket), ".s")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // an empty folder at most
	// The longer path of the new socket may not fit into an address; the folder's open descriptor leads there too.
	held, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer held.Close() //nolint:errcheck // only looked through
	fresh := fmt.Sprintf("/proc/self/fd/%d/s", held.Fd())
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: fresh, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false)
	mode := os.FileMode(0o600)
	if s.cfg.Shared {
		mode = 0o666
	}
	if err := errors.Join(os.Chmod(fresh, mode), os.Rename(fresh, s.cfg.Socket)); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

func (s *Server) accept(ctx context.Context, listener *net.UnixListener, group *errgroup.Group) error {
	for {
		conn, err := listener.AcceptUnix()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			s.log.Warn("could not take in a client of keyed state", zap.Error(err))
			if err := clock.Wait(ctx, acceptPause); err != nil {
				return nil //nolint:nilerr // the server stops
			}
			continue
		}
		c, err := s.admit(ctx, conn)
		if err != nil {
			s.log.Warn("refused a client of keyed state", zap.Error(err))
			_ = conn.Close() // it was never used
			continue
		}
		group.Go(func() error {
			c.serve()
			s.forget(c)
			return nil
		})
	}
}

// admit makes a client of a connection, if there is room for one more.
func (s *Server) admit(ctx context.Context, conn *net.UnixConn) (*client, error) {
	peer, err := credentials(conn)
	if err != nil {
		return nil, err
	}
	c := newClient(ctx, s, conn, peer)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopping:
		err = errStopping
	case len(s.clients) >= s.cfg.MaxClients:
		err = fmt.Errorf("%d clients are connected, as many as may be: %w", len(s.clients), stateapi.ErrNotReady)
	case !s.cfg.Files.Take():
		err = fmt.Errorf("too many open files: %w", stateapi.ErrNotReady)
	default:
		s.clients[c] = struct{}{}
		return c, nil
	}
	c.stop()
	c.refuse(err)
	return nil, err
}

func (s *Server) forget(c *client) {
	s.cfg.Files.Give()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c)
}

func (s *Server) all() []*client {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*client, 0, len(s.clients))
	for c := range s.clients {
		all = append(all, c)
	}
	return all
}

// end takes nobody in any more, closes idle connections at once and the others after their request.
func (s *Server) end(listener *net.UnixListener, stop context.CancelFunc) error {
	defer stop()
	err := listener.Close()
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	for deadline := time.Now().Add(stopTime); ; {
		busy := 0
		for _, c := range s.all() {
			if !c.closeIdle() {
				busy++
			}
		}
		if busy == 0 || time.Now().After(deadline) {
			break
		}
		if err := clock.Wait(context.Background(), 5*time.Millisecond); err != nil { //nolint:contextcheck // ctx has ended
			break
		}
	}
	for _, c := range s.all() {
		c.close()
	}
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// watch ends the requests of clients that have hung up.
func (s *Server) watch(ctx context.Context) error {
	for clock.Wait(ctx, watchEvery) == nil {
		for _, c := range s.all() {
			c.look()
		}
	}
	return nil
}

var errStopping = fmt.Errorf("the state server stops: %w", stateapi.ErrNotReady)

// budget bounds the bytes of large requests that are on their way in.
type budget struct {
	mu   sync.Mutex
	left int64
}

func (b *budget) take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.left {
		return false
	}
	b.left -= n
	return true
}

func (b *budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += n
}
