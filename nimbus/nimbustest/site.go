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
	nimbus    *nimbus.Nimbus
	port      atomic.Int64
	end       func()
}

// Options change what Start makes.
type Options struct {
	// Conf is laid over the conf.
	Conf config.Conf
	// Tune changes the settings of Nimbus before it starts.
	Tune func(*nimbus.Config)
	// Quiet keeps logs out of the test's output, for benchmarks.
	Quiet bool
}

// Start starts a site and waits until its Nimbus leads.
func Start(t testing.TB, o Options) *Site {
	t.Helper()
	s := &Site{Dir: t.TempDir(), Log: zap.NewNop()}
	if !o.Quiet {
		s.Log = zaptest.NewLogger(t, zaptest.Level(zap.InfoLevel))
	}
	s.startZooKeeper(t)
	conf, _, err := config.Load(config.Options{})
	if err != nil {
		t.Fatalf("load conf: %v", err)
	}
	host, port, err := net.SplitHostPort(s.zookeeper)
	if err != nil {
		t.Fatalf("cluster state address: %v", err)
	}
	number, err := strconv.ParseInt(port, 10, 64)
	if err != nil {
		t.Fatalf("cluster state port: %v", err)
	}
	s.Conf = config.Merge(conf, config.Conf{
		config.StormLocalDir: filepath.Join(s.Dir, "local"), config.StormLocalHostname: Host, config.NimbusThriftPort: int64(0),
		config.NimbusSeeds: []any{Host}, config.StormZookeeperServers: []any{host}, config.StormZookeeperPort: number,
	})
	s.Conf = config.Merge(s.Conf, o.Conf)
	s.State = s.connect(t)
	s.StartNimbus(t, o.Tune)
	return s
}

func (s *Site) startZooKeeper(t testing.TB) {
	t.Helper()
	zk, err := server.New(server.Config{Addr: Host + ":0", Dir: filepath.Join(s.Dir, "zookeeper")}, s.Log)
	if err != nil {
		t.Fatalf("cluster state: %v", err)
	}
	addr, err := zk.Listen()
	if err != nil {
		t.Fatalf("cluster state: %v", err)
	}
	s.zookeeper = addr.String()
	Background(t, "cluster state", zk.Run)
}

func (s *Site) connect(t testing.TB) *cluster.State {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	defer cancel()
	state, err := cluster.Connect(ctx, cluster.Config{Servers: []string{s.zookeeper}, Root: s.Conf.String(config.StormZookeeperRoot, "")}, s.Log)
	if err != nil {
		t.Fatalf("connect to the cluster state: %v", err)
	}
	t.Cleanup(state.Close)
	return state
}

// StartNimbus starts a Nimbus on the site's folder, on the port of the one before, and waits until it leads.
func (s *Site) StartNimbus(t testing.TB, tune func(*nimbus.Config)) {
	t.Helper()
	cfg, err := nimbus.ConfigFrom(s.Conf, "", config.TableVersion, Host)
	if err != nil {
		t.Fatalf("nimbus settings: %v", err)
	}
	cfg.Server.Addr = s.Addr()
	if tune != nil {
		tune(&cfg)
	}
	state := s.connect(t)
	s.nimbus = nimbus.New(cfg, nimbus.Deps{
		Cluster: state, Blobs: blobstore.New(filepath.Join(config.BlobRoot(s.Conf, ""), "blobs")), Log: s.Log,
	})
	addr, err := s.nimbus.Listen()
	if err != nil {
		t.Fatalf("nimbus: %v", err)
	}
	if port := int64(addr.(*net.TCPAddr).Port); s.port.Swap(port) != port { //nolint:forcetypeassert // it listens on TCP
		s.Conf[config.NimbusThriftPort] = port
	}
	stop := Background(t, "nimbus", s.nimbus.Run)
	s.end = func() {
		stop()
		state.Close()
	}
	Until(t, "nimbus leads", s.nimbus.Ready)
}

// StopNimbus stops the Nimbus in an orderly way.
func (s *Site) StopNimbus() { s.end() }

// Addr is host:port of the Nimbus.
func (s *Site) Addr() string { return net.JoinHostPort(Host, strconv.FormatInt(s.port.Load(), 10)) }

// ZooKeeper is host:port of the cluster state.
func (s *Site) ZooKeeper() string { return s.zookeeper }

// Port is the Thrift port of the Nimbus.
func (s *Site) Port() int { return int(s.port.Load()) }

// Client connects to the Nimbus; the connection ends with the test.
func (s *Site) Client(t testing.TB) *storm.NimbusClient {
	t.Helper()
	client, err := rpc.Dial(t.Context(), s.Addr(), rpc.ClientConfig{CallTimeout: Limit})
	if err != nil {
		t.Fatalf("connect to nimbus: %v", err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return storm.NewNimbusClient(client)
}

// Background runs something until the test ends or the returned function is called, which wait for its end.
func Background(t testing.TB, name string, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
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
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(Limit):
			t.Errorf("%s does not stop", name)
		}
	}
	t.Cleanup(stop)
	return stop
}

// Until waits for a condition.
func Until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(Limit)
	defer deadline.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !condition() {
		select {
		case <-again.C:
		case <-deadline.C:
			t.Fatalf("still waiting until %s", what)
		}
	}
}
