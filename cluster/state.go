// SPDX-License-Identifier: Apache-2.0

// This file opens a session and holds the plain node operations that the typed calls are made of.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/internal/clock"
)

// ErrClosed tells that the session was closed by Close.
var ErrClosed = errors.New("cluster state is closed")

// ErrTooLarge tells that a write is more than a server takes. It was not sent: the server would close the connection, and all
// other calls that are under way with it.
var ErrTooLarge = errors.New("more than the cluster state takes in one write")

// MaxWrite is how many bytes one write may have, a batch being one: ZooKeeper's jute.maxbuffer with room for what stands around them.
const MaxWrite = 0xfffff - 8<<10

// checkSize refuses what is too large to be sent.
func checkSize(node string, size int) error {
	if size > MaxWrite {
		return fmt.Errorf("write %s: %d bytes, at most %d: %w", node, size, MaxWrite, ErrTooLarge)
	}
	return nil
}

// Config says where the cluster state is.
type Config struct {
	// Servers are host:port pairs (storm.zookeeper.servers and storm.zookeeper.port).
	Servers []string
	// Root is the path below which everything lies (storm.zookeeper.root); "" is the server's root.
	Root string
	// SessionTimeout is asked of the server (storm.zookeeper.session.timeout); zero is 20 s.
	SessionTimeout time.Duration
	// ConnectTimeout bounds the wait for the first session (storm.zookeeper.connection.timeout); zero is 15 s.
	ConnectTimeout time.Duration
	// Scheme and Auth authenticate the session when Scheme is not empty; nodes are then open to their creator only.
	Scheme string
	Auth   []byte
}

// State is one session with the cluster state. It is safe for use by many goroutines.
type State struct {
	conn *zk.Conn
	dial *dialer
	root string
	acl  []zk.ACL
	log  *zap.Logger

	mu       sync.Mutex
	sessions map[chan struct{}]struct{} // guarded by mu
	done     chan struct{}
	drained  chan struct{}
}

// firstComplaint is when servers that do not answer are first complained of.
const firstComplaint = 1500 * time.Millisecond

// nodeMark is what Storm's processes put into nodes that have no payload.
func nodeMark() []byte { return []byte{7} }

// Connect opens a session, waits until the server answers, and makes the nodes that every Storm process expects. The
// error names the servers.
func Connect(ctx context.Context, cfg Config, log *zap.Logger) (*State, error) {
	if cfg.SessionTimeout == 0 {
		cfg.SessionTimeout = 20 * time.Second
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 15 * time.Second
	}
	if len(cfg.Servers) == 0 {
		return nil, errors.New("connect to cluster state: no server is named (storm.zookeeper.servers)")
	}
	dial := &dialer{}
	conn, events, err := zk.Connect(cfg.Servers, cfg.SessionTimeout, zk.WithLogInfo(false), zk.WithLogger(printer{log.Named("zk").Sugar()}),
		zk.WithMaxBufferSize(maxPayload), zk.WithDialer(dial.dial))
	if err != nil {
		return nil, fmt.Errorf("connect to cluster state at %s: %w", strings.Join(cfg.Servers, ","), err)
	}
	s := &State{
		conn: conn, dial: dial, root: strings.TrimSuffix(cfg.Root, "/"), acl: zk.WorldACL(zk.PermAll), log: log,
		sessions: map[chan struct{}]struct{}{}, done: make(chan struct{}), drained: make(chan struct{}),
	}
	ready := s.Sessions()
	go s.follow(events)
	ctx, cancel := context.WithTimeout(ctx, cfg.ConnectTimeout)
	var complaints sync.WaitGroup
	complaints.Go(func() { s.complain(ctx, cfg.Servers) })
	defer complaints.Wait()
	defer cancel()
	if err := s.open(ctx, cfg, ready); err != nil {
		s.Close()
		return nil, fmt.Errorf("connect to cluster state at %s: %w", strings.Join(cfg.Servers, ","), err)
	}
	return s, nil
}

// complain says now and then that the servers do not answer, until ctx ends.
func (s *State) complain(ctx context.Context, servers []string) {
	started := time.Now()
	for pause := firstComplaint; clock.Wait(ctx, pause) == nil; pause *= 2 {
		s.log.Warn("cluster state does not answer, still trying", zap.Strings("servers", servers),
			zap.Duration("waited", time.Since(started).Round(time.Second)), zap.NamedError("last", s.dial.fault()))
	}
}

