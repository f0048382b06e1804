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

	"github.com/gust-stream/gust/thrift/rpc"
	"github.com/gust-stream/gust/thrift/storm"
)

// maxIdle is how many connections to Nimbus are kept for the next call: one for each loop and each download thread.
const maxIdle = 8

// nimbus finds the leader among the seeds and calls it. It is safe for use by several goroutines.
type nimbus struct {
	seeds []string
	port  int
	cfg   rpc.ClientConfig

	mu     sync.Mutex
	leader string // host:port, "" when not known
	idle   []*nimbusConn
	closed bool
}

// nimbusConn is one connection to the leader.
type nimbusConn struct {
	conn   *rpc.Client
	calls  *storm.NimbusClient
	reused bool
}

func newNimbus(cfg Config) *nimbus {
	return &nimbus{seeds: cfg.NimbusSeeds, port: cfg.NimbusPort, cfg: rpc.ClientConfig{
		ConnectTimeout: nimbusConnectTimeout, CallTimeout: nimbusCallTimeout, MaxFrame: cfg.NimbusMaxFrame,
	}}
}

// call runs do with a connection to the leader. When a connection that has been idle turns out to be dead, do runs once
// more with a new one; so it must be a call that may be made twice.
func (n *nimbus) call(ctx context.Context, do func(context.Context, *storm.NimbusClient) error) error {
	for {
		c, err := n.take(ctx)
		if err != nil {
			return err
		}
		reused := c.reused
		err = do(ctx, c.calls)
		n.give(c, err)
		if err == nil || isAnswer(err) || !reused || ctx.Err() != nil {
			return err
		}
	}
}

// take returns an idle connection or opens one. Whoever takes one gives it back.
func (n *nimbus) take(ctx context.Context) (*nimbusConn, error) {
	n.mu.Lock()
	if last := len(n.idle) - 1; last >= 0 {
		c := n.idle[last]
		n.idle = n.idle[:last]
		n.mu.Unlock()
		c.reused = true
		return c, nil
	}
	leader := n.leader
	n.mu.Unlock()
	if leader != "" {
		if c, err := n.dial(ctx, leader); err == nil {
			return c, nil
		}
	}
	return n.find(ctx)
}

// give keeps a connection for the next call, unless the call left it broken: then the others are most likely dead as
// well, and another Nimbus may lead now.
func (n *nimbus) give(c *nimbusConn, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	broken := err != nil && !isAnswer(err)
	if broken {
		n.forget()
	}
	if broken || n.closed || len(n.idle) >= maxIdle || c.conn.Peer() != n.leader {
		_ = c.conn.Close() // it is given up anyway
		return
	}
	n.idle = append(n.idle, c)
}

// find asks the seeds, one after the other, who leads.
func (n *nimbus) find(ctx context.Context) (*nimbusConn, error) {
	var faults []error
	for _, seed := range n.seeds {
		addr := net.JoinHostPort(seed, strconv.Itoa(n.port))
		c, err := n.ask(ctx, addr)
		if err == nil {
			n.mu.Lock()
			n.leader = c.conn.Peer()
			n.mu.Unlock()
			return c, nil
		}
		faults = append(faults, err)
	}
	return nil, fmt.Errorf("no leading nimbus found: %w", errors.Join(faults...))
}

// ask asks one seed, and connects to the leader if that is another.
func (n *nimbus) ask(ctx context.Context, addr string) (*nimbusConn, error) {
	c, err := n.dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	leader, err := c.leader(ctx)
	if err == nil && leader == addr {
		return c, nil
	}
	_ = c.conn.Close() // it is not the one that is wanted
	if err != nil {
		return nil, err
	}
	return n.dial(ctx, leader)
}

// confirm asks the leader whether it still leads, and forgets it if not: a Nimbus that has lost the lead takes
// heartbeats and drops them.
func (n *nimbus) confirm(ctx context.Context) error {
	c, err := n.take(ctx)
	if err != nil {
		return err
	}
	leader, err := c.leader(ctx)
	if err != nil || leader != c.conn.Peer() {
		n.mu.Lock()
		n.forget()
		n.mu.Unlock()
	}
	n.give(c, err)
	return err
}

// forget drops what is known of the leader. Callers hold mu.
func (n *nimbus) forget() {
	n.leader = ""
	for _, c := range n.idle {
		_ = c.conn.Close() // it is given up anyway
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

func (n *nimbus) dial(ctx context.Context, addr string) (*nimbusConn, error) {
	conn, err := rpc.Dial(ctx, addr, n.cfg)
	if err != nil {
		return nil, err
	}
	return &nimbusConn{conn: conn, calls: storm.NewNimbusClient(conn)}, nil
}

func (c *nimbusConn) leader(ctx context.Context) (string, error) {
	leader, err := c.calls.GetLeader(ctx)
	if err != nil {
		return "", fmt.Errorf("ask %s for the leader: %w", c.conn.Peer(), err)
	}
	return net.JoinHostPort(leader.Host, strconv.Itoa(int(leader.Port))), nil
}

// isAnswer says whether an error came out of the other side's handler, so that the connection is as good as before.
func isAnswer(err error) bool {
	var application thrift.TApplicationException
	var authorization *storm.AuthorizationException
	var unknownKey *storm.KeyNotFoundException
	var notAlive *storm.NotAliveException
	if errors.As(err, &application) {
		return !slices.Contains([]int32{
			thrift.WRONG_METHOD_NAME, thrift.BAD_SEQUENCE_ID, thrift.INVALID_MESSAGE_TYPE_EXCEPTION, thrift.PROTOCOL_ERROR,
		}, application.TypeId())
	}
	return errors.As(err, &authorization) || errors.As(err, &unknownKey) || errors.As(err, &notAlive)
}
