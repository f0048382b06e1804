// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file sets up what a supervisor under test lives in: the embedded cluster state, a small Nimbus, and a Java that is
// the test binary. Processes, files, Thrift and ZooKeeper are real.

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/supervisor/container"
	"github.com/gust-stream/gust/thrift/rpc"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/zookeeper/server"
)

// patience is how long a test waits for what must happen; it is reached only by a test that fails.
const patience = 60 * time.Second

// site is everything around the supervisors of one test.
type site struct {
	t      *testing.T
	Dir    string
	Nimbus *fakeNimbus
	State  *cluster.State // the test's own session
	log    *zap.Logger

	plan sitePlan
}

// sitePlan is what a supervisor in another process must know.
type sitePlan struct {
	Dir        string
	ZooKeeper  string
	NimbusPort int
	Ports      []int
	Conf       map[string]any
}

func newSite(t *testing.T, ports int, conf map[string]any) *site {
	t.Helper()
	s := &site{t: t, Dir: t.TempDir(), log: zaptest.NewLogger(t, zaptest.Level(zap.InfoLevel))}
	s.makeJava()
	zk, err := server.New(server.Config{Addr: "127.0.0.1:0", Dir: filepath.Join(s.Dir, "zookeeper")}, zap.NewNop())
	s.ok(err)
	addr, err := zk.Listen()
	s.ok(err)
	s.Nimbus = newFakeNimbus()
	nimbusServer := rpc.New(rpc.Config{Addr: "127.0.0.1:0"}, storm.NewNimbusProcessor(s.Nimbus), zap.NewNop())
	nimbusAddr, err := nimbusServer.Listen()
	s.ok(err)
	s.Nimbus.addr = tcp(nimbusAddr)
	s.background(zk.Run)
	s.background(nimbusServer.Run)
	s.plan = sitePlan{Dir: s.Dir, ZooKeeper: addr.String(), NimbusPort: s.Nimbus.addr.Port, Conf: conf}
	for range ports {
		s.plan.Ports = append(s.plan.Ports, freePort(t))
	}
	s.State, err = cluster.Connect(t.Context(), cluster.Config{Servers: []string{addr.String()}, Root: "/storm"}, zap.NewNop())
	s.ok(err)
	t.Cleanup(s.State.Close)
	t.Cleanup(s.endWorkers)
	return s
}

func (s *site) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// background runs a part of the site until the test's end.
func (s *site) background(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var group errgroup.Group
	group.Go(func() error { return run(ctx) })
	stop = sync.OnceFunc(func() {
		cancel()
		if err := group.Wait(); err != nil {
			s.t.Errorf("a part of the site ended with: %v", err)
		}
	})
	s.t.Cleanup(stop)
	return stop
}

// makeJava makes a Storm home and a JDK whose java is this test binary.
func (s *site) makeJava() {
	self, err := os.Executable()
	s.ok(err)
	for _, dir := range []string{"jdk/bin", "home/lib-worker", "home/extlib", "home/conf", "home/log4j2", "play"} {
		s.ok(os.MkdirAll(filepath.Join(s.Dir, dir), 0o755))
	}
	script := fmt.Sprintf("#!/bin/sh\n%s=worker %s=%s exec %s \"$@\"\n", playEnv, playDir, filepath.Join(s.Dir, "play"), self)
	s.ok(os.WriteFile(filepath.Join(s.Dir, "jdk/bin/java"), []byte(script), 0o755)) //nolint:gosec // a program
	s.ok(os.WriteFile(filepath.Join(s.Dir, "home/conf/storm.yaml"), []byte("{}\n"), 0o600))
}

// tell has all workers from now on (or, undone, no longer) behave in one of playWorker's ways.
func (s *site) tell(what string, on bool) {
	path := filepath.Join(s.Dir, "play", what)
	if on {
		s.ok(os.WriteFile(path, nil, 0o600))
	} else {
		s.ok(os.Remove(path))
	}
}

// openSite makes a supervisor out of a plan.
func openSite(ctx context.Context, description string) (*Supervisor, func(), error) {
	var plan sitePlan
	if err := json.Unmarshal([]byte(description), &plan); err != nil {
		return nil, nil, err
	}
	return plan.supervisor(ctx, zap.NewNop(), nil)
}

