// SPDX-License-Identifier: Apache-2.0

// What all tests of this package share: a Nimbus made of functions, and a
// server around it.

package rpc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gust-stream/gust/thrift/storm"
)

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

// stub is a Nimbus whose methods are functions; those that are not set panic.
type stub struct {
	storm.Nimbus
	topologyConf func(ctx context.Context, id string) (string, error)
	clusterInfo  func(ctx context.Context) (*storm.ClusterSummary, error)
	uploadChunk  func(ctx context.Context, location string, chunk []byte) error
}

func (s *stub) GetTopologyConf(ctx context.Context, id string) (string, error) {
	return s.topologyConf(ctx, id)
}

func (s *stub) GetClusterInfo(ctx context.Context) (*storm.ClusterSummary, error) {
	return s.clusterInfo(ctx)
}

func (s *stub) UploadChunk(ctx context.Context, location string, chunk []byte) error {
	return s.uploadChunk(ctx, location, chunk)
}

// echo answers getTopologyConf with the id it was asked for.
func echo() *stub {
	return &stub{topologyConf: func(_ context.Context, id string) (string, error) { return id, nil }}
}

// running is a server under test.
type running struct {
	*Server
	addr string
	logs *observer.ObservedLogs
	stop context.CancelFunc
	done chan error
}

// start runs a server until the test ends, and checks that it ends without an error.
func start(tb testing.TB, cfg Config, nimbus storm.Nimbus) *running {
	tb.Helper()
	r := startProcessor(tb, cfg, storm.NewNimbusProcessor(nimbus))
	tb.Cleanup(func() {
		r.stop()
		if err := within(tb, r.done); err != nil {
			tb.Errorf("server ended with %v", err)
		}
	})
	return r
}

// startProcessor runs a server; the caller stops it.
func startProcessor(tb testing.TB, cfg Config, p thrift.TProcessor) *running {
	tb.Helper()
	core, logs := observer.New(zap.InfoLevel)
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	s := New(cfg, p, zap.New(core))
	addr, err := s.Listen()
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	r := &running{Server: s, addr: addr.String(), logs: logs, stop: cancel, done: make(chan error, 1)}
	go func() {
		err := s.Run(ctx)
		r.done <- err
		close(r.done)
	}()
	return r
}

// within returns what ch yields, and fails the test when it takes too long.
func within[T any](tb testing.TB, ch <-chan T) T {
	tb.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		buf := make([]byte, 1<<20)
		tb.Fatalf("nothing came within %s\n%s", patience, buf[:runtime.Stack(buf, true)])
	}
	panic("unreachable")
}

// eventually waits until ok is true.
func eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			tb.Fatalf("%s: not within %s", what, patience)
		}
		<-tick.C
	}
}

// dialTest connects a client for the length of the test.
func dialTest(tb testing.TB, addr string, cfg ClientConfig) (*Client, *storm.NimbusClient) {
	tb.Helper()
	c, err := Dial(tb.Context(), addr, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c, storm.NewNimbusClient(c)
}

// plain connects without any protocol for the length of the test.
func plain(tb testing.TB, addr string) net.Conn {
	tb.Helper()
	c, err := (&net.Dialer{}).DialContext(tb.Context(), "tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		tb.Fatal(err)
	}
	return c
}

// framed puts the length in front.
func framed(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// request is a framed call.
func request(tb testing.TB, method string, kind thrift.TMessageType, seq int32, args thrift.TStruct) []byte {
	tb.Helper()
	b, err := Encode(tb.Context(), args)
	if err != nil {
		tb.Fatal(err)
	}
	return framed(append(appendHeader(nil, kind, method, seq), b...))
}

// applicationError returns type and text of the exception in err.
func applicationError(err error) string {
	var ex thrift.TApplicationException
	if !errors.As(err, &ex) {
		return fmt.Sprintf("no TApplicationException: %v", err)
	}
	return fmt.Sprintf("%d %s", ex.TypeId(), ex.Error())
}
