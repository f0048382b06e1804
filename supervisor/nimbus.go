// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file calls the leading Nimbus over connections that stay open. Storm's supervisor opens one for every call.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/gust-stream/gust/thrift/leader"
	"github.com/gust-stream/gust/thrift/rpc"
	"github.com/gust-stream/gust/thrift/storm"
)

// maxIdle is how many connections to Nimbus are kept for the next call: one for each loop and each download thread.
const maxIdle = 8

// maxFrame bounds what Nimbus sends: assignments, pushed or asked for. Storm's bound holds about 20,000 executors.
const maxFrame = rpc.LargeFrame

// nimbus keeps connections to the leader. It is safe for use by several goroutines.
type nimbus struct {
	cfg leader.Config

	mu     sync.Mutex
	idle   []*leader.Nimbus // all to one address
	closed bool
}

func newNimbus(cfg Config) *nimbus {
	return &nimbus{cfg: leader.Config{
		Seeds: cfg.NimbusSeeds, Port: cfg.NimbusPort,
		RPC: rpc.ClientConfig{ConnectTimeout: nimbusConnectTimeout, CallTimeout: nimbusCallTimeout, MaxFrame: max(cfg.NimbusMaxFrame, maxFrame)},
	}}
}

// call runs do with a connection to the leader. When a connection that has been idle turns out to be dead, do runs again
// with a new one; so it must be a call that may be made twice.
func (n *nimbus) call(ctx context.Context, do func(context.Context, *leader.Nimbus) error) error {
	for {
		c, reused, err := n.take(ctx)
		if err != nil {
			return err
		}
		err = do(ctx, c)
		n.give(c, err)
		if err == nil || isAnswer(err) || !reused || ctx.Err() != nil {
			return err
		}
	}
}

// take returns an idle connection or opens one. Whoever takes one gives it back.
func (n *nimbus) take(ctx context.Context) (c *leader.Nimbus, reused bool, err error) {
	n.mu.Lock()
	if last := len(n.idle) - 1; last >= 0 {
		c, n.idle = n.idle[last], n.idle[:last]
	}
	n.mu.Unlock()
	if c != nil {
		return c, true, nil
	}
	c, err = leader.Dial(ctx, n.cfg)
	return c, false, err
}

// give keeps a connection for the next call, unless the call left it broken: then the others are most likely dead as
// well, and another Nimbus may lead now.
func (n *nimbus) give(c *leader.Nimbus, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	broken := err != nil && !isAnswer(err)
	if broken || (len(n.idle) > 0 && n.idle[0].Addr() != c.Addr()) {
		n.forget()
	}
	if broken || n.closed || len(n.idle) >= maxIdle {
		_ = c.Close() // it is given up anyway
		return
	}
	n.idle = append(n.idle, c)
}

// confirm asks the leader whether it still leads, and gives up all connections if not: a Nimbus that has lost the lead
// takes heartbeats and drops them.
func (n *nimbus) confirm(ctx context.Context) error {
	return n.call(ctx, func(ctx context.Context, c *leader.Nimbus) error {
		summary, err := c.GetLeader(ctx)
		if err != nil {
			return err
		}
		named := net.JoinHostPort(summary.Host, strconv.Itoa(int(summary.Port)))
		if named != c.Addr() {
			return fmt.Errorf("nimbus at %s says that %s leads: %w", c.Addr(), named, errMoved)
		}
		return nil
	})
}

// errMoved tells that another Nimbus leads than the one that is connected. It is no answer, so the connections are given
// up and the next call finds the leader.
var errMoved = errors.New("the leader is another")

// forget closes the idle connections. Callers hold mu.
func (n *nimbus) forget() {
	for _, c := range n.idle {
		_ = c.Close() // it is given up anyway
	}
	n.idle = nil
}

// close ends all idle connections; those in use end when they are given back.
func (n *nimbus) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forget()
	n.closed = true
}

// isAnswer says whether an error came out of the other side's handler, so that the connection is as good as before.
func isAnswer(err error) bool {
	if application, ok := errors.AsType[thrift.TApplicationException](err); ok {
		return !slices.Contains([]int32{
			thrift.WRONG_METHOD_NAME, thrift.BAD_SEQUENCE_ID, thrift.INVALID_MESSAGE_TYPE_EXCEPTION, thrift.PROTOCOL_ERROR,
		}, application.TypeId())
	}
	_, authorization := errors.AsType[*storm.AuthorizationException](err)
	_, unknownKey := errors.AsType[*storm.KeyNotFoundException](err)
	_, notAlive := errors.AsType[*storm.NotAliveException](err)
	return authorization || unknownKey || notAlive
}