func (plan sitePlan) supervisor(ctx context.Context, log *zap.Logger, change func(*Config)) (*Supervisor, func(), error) {
	conf, err := config.Builtin()
	if err != nil {
		return nil, nil, err
	}
	ports := []any{}
	for _, port := range plan.Ports {
		ports = append(ports, int64(port))
	}
	maps.Copy(conf, config.Normalize(map[string]any{
		config.StormLocalDir: filepath.Join(plan.Dir, "local"), config.StormLogDir: filepath.Join(plan.Dir, "logs"),
		config.StormLocalHostname: "127.0.0.1", config.NimbusSeeds: []any{"127.0.0.1"},
		config.NimbusThriftPort: int64(plan.NimbusPort), config.SupervisorThriftPort: int64(0), config.SupervisorSlotsPorts: ports,
		config.GustWorkerCdsEnabled: false, config.GustStateDir: filepath.Join(plan.Dir, "m"),
	}))
	maps.Copy(conf, config.Normalize(plan.Conf))
	home := filepath.Join(plan.Dir, "home")
	cfg, err := FromConf(conf, config.Sources{StormHome: home, ConfDir: filepath.Join(home, "conf"), StormVersion: "2.8.3"})
	if err != nil {
		return nil, nil, err
	}
	cfg.BindHost, cfg.JavaHome = "127.0.0.1", filepath.Join(plan.Dir, "jdk")
	cfg.InfoEvery, cfg.PollEvery, cfg.BeatEvery, cfg.ProfileEvery = 200*time.Millisecond, time.Second, 50*time.Millisecond, 50*time.Millisecond
	if change != nil {
		change(&cfg)
	}
	state, err := cluster.Connect(ctx, cluster.Config{Servers: []string{plan.ZooKeeper}, Root: "/storm"}, log)
	if err != nil {
		return nil, nil, err
	}
	s, err := New(cfg, Deps{Cluster: state, Log: log})
	if err != nil {
		state.Close()
		return nil, nil, err
	}
	return s, state.Close, nil
}

// start runs a supervisor in this process until stop or the test's end, whichever comes first.
func (s *site) start(change func(*Config)) (sup *Supervisor, stop func()) {
	s.t.Helper()
	sup, closeState, err := s.plan.supervisor(s.t.Context(), s.log, change)
	s.ok(err)
	stop = s.background(func(ctx context.Context) error {
		defer closeState()
		return sup.Run(ctx)
	})
	select {
	case <-sup.Ready():
	case <-time.After(patience):
		s.t.Fatal("supervisor does not get ready")
	}
	return sup, stop
}

// startProcess runs a supervisor in a process of its own.
func (s *site) startProcess() *os.Process {
	s.t.Helper()
	self, err := os.Executable()
	s.ok(err)
	description, err := json.Marshal(s.plan)
	s.ok(err)
	cmd := exec.Command(self, string(description))
	cmd.Env = append(os.Environ(), playEnv+"=supervisor")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	s.ok(cmd.Start())
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have been killed by the test
		_ = cmd.Wait()
	})
	return cmd.Process
}

// kill ends a process as a power cut would, and waits for that.
func (s *site) kill(process *os.Process) {
	s.t.Helper()
	s.ok(process.Kill())
	_, err := process.Wait()
	s.ok(err)
}

// until waits for a condition; what says in the failure what it was.
func (s *site) until(what string, condition func() bool) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for !condition() {
		if time.Now().After(deadline) {
			s.t.Fatalf("did not happen within %s: %s", patience, what)
		}
		time.Sleep(10 * time.Millisecond) //nolint:forbidigo // the pause of a wait for a condition
	}
}

func (s *site) layout() localstate.Layout {
	return localstate.Layout{Local: filepath.Join(s.Dir, "local"), Artifacts: filepath.Join(s.Dir, "logs/workers-artifacts")}
}

