// SPDX-License-Identifier: Apache-2.0

// The site: cluster state and Nimbus, started, stopped and started again.

package nimbustest

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/nimbus"
	"github.com/gust-stream/gust/nimbus/blobstore"
	"github.com/gust-stream/gust/thrift/rpc"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/zookeeper/server"
)

// Limit is how long anything may take in a test before it counts as stuck.
const Limit = 60 * time.Second

// Host is where everything listens.
const Host = "127.0.0.1"

// Site is a cluster state and a Nimbus of one test. Both end with the test.
type Site struct {
	// Dir is storm.local.dir.
	Dir string
	// Conf is Nimbus's conf, with the ports in it.
	Conf config.Conf
	// State is a session of the test's own.
	State *cluster.State
	// Log is where everything logs to.
	Log *zap.Logger

	zookeeper string
	stopZK    func()
	nimbus    *nimbus.Nimbus
	port      atomic.Int64
	end       func()
	crash     func()
}

// Options change what Start makes.
type Options struct {
	// Conf is laid over the conf.
	Conf config.Conf
	// Tune changes the settings of Nimbus before it starts.
	Tune func(*nimbus.Config)
	// Quiet keeps logs out of the test's output, for benchmarks.
	Quiet bool
	// Log takes the logs instead of the test's output.
	Log *zap.Logger
}

// Start starts a site and waits until its Nimbus leads.
func Start(tb testing.TB, o Options) *Site {
	tb.Helper()
	s := &Site{Dir: tb.TempDir(), Log: zap.NewNop()}
	switch {
	case o.Log != nil:
		s.Log = o.Log
	case !o.Quiet:
		s.Log = zaptest.NewLogger(tb, zaptest.Level(zap.InfoLevel))
	}
	s.StartZooKeeper(tb)
	conf, _, err := config.Load(config.Options{})
	if err != nil {
		tb.Fatalf("load conf: %v", err)
	}
	host, port, err := net.SplitHostPort(s.zookeeper)
	if err != nil {
		tb.Fatalf("cluster state address: %v", err)
	}
	number, err := strconv.ParseInt(port, 10, 64)
	if err != nil {
		tb.Fatalf("cluster state port: %v", err)
	}
	s.Conf = config.Merge(conf, config.Conf{
		config.StormLocalDir: filepath.Join(s.Dir, "local"), config.StormLocalHostname: Host, config.NimbusThriftPort: int64(0),
		config.NimbusSeeds: []any{Host}, config.StormZookeeperServers: []any{host}, config.StormZookeeperPort: number,
	})
	s.Conf = config.Merge(s.Conf, o.Conf)
	s.State = s.connect(tb)
	s.StartNimbus(tb, o.Tune)
	return s
}

// StartZooKeeper starts the cluster state, on the address and the files of the one before.
func (s *Site) StartZooKeeper(tb testing.TB) {
	tb.Helper()
	if s.zookeeper == "" {
		s.zookeeper = Host + ":0"
	}
	zk, err := server.New(server.Config{Addr: s.zookeeper, Dir: filepath.Join(s.Dir, "zookeeper")}, s.Log)
	if err != nil {
		tb.Fatalf("cluster state: %v", err)
	}
	addr, err := zk.Listen()
	if err != nil {
		tb.Fatalf("cluster state: %v", err)
	}
	s.zookeeper = addr.String()
	s.stopZK = Background(tb, "cluster state", zk.Run)
}

// StopZooKeeper stops the cluster state.
func (s *Site) StopZooKeeper() { s.stopZK() }

func (s *Site) connect(tb testing.TB) *cluster.State {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), Limit)
	defer cancel()
	state, err := cluster.Connect(ctx, cluster.Config{Servers: []string{s.zookeeper}, Root: s.Conf.String(config.StormZookeeperRoot, "")}, s.Log)
	if err != nil {
		tb.Fatalf("connect to the cluster state: %v", err)
	}
	tb.Cleanup(state.Close)
	return state
}

// StartNimbus starts a Nimbus on the site's folder, on the port of the one before, and waits until it leads.
func (s *Site) StartNimbus(tb testing.TB, tune func(*nimbus.Config)) {
	tb.Helper()
	cfg, err := nimbus.ConfigFrom(s.Conf, "", config.TableVersion, Host)
	if err != nil {
		tb.Fatalf("nimbus settings: %v", err)
	}
	cfg.Server.Addr = s.Addr()
	if tune != nil {
		tune(&cfg)
	}
	state := s.connect(tb)
	s.nimbus = nimbus.New(cfg, nimbus.Deps{
		Cluster: state, Blobs: blobstore.New(filepath.Join(config.BlobRoot(s.Conf, ""), "blobs")), Log: s.Log,
	})
	addr, err := s.nimbus.Listen()
	if err != nil {
		tb.Fatalf("nimbus: %v", err)
	}
	if port := portOf(tb, addr); s.port.Swap(port) != port {
		s.Conf[config.NimbusThriftPort] = port
	}
	s.crash = Background(tb, "nimbus", s.nimbus.Run)
	s.end = func() {
		s.crash()
		state.Close()
	}
	Until(tb, "nimbus leads", s.nimbus.Ready)
}

// portOf is the port of a TCP address.
func portOf(tb testing.TB, addr net.Addr) int64 {
	tb.Helper()
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		tb.Fatalf("%v is no TCP address", addr)
	}
	return int64(tcp.Port)
}

// StopNimbus stops the Nimbus in an orderly way.
func (s *Site) StopNimbus() { s.end() }

// CrashNimbus stops the Nimbus but leaves its session open, with all that hangs on it, as after a kill -9.
func (s *Site) CrashNimbus() { s.crash() }

// Addr is host:port of the Nimbus.
func (s *Site) Addr() string { return net.JoinHostPort(Host, strconv.FormatInt(s.port.Load(), 10)) }

// ZooKeeper is host:port of the cluster state.
func (s *Site) ZooKeeper() string { return s.zookeeper }

// Port is the Thrift port of the Nimbus.
func (s *Site) Port() int { return int(s.port.Load()) }

// Client connects to the Nimbus; the connection ends with the test.
func (s *Site) Client(tb testing.TB) *storm.NimbusClient {
	tb.Helper()
	client, err := rpc.Dial(tb.Context(), s.Addr(), rpc.ClientConfig{CallTimeout: Limit})
	if err != nil {
		tb.Fatalf("connect to nimbus: %v", err)
	}
	tb.Cleanup(func() { _ = client.Close() })
	return storm.NewNimbusClient(client)
}

// Background runs something until the test ends or the returned function is called, which wait for its end.
func Background(tb testing.TB, name string, run func(context.Context) error) (stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			if err != nil && !errors.Is(err, context.Canceled) {
				tb.Errorf("%s: %v", name, err)
			}
		case <-time.After(Limit):
			tb.Errorf("%s does not stop", name)
		}
	}
	tb.Cleanup(stop)
	return stop
}

// Until waits for a condition.
func Until(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	deadline := time.NewTimer(Limit)
	defer deadline.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !condition() {
		select {
		case <-again.C:
		case <-deadline.C:
			tb.Fatalf("still waiting until %s", what)
		}
	}
}
