// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/zookeeper/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit bounds every wait; a machine under load may need much of it.
const limit = time.Minute

// zk is an embedded server that a test can stop and start over the same files.
type zk struct {
	t    *testing.T
	dir  string
	addr string
	stop func()
}

func startZK(t *testing.T) *zk {
	t.Helper()
	z := &zk{t: t, dir: t.TempDir(), addr: "127.0.0.1:0"}
	z.start()
	t.Cleanup(func() { z.stop() })
	return z
}

func (z *zk) start() {
	z.t.Helper()
	s, err := server.New(server.Config{Addr: z.addr, Dir: z.dir}, zaptest.NewLogger(z.t, zaptest.Level(zapcore.FatalLevel)))
	if err != nil {
		z.t.Fatal(err)
	}
	addr, err := s.Listen()
	if err != nil {
		z.t.Fatal(err)
	}
	z.addr = addr.String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	z.stop = func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			z.t.Errorf("embedded server: %v", err)
		}
		z.stop = func() {}
	}
}

func (z *zk) connect() *cluster.State {
	z.t.Helper()
	s, err := cluster.Connect(z.t.Context(), cluster.Config{Servers: []string{z.addr}, Root: "/storm", SessionTimeout: 10 * time.Second, ConnectTimeout: limit},
		zaptest.NewLogger(z.t, zaptest.Level(zapcore.FatalLevel)))
	if err != nil {
		z.t.Fatal(err)
	}
	z.t.Cleanup(s.Close)
	return s
}

// await waits until a condition holds; each look is made after a pause that the clock of no test depends on.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(limit)
	for !holds() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("%s: not within %s", what, limit)
		}
	}
}

func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func base(name string) *storm.StormBase {
	return &storm.StormBase{Name: name, Status: storm.TopologyStatus_ACTIVE, NumWorkers: 2, ComponentExecutors: map[string]int32{"spout": 1, "__acker": 1}}
}

func assignment() *storm.Assignment {
	a := storm.NewAssignment()
	a.MasterCodeDir = "/local"
	a.NodeHost["node"] = "host"
	a.ExecutorNodePort[storm.ExecutorID{1, 2}] = &storm.NodeInfo{Node: "node", Port: []int64{6700}}
	a.ExecutorStartTimeSecs[storm.ExecutorID{1, 2}] = 1700000000
	heap := 128.5
	a.WorkerResources[&storm.NodeInfo{Node: "node", Port: []int64{6700}}] = &storm.WorkerResources{MemOnHeap: &heap}
	return a
}