// workerPids gives the pids of the workers that run, by worker id, of those that have heartbeated if beating.
func (s *site) workerPids(beating bool) map[string]int {
	launcher := container.New(container.Config{Layout: s.layout()}, zap.NewNop())
	ids, err := launcher.ListWorkers()
	s.ok(err)
	pids := map[string]int{}
	for _, id := range ids {
		pid, err := strconv.Atoi(pidIn(s.layout().WorkerPids(id)))
		if err != nil || !lives(pid) {
			continue
		}
		if beating {
			if beat, _ := localstate.NewHeartbeatReader(s.layout().WorkerHeartbeats(id), time.Now).Read(); beat == nil {
				continue
			}
		}
		pids[id] = pid
	}
	return pids
}

// lives says whether a process runs; one that only waits for its parent's attention does not.
func lives(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	_, after, ok := strings.Cut(string(stat), ") ")
	return err == nil && ok && !strings.HasPrefix(after, "Z")
}

func pidIn(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return ""
	}
	return entries[0].Name()
}

// oneWorker waits for exactly one running worker, other than those in not.
func (s *site) oneWorker(beating bool, not ...int) (id string, pid int) {
	s.t.Helper()
	s.until("one new worker runs", func() bool {
		pids := s.workerPids(beating)
		for id, pid = range pids {
			if slices.Contains(not, pid) {
				return false
			}
		}
		return len(pids) == 1
	})
	return id, pid
}

// endWorkers leaves no process behind, whatever the test did.
func (s *site) endWorkers() {
	launcher := container.New(container.Config{Layout: s.layout()}, zap.NewNop())
	ids, err := launcher.ListWorkers()
	s.ok(err)
	for _, id := range ids {
		w, err := launcher.Adopt(id)
		s.ok(err)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		s.ok(w.Kill(ctx, 0))
		cancel()
	}
}

// assign makes Nimbus assign a topology of one executor to ports of a node, and pushes if the supervisor is there.
func (s *site) assign(node, topologyID string, ports ...int) {
	a := storm.NewAssignment()
	a.MasterCodeDir = "/nowhere"
	a.NodeHost = map[string]string{node: "127.0.0.1"}
	owner := "somebody"
	a.Owner = &owner
	for i, port := range ports {
		at := &storm.NodeInfo{Node: node, Port: []int64{int64(port)}}
		a.ExecutorNodePort[storm.ExecutorID{int64(i + 1), int64(i + 1)}] = at
		heap := 64.0
		a.WorkerResources[at] = &storm.WorkerResources{MemOnHeap: &heap}
	}
	s.Nimbus.set(topologyID, a)
}

func (s *site) push(sup *Supervisor) {
	s.t.Helper()
	addr, err := sup.Addr()
	s.ok(err)
	s.ok(s.callSupervisor(addr.String(), func(c *storm.SupervisorClient) error {
		return c.SendSupervisorAssignments(s.t.Context(), s.Nimbus.answer())
	}))
}

func (s *site) callSupervisor(addr string, call func(*storm.SupervisorClient) error) error {
	conn, err := rpc.Dial(s.t.Context(), addr, rpc.ClientConfig{})
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return call(storm.NewSupervisorClient(conn))
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return tcp(l.Addr()).Port
}

// fakeNimbus serves blobs and assignments and counts what it hears. Methods that are not here answer with an error.
type fakeNimbus struct {
	storm.Nimbus
	addr *net.TCPAddr

	mu          sync.Mutex
	loaded      bool // false: getSupervisorAssignments answers null
	assignments map[string]*storm.Assignment
	blobs       map[string][]byte
	versions    map[string]int64
	sessions    map[string][]byte
	beats       []*storm.SupervisorWorkerHeartbeats
	peers       map[string]bool // addresses that heartbeats came from
	polls       int
	leader      *net.TCPAddr // who leads; nil: this one
}

func newFakeNimbus() *fakeNimbus {
	return &fakeNimbus{
		loaded: true, assignments: map[string]*storm.Assignment{}, blobs: map[string][]byte{}, versions: map[string]int64{},
		sessions: map[string][]byte{}, peers: map[string]bool{},
	}
}