func (s *State) open(ctx context.Context, cfg Config, ready <-chan struct{}) error {
	if cfg.Scheme != "" {
		s.acl = zk.AuthACL(zk.PermAll)
		if err := s.call(ctx, func() error { return s.conn.AddAuth(cfg.Scheme, cfg.Auth) }); err != nil {
			return err
		}
	}
	select {
	case <-ready:
	case <-ctx.Done():
		return fmt.Errorf("no session within %s: %w", cfg.ConnectTimeout, ctx.Err())
	}
	for _, dir := range roots() {
		if err := s.mkdir(ctx, dir); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the session; its ephemeral nodes vanish at once. Calls that are under way return an error.
func (s *State) Close() {
	select {
	case <-s.done:
		return
	default:
	}
	close(s.done)
	s.conn.Close() // waits a moment for the server to end the session
	s.dial.close()
	<-s.drained
}

// Sessions returns a channel that receives a mark each time a session was established, the first one included: whoever
// holds ephemeral nodes then writes them again. Marks that nobody has taken yet are merged.
func (s *State) Sessions() <-chan struct{} {
	c := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[c] = struct{}{}
	return c
}

// follow passes session events on until the connection ends.
func (s *State) follow(events <-chan zk.Event) {
	defer close(s.drained)
	for event := range events {
		if event.Type != zk.EventSession {
			continue
		}
		switch event.State {
		case zk.StateHasSession:
			s.tellSessions()
		case zk.StateExpired:
			s.log.Warn("cluster state session expired")
		default:
		}
		select {
		case <-s.done:
			return
		default:
		}
	}
}

func (s *State) tellSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.sessions {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// call runs a blocking client call so that the caller's context can end the wait. The client fails its calls when the
// connection breaks, so the goroutine ends then at the latest.
func (s *State) call(ctx context.Context, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	result := make(chan error, 1)
	go func() { result <- do() }()
	select {
	case err := <-result:
		return named(err)
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return ErrClosed
	}
}

// named gives an error that the client library has no name for the one it has here. gust's own server refuses changes with
// code -7 while its disk is full.
func named(err error) error {
	if err != nil && err.Error() == "unknown error: -7" {
		return fmt.Errorf("the cluster state takes no changes: %w", syscall.ENOSPC)
	}
	return err
}

// get returns a node's data, or nil and no error when the node is absent.
func (s *State) get(ctx context.Context, node string) ([]byte, error) {
	var data []byte
	err := s.call(ctx, func() (err error) {
		data, _, err = s.conn.Get(s.root + node)
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", node, err)
	}
	if data == nil {
		data = []byte{}
	}
	return data, nil
}

// set writes a node, made with its parents when it is absent.
func (s *State) set(ctx context.Context, node string, data []byte) error {
	if err := checkSize(node, len(data)); err != nil {
		return err
	}
	err := s.call(ctx, func() error {
		_, err := s.conn.Set(s.root+node, data, -1)
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		err = s.create(ctx, node, data, 0)
		if errors.Is(err, zk.ErrNodeExists) {
			return s.set(ctx, node, data)
		}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", node, err)
	}
	return nil
}

// create makes a node, with its parents when they are absent.
func (s *State) create(ctx context.Context, node string, data []byte, flags int32) error {
	if err := checkSize(node, len(data)); err != nil {
		return err
	}
	make1 := func() error {
		_, err := s.conn.Create(s.root+node, data, flags, s.acl)
		return err
	}
	err := s.call(ctx, make1)
	if errors.Is(err, zk.ErrNoNode) {
		if err := s.mkdir(ctx, path.Dir(node)); err != nil {
			return err
		}
		err = s.call(ctx, make1)
	}
	return err
}

// mkdir makes a node and its parents; one that exists is left alone.
func (s *State) mkdir(ctx context.Context, node string) error {
	full := s.root
	if node != "/" {
		full += node
	}
	for end := 1; end <= len(full); end++ {
		if end < len(full) && full[end] != '/' {
			continue
		}
		err := s.call(ctx, func() error {
			exists, _, err := s.conn.Exists(full[:end])
			if err != nil || exists {
				return err
			}
			_, err = s.conn.Create(full[:end], nodeMark(), 0, s.acl)
			return err
		})
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return fmt.Errorf("make %s: %w", full[:end], err)
		}
	}
	return nil
}

// children returns a node's children, none when it is absent.
func (s *State) children(ctx context.Context, node string) ([]string, error) {
	var names []string
	err := s.call(ctx, func() (err error) {
		names, _, err = s.conn.Children(s.root + node)
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", node, err)
	}
	return names, nil
}

// remove deletes a node and everything below it; one that is absent is no error.
func (s *State) remove(ctx context.Context, node string) error {
	err := s.call(ctx, func() error { return s.conn.Delete(s.root+node, -1) })
	if errors.Is(err, zk.ErrNotEmpty) {
		names, err := s.children(ctx, node)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := s.remove(ctx, node+"/"+name); err != nil {
				return err
			}
		}
		return s.remove(ctx, node)
	}
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("remove %s: %w", node, err)
	}
	return nil
}

// setEphemeral makes a node that lives as long as this session. A node of the same name that another session left (a
// process that was killed and is back before its session ran out) is replaced.
func (s *State) setEphemeral(ctx context.Context, node string, data []byte) error {
	if err := checkSize(node, len(data)); err != nil {
		return err
	}
	var stat *zk.Stat
	err := s.call(ctx, func() (err error) {
		stat, err = s.conn.Set(s.root+node, data, -1)
		return err
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
	case err != nil:
		return fmt.Errorf("write %s: %w", node, err)
	case stat.EphemeralOwner == s.conn.SessionID():
		return nil
	default:
		if err := s.remove(ctx, node); err != nil {
			return err
		}
	}
	if err := s.create(ctx, node, data, zk.FlagEphemeral); err != nil {
		return fmt.Errorf("write %s: %w", node, err)
	}
	return nil
}

// put encodes a struct and writes it to a child of dir.
func (s *State) put(ctx context.Context, dir, name string, value thrift.TStruct) error {
	node, err := child(dir, name)
	if err != nil {
		return err
	}
	data, err := Encode(ctx, value)
	if err != nil {
		return err
	}
	return s.set(ctx, node, data)
}

// fetch reads a node into value and says whether the node was there.
func (s *State) fetch(ctx context.Context, node string, value thrift.TStruct) (bool, error) {
	data, err := s.get(ctx, node)
	if err != nil || data == nil {
		return false, err
	}
	if err := Decode(ctx, data, value); err != nil {
		return false, fmt.Errorf("read %s: %w", node, err)
	}
	return true, nil
}

// drop removes a child of dir with everything below it.
func (s *State) drop(ctx context.Context, dir, name string) error {
	node, err := child(dir, name)
	if err != nil {
		return err
	}
	return s.remove(ctx, node)
}

// printer lets the client library write to zap.
type printer struct{ log *zap.SugaredLogger }

// Printf takes a line of the client library.
func (p printer) Printf(format string, args ...any) { p.log.Debugf(format, args...) }