func TestTypedNodes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := startZK(t).connect()
	if got := must(s.Storm(ctx, "wc-1-1"))(t); got != nil {
		t.Fatalf("an absent topology reads as %v", got)
	}
	for range 2 { // the first write makes the node, the second changes it
		if err := s.SetStorm(ctx, "wc-1-1", base("wc")); err != nil {
			t.Fatal(err)
		}
		if err := s.SetAssignment(ctx, "wc-1-1", assignment()); err != nil {
			t.Fatal(err)
		}
	}
	if got := must(s.Storm(ctx, "wc-1-1"))(t); !got.Equals(base("wc")) {
		t.Fatalf("Storm = %v", got)
	}
	if got := must(s.Assignment(ctx, "wc-1-1"))(t); !got.Equals(assignment()) {
		t.Fatalf("Assignment = %v", got)
	}
	if diff := cmp.Diff([]string{"wc-1-1"}, must(s.Storms(ctx))(t)); diff != "" {
		t.Fatal(diff)
	}
	creds := &storm.Credentials{Creds: map[string]string{"user": "secret"}}
	if err := s.SetCredentials(ctx, "wc-1-1", creds); err != nil {
		t.Fatal(err)
	}
	if got := must(s.Credentials(ctx, "wc-1-1"))(t); !got.Equals(creds) {
		t.Fatalf("Credentials = %v", got)
	}
	request := &storm.ProfileRequest{NodeInfo: &storm.NodeInfo{Node: "host", Port: []int64{6700}}, Action: storm.ProfileAction_JSTACK_DUMP}
	if err := s.SetProfileRequest(ctx, "wc-1-1", request); err != nil {
		t.Fatal(err)
	}
	if got := must(s.ProfileRequests(ctx, "wc-1-1"))(t); len(got) != 1 || !got[0].Equals(request) {
		t.Fatalf("ProfileRequests = %v", got)
	}
	removeStorm := func(ctx context.Context, id string) error {
		batch := s.Batch()
		batch.RemoveStorm(id)
		return batch.Commit(ctx)
	}
	for _, remove := range []func(context.Context, string) error{removeStorm, s.RemoveAssignment, s.RemoveCredentials, s.RemoveProfileRequests, s.RemoveLogConfig} {
		for range 2 { // the second time there is nothing
			if err := remove(ctx, "wc-1-1"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := must(s.Storms(ctx))(t); len(got) != 0 {
		t.Fatalf("Storms = %v", got)
	}
}

func TestNamesStayBelowTheirParent(t *testing.T) {
	t.Parallel()
	s := startZK(t).connect()
	for _, name := range []string{"", ".", "..", "../x", "a/b", "a\x00b"} {
		if err := s.SetStorm(t.Context(), name, base("x")); err == nil || !strings.Contains(err.Error(), "no name") {
			t.Errorf("SetStorm(%q) = %v", name, err)
		}
	}
}

func TestDecodeRefusesBadPayloads(t *testing.T) {
	t.Parallel()
	good := must(cluster.Encode(t.Context(), base("wc")))(t)
	flipped := append([]byte(nil), good...)
	flipped[len(flipped)/2] ^= 0x40
	for name, data := range map[string][]byte{"Empty": {}, "Mark": {7}, "Half": good[:len(good)/2], "Flipped": flipped} {
		if err := cluster.Decode(t.Context(), data, storm.NewStormBase()); err == nil || !strings.Contains(err.Error(), "StormBase") {
			t.Errorf("%s: Decode = %v, want an error that names the struct", name, err)
		}
	}
}

func TestDamagedSupervisorHidesNoOther(t *testing.T) {
	t.Parallel()
	z := startZK(t)
	s := z.connect()
	if err := s.SetSupervisor(t.Context(), "good", &storm.SupervisorInfo{Hostname: "host"}); err != nil {
		t.Fatal(err)
	}
	conn, _, err := gozk.Connect([]string{z.addr}, 10*time.Second, gozk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Create("/storm/supervisors/bad", []byte("no payload"), 0, gozk.WorldACL(gozk.PermAll)); err != nil {
		t.Fatal(err)
	}
	infos := must(s.Supervisors(t.Context()))(t)
	if len(infos) != 1 || infos["good"].GetHostname() != "host" {
		t.Errorf("supervisors beside a damaged one: %v", infos)
	}
}

func TestBatchIsAtomic(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := startZK(t).connect()
	for round := range 2 { // the second round finds every node there
		b := s.Batch()
		b.MakeTopology("wc-1-1")
		b.SetStorm(ctx, "wc-1-1", base("wc"))
		b.SetAssignment(ctx, "wc-1-1", assignment())
		b.AddBlob("wc-1-1-stormjar.jar", cluster.NimbusID{Host: "h", Port: 1}, int32(round+1))
		b.RemoveCredentials("wc-1-1")
		if err := b.Commit(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if got := must(s.BlobSequence(ctx, "wc-1-1-stormjar.jar"))(t); got != 2 {
		t.Fatalf("BlobSequence = %d", got)
	}
	if diff := cmp.Diff([]string{"wc-1-1-stormjar.jar"}, must(s.BlobKeys(ctx))(t)); diff != "" {
		t.Fatal(diff)
	}
	bad := s.Batch()
	bad.RemoveStorm("wc-1-1")
	bad.SetStorm(ctx, "a/b", base("x"))
	if err := bad.Commit(ctx); err == nil {
		t.Fatal("a batch with a bad name was done")
	}
	if got := must(s.Storm(ctx, "wc-1-1"))(t); got == nil {
		t.Fatal("a refused batch removed a topology")
	}
	if err := s.RemoveBlob(ctx, "wc-1-1-stormjar.jar"); err != nil {
		t.Fatal(err)
	}
	if got := must(s.BlobKeys(ctx))(t); len(got) != 0 {
		t.Fatalf("BlobKeys = %v", got)
	}
}

// TestTooLargeIsNotSent checks that what no server takes is refused here: sent, it would cost all others the connection.
func TestTooLargeIsNotSent(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := startZK(t).connect()
	sessions := s.Sessions()
	noise := make([]byte, cluster.MaxWrite+1)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	creds := &storm.Credentials{Creds: map[string]string{"a": string(noise)}}
	if err := s.SetCredentials(ctx, "wc-1-1", creds); !errors.Is(err, cluster.ErrTooLarge) {
		t.Errorf("a write is answered with %v", err)
	}
	b := s.Batch()
	b.SetStorm(ctx, "wc-1-1", base("wc"))
	b.SetCredentials(ctx, "wc-1-1", creds)
	if err := b.Commit(ctx); !errors.Is(err, cluster.ErrTooLarge) {
		t.Errorf("a batch is answered with %v", err)
	}
	creds.Creds["a"] = string(noise[:cluster.MaxWrite-8<<10])
	if err := s.SetCredentials(ctx, "wc-1-1", creds); err != nil {
		t.Errorf("a large write is answered with %v", err)
	}
	if got := must(s.Storm(ctx, "wc-1-1"))(t); got != nil {
		t.Error("a refused batch wrote something")
	}
	select {
	case <-sessions:
		t.Error("the connection was lost")
	default:
	}
}

func TestSupervisorEntryIsTakenOver(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	z := startZK(t)
	old, young, watcher := z.connect(), z.connect(), z.connect()
	info := &storm.SupervisorInfo{TimeSecs: 1, Hostname: "host"}
	if err := old.SetSupervisor(ctx, "node", info); err != nil {
		t.Fatal(err)
	}
	info.TimeSecs = 2
	if err := young.SetSupervisor(ctx, "node", info); err != nil {
		t.Fatal(err)
	}
	old.Close() // must not take the entry along
	got := must(watcher.Supervisors(ctx))(t)
	if got["node"] == nil || got["node"].TimeSecs != 2 {
		t.Fatalf("Supervisors = %v", got)
	}
	young.Close()
	await(t, "the entry to vanish with its session", func() bool { return len(must(watcher.Supervisors(ctx))(t)) == 0 })
}

func TestWatchOutlivesTheServer(t *testing.T) {
	t.Parallel()
	z := startZK(t)
	s := z.connect()
	var seen atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.WatchSupervisors(ctx, func() { seen.Add(1) }) }()
	await(t, "the first look", func() bool { return seen.Load() >= 1 })
	z.stop()
	z.start()
	other := z.connect()
	before := seen.Load()
	await(t, "a change after the restart", func() bool {
		if err := other.SetSupervisor(t.Context(), "node", &storm.SupervisorInfo{Hostname: "h"}); err != nil {
			t.Fatal(err)
		}
		if err := other.RemoveSupervisor(t.Context(), "node"); err != nil {
			t.Fatal(err)
		}
		return seen.Load() > before+1
	})
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatalf("WatchSupervisors = %v", err)
	}
}

func TestElection(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	z := startZK(t)
	first, second := z.connect(), z.connect()
	a, b := cluster.NimbusID{Host: "a", Port: 1}, cluster.NimbusID{Host: "b", Port: 2}
	if _, err := first.JoinElection(ctx, a); err != nil {
		t.Fatal(err)
	}
	if _, err := second.JoinElection(ctx, b); err != nil {
		t.Fatal(err)
	}
	leader := func(s *cluster.State) string {
		id, _, err := s.Leader(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	if got := leader(second); got != a.String() {
		t.Fatalf("leader %s, want %s", got, a)
	}
	again := z.connect() // the first one's process was killed and is back before its session ran out
	if _, err := again.JoinElection(ctx, a); err != nil {
		t.Fatal(err)
	}
	if got := leader(again); got != b.String() {
		t.Fatalf("leader %s, want %s: the entry of a dead process still counts", got, b)
	}
	second.Close()
	await(t, "the next leader", func() bool { return leader(again) == a.String() })
}

// TestMuteServerKeepsNobody connects to a server that takes connections and says nothing: it ends with the context.
func TestMuteServerKeepsNobody(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan net.Conn, 1)
	go func() {
		defer close(accepted)
		if conn, err := listener.Accept(); err == nil {
			accepted <- conn
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := cluster.Connect(ctx, cluster.Config{Servers: []string{listener.Addr().String()}, ConnectTimeout: time.Hour, SessionTimeout: time.Hour}, zap.NewNop())
		ended <- err
	}()
	conn := <-accepted
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("connect says %v", err)
		}
	case <-time.After(limit):
		t.Error("connect goes on")
	}
	_ = conn.Close()
	_ = listener.Close()
}

func TestConnectSaysWhereNobodyListens(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zapcore.WarnLevel)
	_, err = cluster.Connect(t.Context(), cluster.Config{Servers: []string{addr}, ConnectTimeout: 4 * time.Second}, zap.New(core))
	if err == nil || !strings.Contains(err.Error(), addr) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Connect = %v", err)
	}
	said := logs.FilterMessage("cluster state does not answer, still trying").All()
	if len(said) == 0 || !strings.Contains(fmt.Sprint(said[0].ContextMap()), "connection refused") {
		t.Fatalf("logged while it waited: %v", logs.All())
	}
}
