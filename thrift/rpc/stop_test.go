// SPDX-License-Identifier: Apache-2.0

// How a server stops, and what it does with settings that cannot work.

package rpc

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gust-stream/gust/thrift/storm"
)

// blocking is a Nimbus whose getTopologyConf waits.
func blocking(until func(ctx context.Context)) (nimbus *stub, entered chan struct{}) {
	entered = make(chan struct{}, 100)
	nimbus = echo()
	nimbus.topologyConf = func(ctx context.Context, id string) (string, error) {
		entered <- struct{}{}
		until(ctx)
		return id, ctx.Err()
	}
	return nimbus, entered
}

// callIn makes a call and hands out how it ended.
func callIn(tb testing.TB, addr string) chan error {
	tb.Helper()
	_, nimbus := dialTest(tb, addr, ClientConfig{})
	ended := make(chan error, 1)
	go func() {
		_, err := nimbus.GetTopologyConf(tb.Context(), "x")
		ended <- err
	}()
	return ended
}

func TestStopLetsRunningCallsEnd(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	nimbus, entered := blocking(func(context.Context) { <-release })
	s := startProcessor(t, Config{ShutdownGrace: patience}, storm.NewNimbusProcessor(nimbus))
	idle := plain(t, s.addr)
	ended := callIn(t, s.addr)
	within(t, entered)
	s.stop()
	closedBy(t, idle)
	if c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.addr); err == nil {
		closedBy(t, c) // it may have slipped in just before the end
		_ = c.Close()
	}
	close(release)
	if err := within(t, ended); err != nil {
		t.Errorf("the running call: %v", err)
	}
	if err := within(t, s.done); err != nil {
		t.Errorf("the server: %v", err)
	}
}

func TestStopEndsContextsAfterTheGrace(t *testing.T) {
	t.Parallel()
	nimbus, entered := blocking(func(ctx context.Context) { <-ctx.Done() })
	s := startProcessor(t, Config{ShutdownGrace: 50 * time.Millisecond, Workers: 1}, storm.NewNimbusProcessor(nimbus))
	first := callIn(t, s.addr)
	within(t, entered)
	second := callIn(t, s.addr)
	eventually(t, "the second call waits for a place", func() bool { return s.waiting.Load() == 1 })
	s.stop()
	if err := within(t, s.done); err != nil {
		t.Errorf("the server: %v", err)
	}
	if within(t, first) == nil || within(t, second) == nil {
		t.Error("a call that was cut off was answered")
	}
}

func TestStopReportsCallsThatStay(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	nimbus, entered := blocking(func(context.Context) { <-release })
	s := startProcessor(t, Config{ShutdownGrace: 20 * time.Millisecond}, storm.NewNimbusProcessor(nimbus))
	ended := callIn(t, s.addr)
	within(t, entered)
	s.stop()
	err := within(t, s.done)
	if err == nil || !strings.Contains(err.Error(), "1 calls have not returned") {
		t.Errorf("the server: %v", err)
	}
	close(release)
	if within(t, ended) == nil {
		t.Error("the call was answered on a closed connection")
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	s := New(Config{Addr: "127.0.0.1:0"}, storm.NewNimbusProcessor(echo()), nopLog(t))
	first, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.Listen(); err != nil || again.String() != first.String() {
		t.Errorf("listening again: %v, %v, want %v", again, err, first)
	}
	taken := New(Config{Addr: first.String()}, storm.NewNimbusProcessor(echo()), nopLog(t))
	if err := taken.Run(t.Context()); err == nil || !strings.Contains(err.Error(), first.String()) {
		t.Errorf("address in use: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	bad := Config{MaxFrame: -1, Workers: -1, MaxConns: -1, FrameTimeout: -1, Addr: "127.0.0.1:0"}
	err = New(bad, storm.NewNimbusProcessor(echo()), nopLog(t)).Run(t.Context())
	for _, part := range []string{"largest frame", "workers", "connections", "frame timeout"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("bad settings: %v does not speak of %s", err, part)
		}
	}
}
