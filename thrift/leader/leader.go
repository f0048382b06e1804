// SPDX-License-Identifier: Apache-2.0

// Package leader finds the leading Nimbus among the configured seeds and connects to it, as every client of Storm does.
//
// It is the counterpart of Storm's NimbusClient: it asks the seeds in order, reuses the connection when the seed itself
// leads, and otherwise connects to the address that the seed named. It holds no pool and repeats nothing: who calls,
// decides. The command line and the supervisor use it.
package leader

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/gust-stream/gust/thrift/rpc"
	"github.com/gust-stream/gust/thrift/storm"
)

// ErrNone is in the error when no seed knows a leader.
var ErrNone = errors.New("no leading nimbus")

// Config names the seeds.
type Config struct {
	// Seeds are host names (nimbus.seeds); a seed may also be host:port.
	Seeds []string
	// Port is that of every seed that names none (nimbus.thrift.port).
	Port int
	// RPC bounds the connections.
	RPC rpc.ClientConfig
}

// Nimbus is a connection to the leader. It is for sequential use.
type Nimbus struct {
	*storm.NimbusClient
	conn *rpc.Client
}

// Close ends the connection.
func (n *Nimbus) Close() error { return n.conn.Close() }

// Addr is the leader's host:port.
func (n *Nimbus) Addr() string { return n.conn.Peer() }

// Dial connects to the leader. The error says for each seed why it was of no use.
func Dial(ctx context.Context, cfg Config) (*Nimbus, error) {
	if len(cfg.Seeds) == 0 {
		return nil, fmt.Errorf("%w: nimbus.seeds names no host", ErrNone)
	}
	var faults []string
	for _, seed := range cfg.Seeds {
		nimbus, err := ask(ctx, seedAddr(seed, cfg.Port), cfg.RPC)
		if err == nil {
			return nimbus, nil
		}
		faults = append(faults, err.Error())
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("%w among nimbus.seeds %v: %s", ErrNone, cfg.Seeds, strings.Join(faults, "; "))
}

func seedAddr(seed string, port int) string {
	if _, _, err := net.SplitHostPort(seed); err == nil {
		return seed
	}
	return net.JoinHostPort(seed, strconv.Itoa(port))
}

// ask returns a connection to the leader that one seed names.
func ask(ctx context.Context, addr string, cfg rpc.ClientConfig) (*Nimbus, error) {
	seed, err := connect(ctx, addr, cfg)
	if err != nil {
		return nil, err
	}
	summary, err := seed.GetLeader(ctx)
	if err != nil {
		_ = seed.Close() // it is given up anyway
		return nil, err  // it names method and address
	}
	named := net.JoinHostPort(summary.Host, strconv.Itoa(int(summary.Port)))
	if named == addr {
		return seed, nil
	}
	_ = seed.Close() // another one leads
	return connect(ctx, named, cfg)
}

func connect(ctx context.Context, addr string, cfg rpc.ClientConfig) (*Nimbus, error) {
	conn, err := rpc.Dial(ctx, addr, cfg)
	if err != nil {
		return nil, err
	}
	return &Nimbus{NimbusClient: storm.NewNimbusClient(conn), conn: conn}, nil
}
