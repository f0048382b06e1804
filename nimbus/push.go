// SPDX-License-Identifier: Apache-2.0

// Telling supervisors their assignments at once. A push that does not arrive does no harm: supervisors also ask by themselves.

package nimbus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/internal/clock"
	"github.com/gust-stream/gust/thrift/rpc"
	"github.com/gust-stream/gust/thrift/storm"
)

const (
	pushers     = 32 // pushes that run at once
	pushTries   = 3  // tries for one supervisor before its poll must do
	pushPause   = 200 * time.Millisecond
	pushTimeout = 5 * time.Second // Storm's supervisor socket timeout
)

// pushTarget is a supervisor: where it listens, how large a frame it takes, and all it should run.
type pushTarget struct {
	addr        string
	maxFrame    int
	assignments *storm.SupervisorAssignments
}

// pusher sends assignments to supervisors, each one's newest only.
type pusher struct {
	// target finds a supervisor; ok is false when it cannot be reached or is gone.
	target func(node string) (to pushTarget, ok bool)
	log    *zap.Logger

	mu sync.Mutex
	// pending are the supervisors to tell; guarded by mu.
	pending map[string]bool
	wake    chan struct{}
}

func newPusher(log *zap.Logger, target func(string) (pushTarget, bool)) *pusher {
	return &pusher{target: target, log: log, pending: map[string]bool{}, wake: make(chan struct{}, 1)}
}

// tell lets the named supervisors know. What they are told is read when it is sent, so waiting calls merge.
func (p *pusher) tell(nodes map[string]bool) {
	if len(nodes) == 0 {
		return
	}
	p.mu.Lock()
	maps.Copy(p.pending, nodes)
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run sends until ctx ends.
func (p *pusher) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	places := make(chan struct{}, pushers)
	busy := map[string]chan struct{}{}
	for {
		select {
		case <-ctx.Done():
			return group.Wait()
		case <-p.wake:
		}
		p.mu.Lock()
		nodes := slices.Collect(maps.Keys(p.pending))
		clear(p.pending)
		p.mu.Unlock()
		for _, node := range nodes {
			after, done := busy[node], make(chan struct{})
			busy[node] = done
			group.Go(func() error {
				defer close(done)
				if after != nil {
					<-after // one after the other, or an old set could arrive last
				}
				select {
				case places <- struct{}{}:
					defer func() { <-places }()
					p.push(ctx, node)
				case <-ctx.Done():
				}
				return nil
			})
		}
		for node, done := range busy {
			select {
			case <-done:
				delete(busy, node)
			default:
			}
		}
	}
}

// push tells one supervisor, with a few tries. What is too large for it would be so at each of them.
func (p *pusher) push(ctx context.Context, node string) {
	for try := range pushTries {
		to, ok := p.target(node)
		if !ok {
			return
		}
		err := send(ctx, to)
		if err == nil || ctx.Err() != nil {
			return
		}
		if _, large := errors.AsType[*rpc.FrameSizeError](err); large {
			p.log.Warn("assignments are too large to be pushed, the supervisor must ask for them", zap.String("node", node), zap.Error(err))
			return
		}
		p.log.Warn("assignments not delivered", zap.String("node", node), zap.String("address", to.addr), zap.Int("try", try+1), zap.Error(err))
		if clock.Wait(ctx, pushPause) != nil {
			return
		}
	}
}

func send(ctx context.Context, to pushTarget) error {
	client, err := rpc.Dial(ctx, to.addr, rpc.ClientConfig{ConnectTimeout: pushTimeout, CallTimeout: pushTimeout, MaxFrame: to.maxFrame})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // whether it was delivered is known by then
	if err := storm.NewSupervisorClient(client).SendSupervisorAssignments(ctx, to.assignments); err != nil {
		return fmt.Errorf("send assignments: %w", err)
	}
	return nil
}

// findTarget looks a supervisor up. It is told what all supervisors of its host should run, and takes out its own.
func (n *Nimbus) findTarget(node string) (pushTarget, bool) {
	info := n.model.supervisorsNow()[node]
	if info == nil || info.GetServerPort() == 0 || !n.model.isLoaded() {
		return pushTarget{}, false
	}
	set := map[string]*storm.Assignment{}
	for _, t := range n.model.all() {
		if t.assignment == nil {
			continue
		}
		for _, host := range t.assignment.NodeHost {
			if host == info.Hostname {
				set[t.id] = t.assignment
				break
			}
		}
	}
	return pushTarget{
		addr:        net.JoinHostPort(info.Hostname, strconv.Itoa(int(info.GetServerPort()))),
		maxFrame:    min(cluster.MaxFrame(info, rpc.DefaultMaxFrame), rpc.LargeFrame),
		assignments: &storm.SupervisorAssignments{StormAssignment: set},
	}, true
}