// submit stores the blobs of a topology.
func (n *fakeNimbus) submit(topologyID string, conf map[string]any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var jar bytes.Buffer
	z := zip.NewWriter(&jar)
	w, err := z.Create("resources/hello.txt")
	if err == nil {
		_, err = w.Write([]byte("hello"))
	}
	if err != nil || z.Close() != nil {
		panic("zip into memory cannot go wrong")
	}
	text, err := json.Marshal(config.Merge(nil, conf))
	if err != nil {
		panic(err)
	}
	code, err := cluster.Encode(context.Background(), storm.NewStormTopology())
	if err != nil {
		panic(err)
	}
	n.put(topologyID+"-stormjar.jar", jar.Bytes())
	n.put(topologyID+"-stormconf.ser", zipped(text))
	n.put(topologyID+"-stormcode.ser", code)
}

func (n *fakeNimbus) put(key string, data []byte) {
	n.blobs[key] = data
	n.versions[key] = int64(crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))) // as Storm has it
}

// version is a blob's newest one.
func (n *fakeNimbus) version(key string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strconv.FormatInt(n.versions[key], 10)
}

func zipped(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil || z.Close() != nil {
		panic("gzip into memory cannot go wrong")
	}
	return b.Bytes()
}

func (n *fakeNimbus) set(topologyID string, a *storm.Assignment) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a == nil {
		delete(n.assignments, topologyID)
	} else {
		n.assignments[topologyID] = a
	}
}

func (n *fakeNimbus) answer() *storm.SupervisorAssignments {
	n.mu.Lock()
	defer n.mu.Unlock()
	return &storm.SupervisorAssignments{StormAssignment: maps.Clone(n.assignments)}
}

func (n *fakeNimbus) lastBeats() []*storm.SupervisorWorkerHeartbeat {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.beats) == 0 {
		return nil
	}
	return n.beats[len(n.beats)-1].WorkerHeartbeats
}

func (n *fakeNimbus) beatCount() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.beats)
}

func (n *fakeNimbus) pollCount() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.polls
}

func (n *fakeNimbus) GetLeader(context.Context) (*storm.NimbusSummary, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := n.addr
	if n.leader != nil {
		at = n.leader
	}
	return &storm.NimbusSummary{Host: at.IP.String(), Port: int32(at.Port), IsLeader: true}, nil
}

func (n *fakeNimbus) GetSupervisorAssignments(context.Context, string) (*storm.SupervisorAssignments, error) {
	n.mu.Lock()
	n.polls++
	loaded := n.loaded
	n.mu.Unlock()
	if !loaded {
		return nil, nil
	}
	return n.answer(), nil
}

func (n *fakeNimbus) SendSupervisorWorkerHeartbeats(ctx context.Context, beats *storm.SupervisorWorkerHeartbeats) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.beats = append(n.beats, beats)
	n.peers[rpc.Peer(ctx).String()] = true
	return nil
}

func (n *fakeNimbus) GetBlobMeta(_ context.Context, key string) (*storm.ReadableBlobMeta, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.blobs[key] == nil {
		return nil, &storm.KeyNotFoundException{Msg: key}
	}
	return &storm.ReadableBlobMeta{Settable: &storm.SettableBlobMeta{}, Version: n.versions[key]}, nil
}

func (n *fakeNimbus) BeginBlobDownload(_ context.Context, key string) (*storm.BeginDownloadResult_, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	data := n.blobs[key]
	if data == nil {
		return nil, &storm.KeyNotFoundException{Msg: key}
	}
	session := fmt.Sprint("session ", len(n.sessions))
	n.sessions[session] = data
	size := int64(len(data))
	return &storm.BeginDownloadResult_{Version: n.versions[key], Session: session, DataSize: &size}, nil
}

func (n *fakeNimbus) DownloadBlobChunk(_ context.Context, session string) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	data := n.sessions[session]
	chunk := data[:min(len(data), 100)]
	n.sessions[session] = data[len(chunk):]
	return chunk, nil
}

func portOf(addr net.Addr) int { return tcp(addr).Port }

func tcp(addr net.Addr) *net.TCPAddr {
	a, ok := addr.(*net.TCPAddr)
	if !ok {
		panic("listened on something else than TCP")
	}
	return a
}

func pidText(pid int) string { return strconv.Itoa(pid) }
