// SPDX-License-Identifier: Apache-2.0

// This file has this machine among the others: which tasks' states it owns, what Nimbus said of them, and the ways to all peers.

package peer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/replica"
	"github.com/gust-stream/gust/stateapi/shard"
)

// retryPause is the wait before something that failed is tried again.
const retryPause = 300 * time.Millisecond

// Control is the way to Nimbus and to what it has decided.
type Control interface {
	// Config reads Nimbus's newest word on a task, not one that was read before. False: there is none.
	Config(ctx context.Context, name stateapi.Name) (replica.Config, bool, error)
	// Report tells Nimbus something; it comes to pass as a new Config.
	Report(ctx context.Context, r Report) error
	// Addr is where a peer listens.
	Addr(ctx context.Context, p replica.Peer) (string, error)
}

// Report is what an owner, or one that would be, tells Nimbus.
type Report struct {
	Def      stateapi.Definition
	From     replica.Peer
	Epoch    uint64                 // the newest that the sender has seen, 0: none
	HasState bool                   `json:",omitempty"` // the owner of this epoch has the state
	Ready    map[int][]replica.Peer `json:",omitempty"` // learners in step, by shard
	Wanted   bool                   `json:",omitempty"` // a client has asked for the state here
	Lost     bool                   `json:",omitempty"` // the owner's disk has lost the state
}

// Config is what Peers are made of.
type Config struct {
	Self    replica.Peer
	Key     []byte // known to all peers of the site and to nobody else
	Keeper  *Keeper
	Store   *shard.Store
	Control Control
	// CopyBytes bounds the bytes a second in which copies are made anew, so that streams do not suffer; 0: no bound. Recovery is not bounded.
	CopyBytes int
}

// Peers is this machine as an owner of states. It is the store's shard.Copies.
type Peers struct {
	Config
	log   *zap.Logger
	limit *rate.Limiter // nil: none

	mu      sync.Mutex      // guards all below
	ctx     context.Context //nolint:containedctx // that of Run
	group   *errgroup.Group
	remotes map[replica.Peer]*remote
	tasks   map[stateapi.Name]*task
}

// New makes Peers.
func New(c Config, log *zap.Logger) *Peers {
	p := &Peers{Config: c, log: log.Named("peers"), remotes: map[replica.Peer]*remote{}, tasks: map[stateapi.Name]*task{}}
	if c.CopyBytes > 0 {
		p.limit = rate.NewLimiter(rate.Limit(c.CopyBytes), max(c.CopyBytes/10, chunk))
	}
	return p
}

// Run works until ctx ends: nothing of Peers works before.
func (p *Peers) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	p.mu.Lock()
	p.ctx, p.group = ctx, group
	for _, t := range p.tasks {
		p.start(t)
	}
	p.mu.Unlock()
	group.Go(func() error {
		<-ctx.Done()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ctx = nil
		for _, r := range p.remotes {
			control, _ := r.links()
			r.reset(control)
		}
		return nil
	})
	return group.Wait()
}

// Configure hands on Nimbus's word on a task.
func (p *Peers) Configure(def stateapi.Definition, c replica.Config) {
	p.task(def, c.Owner == p.Self).configure(c)
}

// task finds what is known of a task, or begins with it. Without start one that this machine has nothing to do with stays idle.
func (p *Peers) task(def stateapi.Definition, start bool) *task {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tasks[def.Name]
	if t == nil {
		t = &task{peers: p, def: def, wake: make(chan struct{}, 1), changed: make(chan struct{}), busy: map[replica.Peer]bool{}, installs: map[target]*install{}}
		p.tasks[def.Name] = t
	}
	t.wanted = t.wanted || start
	p.start(t)
	return t
}

// start runs a task that is wanted. The caller holds mu.
func (p *Peers) start(t *task) {
	if t.wanted && !t.running && p.ctx != nil {
		t.running = true
		ctx := p.ctx
		p.group.Go(func() error {
			t.run(ctx)
			return nil
		})
	}
}

// spawn runs a request beside everything else; it ends with Run.
func (p *Peers) spawn(do func(ctx context.Context)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx == nil {
		return
	}
	ctx := p.ctx
	p.group.Go(func() error {
		do(ctx)
		return nil
	})
}

func (p *Peers) remote(peer replica.Peer) *remote {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.remotes[peer]
	if r == nil {
		r = &remote{peer: peer, self: p.Self, key: p.Key, addr: p.Control.Addr}
		p.remotes[peer] = r
	}
	return r
}

// Ready returns when this machine may answer for a task's state.
func (p *Peers) Ready(ctx context.Context, def stateapi.Definition) error {
	return p.task(def, true).ready(ctx)
}

// Begin numbers a change; see shard.Copies.
func (p *Peers) Begin(def stateapi.Definition, kind shard.Kind, txid int64, batch []byte) ([]byte, error) {
	return p.task(def, true).begin(kind, txid, batch)
}

// Spread takes a change to all copies; see shard.Copies.
func (p *Peers) Spread(ctx context.Context, name stateapi.Name, _, _ []byte) error {
	p.mu.Lock()
	t := p.tasks[name]
	p.mu.Unlock()
	if t == nil {
		return fmt.Errorf("%v was not begun: %w", name, stateapi.ErrNotReady)
	}
	return t.spread(ctx)
}
