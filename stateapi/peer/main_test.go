// SPDX-License-Identifier: Apache-2.0

package peer_test

// This file has machines in one process, each with a store, copies and a socket, and a Nimbus of replica's rules.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/peer"
	"github.com/gust-stream/gust/stateapi/replica"
	"github.com/gust-stream/gust/stateapi/shard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come.
const patience = time.Minute

// site is Nimbus and the machines.
type site struct {
	t      *testing.T
	copies int

	mu       sync.Mutex
	configs  map[stateapi.Name]replica.Config
	defs     map[stateapi.Name]stateapi.Definition
	machines map[replica.Peer]*machine
}

func newSite(t *testing.T, copies, machines int) *site {
	t.Helper()
	s := &site{
		t: t, copies: copies, configs: map[stateapi.Name]replica.Config{}, defs: map[stateapi.Name]stateapi.Definition{},
		machines: map[replica.Peer]*machine{},
	}
	for i := range machines {
		s.start(replica.Peer(fmt.Sprintf("m%d", i)))
	}
	return s
}

// machine is one supervisor's share.
type machine struct {
	id     replica.Peer
	dir    string
	memory string
	addr   string
	store  *shard.Store
	keeper *peer.Keeper
	peers  *peer.Peers
	stop   func()
}

// start starts a machine, with the disk that it had.
func (s *site) start(id replica.Peer) {
	s.t.Helper()
	s.mu.Lock()
	old := s.machines[id]
	s.mu.Unlock()
	m := &machine{id: id}
	if old != nil {
		m.dir, m.memory = old.dir, old.memory
	} else {
		memory, err := os.MkdirTemp("/dev/shm", "gust-peer-test-")
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { _ = os.RemoveAll(memory) })
		m.dir, m.memory = s.t.TempDir(), memory
	}
	log := zaptest.NewLogger(s.t, zaptest.Level(zap.ErrorLevel)).Named(string(id))
	m.store = shard.New(shard.Config{Dir: filepath.Join(m.dir, "own"), ArenaDir: m.memory, Capacity: 1 << 33}, log)
	m.keeper = peer.NewKeeper(filepath.Join(m.dir, "copies"), log)
	if err := m.keeper.Open(); err != nil {
		s.t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(s.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	m.addr = l.Addr().String()
	key := []byte("the key of this site")
	m.peers = peer.New(peer.Config{Self: id, Key: key, Keeper: m.keeper, Store: m.store, Control: control{s}}, log)
	m.store.SetCopies(m.peers)
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context()))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return m.store.Run(ctx) })
	group.Go(func() error { return m.keeper.Serve(ctx, l, key) })
	group.Go(func() error { return m.keeper.Run(ctx, m.memory) })
	group.Go(func() error { return m.peers.Run(ctx) })
	var once sync.Once
	m.stop = func() {
		once.Do(func() {
			cancel()
			if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
				s.t.Errorf("%s: %v", id, err)
			}
			if err := m.keeper.Close(context.WithoutCancel(s.t.Context())); err != nil {
				s.t.Errorf("%s: %v", id, err)
			}
		})
	}
	s.t.Cleanup(m.stop)
	s.mu.Lock()
	s.machines[id] = m
	s.mu.Unlock()
	<-m.store.Ready()
}

// lose takes a machine away for good.
func (s *site) lose(id replica.Peer) {
	s.mu.Lock()
	m := s.machines[id]
	delete(s.machines, id)
	s.mu.Unlock()
	m.stop()
}

func (s *site) rules(def stateapi.Definition) replica.Site {
	r := replica.Site{Task: fmt.Sprint(def.Name), Shards: int(def.Shards), Copies: s.copies}
	for id := range s.machines {
		r.Live = append(r.Live, replica.Candidate{Peer: id})
	}
	return r
}

// decide changes Nimbus's word on a task and tells everybody.
func (s *site) decide(def stateapi.Definition, rule func(c replica.Config, known bool, r replica.Site) (replica.Config, bool)) bool {
	s.mu.Lock()
	old, known := s.configs[def.Name]
	c, ok := rule(old, known, s.rules(def))
	var told []*machine
	if ok {
		s.configs[def.Name], s.defs[def.Name] = c, def
		for _, m := range s.machines {
			told = append(told, m)
		}
	}
	s.mu.Unlock()
	for _, m := range told {
		m.peers.Configure(def, c)
	}
	return ok
}

// repair lets Nimbus look after the copies of all tasks.
func (s *site) repair() {
	s.mu.Lock()
	var defs []stateapi.Definition
	for _, d := range s.defs {
		defs = append(defs, d)
	}
	s.mu.Unlock()
	for _, d := range defs {
		s.decide(d, func(c replica.Config, _ bool, r replica.Site) (replica.Config, bool) { return c.Repair(r) })
	}
}

// whole waits until every shard of a task has its copies.
func (s *site) whole(def stateapi.Definition) {
	s.t.Helper()
	s.until("the state has its copies", func() bool {
		s.repair()
		s.mu.Lock()
		defer s.mu.Unlock()
		c := s.configs[def.Name]
		for i := range def.Shards {
			if len(c.Copies) <= int(i) || len(c.Copies[i]) < s.copies {
				return false
			}
		}
		return true
	})
}

func (s *site) until(what string, done func() bool) {
	s.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline:
			s.mu.Lock()
			defer s.mu.Unlock()
			s.t.Fatalf("not within %v: %s; %+v", patience, what, s.configs)
		case <-tick.C:
		}
	}
}

// control is the way to Nimbus.
type control struct{ *site }

func (c control) Config(_ context.Context, name stateapi.Name) (replica.Config, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	config, ok := c.configs[name]
	return config, ok, nil
}

func (c control) Report(_ context.Context, r peer.Report) error {
	c.decide(r.Def, func(old replica.Config, known bool, rules replica.Site) (replica.Config, bool) {
		switch {
		case !known:
			return replica.First(rules, r.From), true
		case r.HasState:
			return old.HasState(r.Epoch)
		case len(r.Ready) > 0:
			return old.Reported(r.From, r.Ready)
		}
		return old, false
	})
	return nil
}

func (c control) Addr(_ context.Context, p replica.Peer) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.machines[p]
	if m == nil {
		return "", fmt.Errorf("%s is away", p)
	}
	return m.addr, nil
}
