// SPDX-License-Identifier: Apache-2.0

package worker

// This file talks to the supervisor of this machine, and to Nimbus while there is none.

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/leader"
	"github.com/gust-stream/gust/thrift/rpc"
	"github.com/gust-stream/gust/thrift/storm"
)

// callTimeout bounds a call to the supervisor or to Nimbus; both answer from memory.
const callTimeout = 5 * time.Second

// upstream is the supervisor. It keeps one connection and is safe for concurrent use; one call runs at a time.
type upstream struct {
	addr   string
	nimbus leader.Config

	mu   sync.Mutex
	conn *rpc.Client // nil if there is none
}

func newUpstream(conf config.Conf, host string, supervisorPort int) *upstream {
	limits := rpc.ClientConfig{ConnectTimeout: callTimeout, CallTimeout: callTimeout}
	return &upstream{
		addr: net.JoinHostPort(host, strconv.Itoa(supervisorPort)),
		nimbus: leader.Config{
			Seeds: conf.Strings(config.NimbusSeeds), Port: int(conf.Int(config.NimbusThriftPort, 6627)), RPC: limits,
		},
	}
}

// call makes a call to the supervisor, anew if a connection that was left open turns out to be dead.
func (u *upstream) call(ctx context.Context, do func(context.Context, *storm.SupervisorClient) error) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for {
		kept := u.conn != nil
		if !kept {
			conn, err := rpc.Dial(ctx, u.addr, u.nimbus.RPC)
			if err != nil {
				return err
			}
			u.conn = conn
		}
		err := do(ctx, storm.NewSupervisorClient(u.conn))
		if err == nil || isAnswer(err) {
			return err
		}
		_ = u.conn.Close() // it is given up anyway
		u.conn = nil
		if !kept || ctx.Err() != nil {
			return err
		}
	}
}

// assignment asks for the assignment of a topology. It is nil without an error where the supervisor has none.
func (u *upstream) assignment(ctx context.Context, topologyID string) (*storm.Assignment, error) {
	var a *storm.Assignment
	err := u.call(ctx, func(ctx context.Context, c *storm.SupervisorClient) (err error) {
		a, err = c.GetLocalAssignmentForStorm(ctx, topologyID)
		return err
	})
	if _, none := errors.AsType[*storm.NotAliveException](err); none {
		return nil, nil
	}
	return a, err
}

// beat says that this worker lives: to the supervisor, or to Nimbus if that does not answer.
func (u *upstream) beat(ctx context.Context, beat *storm.SupervisorWorkerHeartbeat) error {
	err := u.call(ctx, func(ctx context.Context, c *storm.SupervisorClient) error {
		return c.SendSupervisorWorkerHeartbeat(ctx, beat)
	})
	if err == nil || isAnswer(err) || ctx.Err() != nil {
		return err
	}
	n, err2 := leader.Dial(ctx, u.nimbus)
	if err2 != nil {
		return errors.Join(err, err2)
	}
	return errors.Join(n.SendSupervisorWorkerHeartbeat(ctx, beat), n.Close())
}

func (u *upstream) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conn != nil {
		_ = u.conn.Close() // the process ends
		u.conn = nil
	}
}

// isAnswer says whether an error came out of the other side's handler.
func isAnswer(err error) bool {
	_, notAlive := errors.AsType[*storm.NotAliveException](err)
	_, refused := errors.AsType[*storm.AuthorizationException](err)
	_, application := errors.AsType[thrift.TApplicationException](err)
	return notAlive || refused || application
}
