// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file checks how the leading Nimbus is found, kept and given up.

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"testing"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/supervisor/localizer"
	"github.com/gust-stream/gust/thrift/leader"
	"github.com/gust-stream/gust/thrift/rpc"
	"github.com/gust-stream/gust/thrift/storm"
)

// serveNimbus serves a small Nimbus at addr, or at a free port.
func serveNimbus(t *testing.T, addr string) (n *fakeNimbus, stop func()) {
	t.Helper()
	n = newFakeNimbus()
	server := rpc.New(rpc.Config{Addr: addr}, storm.NewNimbusProcessor(n), zap.NewNop())
	at, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	n.addr = tcp(at)
	ctx, cancel := context.WithCancel(context.Background())
	var group errgroup.Group
	group.Go(func() error { return server.Run(ctx) })
	stop = func() {
		cancel()
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	}
	return n, stop
}

func callOnce(t *testing.T, n *nimbus) error {
	t.Helper()
	return n.call(t.Context(), func(ctx context.Context, c *leader.Nimbus) error {
		return c.SendSupervisorWorkerHeartbeats(ctx, &storm.SupervisorWorkerHeartbeats{SupervisorID: "me", WorkerHeartbeats: []*storm.SupervisorWorkerHeartbeat{}})
	})
}

func TestNimbusConnectionLastsAndIsMadeAnew(t *testing.T) {
	t.Parallel()
	first, stop := serveNimbus(t, "127.0.0.1:0")
	n := newNimbus(Config{NimbusSeeds: []string{"127.0.0.1"}, NimbusPort: first.addr.Port})
	defer n.close()
	for range 10 {
		if err := callOnce(t, n); err != nil {
			t.Fatal(err)
		}
	}
	if len(first.peers) != 1 {
		t.Errorf("ten calls came over %d connections", len(first.peers))
	}
	stop()
	if err := callOnce(t, n); !errors.Is(err, leader.ErrNone) {
		t.Errorf("with Nimbus away a call gives %v", err)
	}
	second, stop := serveNimbus(t, net.JoinHostPort("127.0.0.1", strconv.Itoa(first.addr.Port)))
	defer stop()
	if err := callOnce(t, n); err != nil {
		t.Errorf("with Nimbus back a call gives %v", err)
	}
	if second.beatCount() != 1 {
		t.Errorf("new Nimbus heard %d calls", second.beatCount())
	}
}

func TestNimbusThatLostTheLeadIsGivenUp(t *testing.T) {
	t.Parallel()
	seed, stopSeed := serveNimbus(t, "127.0.0.1:0")
	defer stopSeed()
	other, stopOther := serveNimbus(t, "127.0.0.1:0")
	defer stopOther()
	n := newNimbus(Config{NimbusSeeds: []string{"127.0.0.1"}, NimbusPort: seed.addr.Port})
	defer n.close()
	if err := callOnce(t, n); err != nil {
		t.Fatal(err)
	}
	seed.mu.Lock()
	seed.leader = other.addr
	seed.mu.Unlock()
	if err := n.confirm(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := callOnce(t, n); err != nil {
		t.Fatal(err)
	}
	if seed.beatCount() != 1 || other.beatCount() != 1 {
		t.Errorf("old leader heard %d calls, new leader %d", seed.beatCount(), other.beatCount())
	}
}

func TestDownload(t *testing.T) {
	t.Parallel()
	server, stop := serveNimbus(t, "127.0.0.1:0")
	defer stop()
	n := newNimbus(Config{NimbusSeeds: []string{"127.0.0.1"}, NimbusPort: server.addr.Port})
	defer n.close()
	content := make([]byte, 1234)
	for i := range content {
		content[i] = byte(i)
	}
	server.put("jar", content)
	version, err := n.BlobVersion(t.Context(), "jar")
	if want := server.versions["jar"]; err != nil || version != want {
		t.Fatalf("version is %d, not %d, %v", version, want, err)
	}
	blob, err := n.Download(t.Context(), "jar")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(blob.Body)
	if err != nil || string(got) != string(content) || blob.Size != 1234 || blob.Version != version {
		t.Errorf("downloaded %d bytes of %d, version %d, %v", len(got), blob.Size, blob.Version, err)
	}
	if err := blob.Body.Close(); err != nil {
		t.Error(err)
	}
	if _, err := blob.Body.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("read after the end gives %v", err)
	}
	for what, ask := range map[string]func() error{
		"version":  func() error { _, err := n.BlobVersion(t.Context(), "nope"); return err },
		"download": func() error { _, err := n.Download(t.Context(), "nope"); return err },
	} {
		if err := ask(); !errors.Is(err, localizer.ErrNotFound) {
			t.Errorf("%s of an unknown blob gives %v", what, err)
		}
	}
}
