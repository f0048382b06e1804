// SPDX-License-Identifier: Apache-2.0

package worker

// This file sets up what a worker under test lives in: the embedded cluster state, a supervisor that answers, the disk as a
// supervisor leaves it, and an engine that notes what it is told.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/thrift/rpc"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/zookeeper/server"
)

// patience is how long a test waits for what must happen; it is reached only by a test that fails.
const patience = 60 * time.Second

const (
	topologyID   = "words-1-1"
	supervisorID = "sup-127.0.0.1"
	slot         = 6701
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		os.Exit(childMain()) //nolint:forbidigo // it is a main
	}
	goleak.VerifyTestMain(m)
}

// site is everything around one worker.
type site struct {
	t      *testing.T
	dir    string
	layout localstate.Layout
	args   Args
	local  localstate.GoWorker
	state  *cluster.State
	sup    *fakeSupervisor
	engine *fakeEngine
	logs   *logs // of the worker that run has started
}

func newSite(t *testing.T, conf map[string]any) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{
		t: t, dir: dir, sup: &fakeSupervisor{}, engine: newFakeEngine(),
		layout: localstate.Layout{Local: filepath.Join(dir, "local"), Artifacts: filepath.Join(dir, "artifacts")},
	}
	zk, err := server.New(server.Config{Addr: "127.0.0.1:0", Dir: filepath.Join(dir, "zookeeper")}, zap.NewNop())
	s.ok(err)
	zkAddr, err := zk.Listen()
	s.ok(err)
	s.background(zk.Run)
	thrift := rpc.New(rpc.Config{Addr: "127.0.0.1:0"}, storm.NewSupervisorProcessor(s.sup), zap.NewNop())
	supAddr, err := thrift.Listen()
	s.ok(err)
	s.background(thrift.Run)
	s.args = Args{TopologyID: topologyID, SupervisorID: supervisorID, SupervisorPort: portOf(supAddr), Port: slot, WorkerID: uuid.NewString()}
	whole := config.Conf{
		config.StormZookeeperServers: []any{"127.0.0.1"}, config.StormZookeeperPort: int64(portOf(zkAddr)), config.StormLocalHostname: "127.0.0.1",
		config.NimbusSeeds: []any{"127.0.0.1"}, config.NimbusThriftPort: int64(1), config.TaskRefreshPollSecs: int64(1),
		config.ExecutorMetricsFrequencySecs: int64(1),
	}
	s.local = localstate.GoWorker{Conf: config.Merge(whole, conf), LocalDir: s.layout.Local, Artifacts: s.layout.Artifacts}
	s.state, err = cluster.Connect(t.Context(), cluster.Config{Servers: []string{zkAddr.String()}, Root: "/storm"}, zap.NewNop())
	s.ok(err)
	t.Cleanup(s.state.Close)
	s.layOut(conf)
	s.setState(storm.TopologyStatus_ACTIVE)
	s.sup.set(assignment(slot, "127.0.0.1"))
	return s
}

func portOf(a net.Addr) int {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return 0
	}
	return tcp.Port
}

// layOut makes the folders and files that a supervisor makes.
func (s *site) layOut(conf map[string]any) {
	for _, dir := range []string{
		s.layout.Topology(topologyID), s.layout.WorkerPids(s.args.WorkerID), s.layout.WorkerHeartbeats(s.args.WorkerID),
		s.layout.WorkerArtifacts(topologyID, slot),
	} {
		s.ok(os.MkdirAll(dir, 0o755))
	}
	saved, err := config.Builtin()
	s.ok(err)
	text, err := config.Merge(saved, conf).JSON()
	s.ok(err)
	packed, err := cluster.Pack(text)
	s.ok(err)
	s.ok(os.WriteFile(filepath.Join(s.layout.Topology(topologyID), localstate.TopologyConf), packed, 0o600))
	code, err := cluster.Encode(s.t.Context(), words())
	s.ok(err)
	s.ok(os.WriteFile(filepath.Join(s.layout.Topology(topologyID), localstate.TopologyCode), code, 0o600))
	s.ok(s.local.Write(s.layout.GoWorker(s.args.WorkerID)))
}

// words is a spout of one task and a bolt of two: tasks 1 is the acker, 2 and 3 the bolt, 4 the spout.
func words() *storm.StormTopology {
	common := func(tasks int32) *storm.ComponentCommon {
		c := storm.NewComponentCommon()
		c.Inputs = map[*storm.GlobalStreamId]*storm.Grouping{}
		c.Streams = map[string]*storm.StreamInfo{"default": {OutputFields: []string{"word"}}}
		text := fmt.Sprintf(`{"topology.tasks":%d}`, tasks)
		c.ParallelismHint, c.JSONConf = &tasks, &text
		return c
	}
	shell := &storm.ComponentObject{Shell: &storm.ShellComponent{ExecutionCommand: "true", Script: "true"}}
	count := common(2)
	count.Inputs[&storm.GlobalStreamId{ComponentId: "spout", StreamId: "default"}] = &storm.Grouping{Shuffle: storm.NewNullStruct()}
	return &storm.StormTopology{
		Spouts:      map[string]*storm.SpoutSpec{"spout": {SpoutObject: shell, Common: common(1)}},
		Bolts:       map[string]*storm.Bolt{"count": {BoltObject: shell, Common: count}},
		StateSpouts: map[string]*storm.StateSpoutSpec{},
	}
}

// assignment puts tasks 1 and 2 on the slot, and 3 and 4 on another.
func assignment(port int64, otherHost string) *storm.Assignment {
	a := storm.NewAssignment()
	a.MasterCodeDir = "x"
	here, there := &storm.NodeInfo{Node: supervisorID, Port: []int64{port}}, &storm.NodeInfo{Node: "other", Port: []int64{6800}}
	a.NodeHost[supervisorID], a.NodeHost["other"] = "127.0.0.1", otherHost
	a.ExecutorNodePort[storm.ExecutorID{1, 1}] = here
	a.ExecutorNodePort[storm.ExecutorID{2, 2}] = here
	a.ExecutorNodePort[storm.ExecutorID{3, 4}] = there
	return a
}

func (s *site) setState(status storm.TopologyStatus) {
	s.ok(s.state.SetStorm(s.t.Context(), topologyID, &storm.StormBase{
		Name: "words", Status: status, NumWorkers: 2, ComponentDebug: map[string]*storm.DebugOptions{},
	}))
}

// run starts the worker; stop ends it and gives how it ended.
func (s *site) run() (stop func() error) {
	s.t.Helper()
	logs, err := openLogs(s.layout.WorkerArtifacts(topologyID, slot), 1<<20, 2)
	s.ok(err)
	s.logs = logs
	w := newWorker(s.args, s.local, logs, s.engine.make)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	once := sync.OnceValue(func() error {
		cancel()
		return errors.Join(<-ended, logs.file.Close())
	})
	s.t.Cleanup(func() { _ = once() })
	s.engine.ended = ended
	return once
}

// heartbeat is the newest one in the worker's folder.
func (s *site) heartbeat() *localstate.Heartbeat {
	beat, err := localstate.NewHeartbeatReader(s.layout.WorkerHeartbeats(s.args.WorkerID), time.Now).Read()
	s.ok(err)
	return beat
}

func (s *site) await(what string, holds func() bool) {
	s.t.Helper()
	deadline := time.After(patience)
	for !holds() {
		select {
		case <-deadline:
			s.t.Fatalf("waited %v for %s; log:\n%s", patience, what, s.log())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (s *site) log() string {
	text, err := os.ReadFile(filepath.Join(s.layout.WorkerArtifacts(topologyID, slot), logName))
	s.ok(err)
	return string(text)
}

func (s *site) background(run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		s.ok(<-ended)
	})
}

func (s *site) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// fakeSupervisor answers a worker.
type fakeSupervisor struct {
	mu         sync.Mutex
	assignment *storm.Assignment // nil: not known
	beats      []*storm.SupervisorWorkerHeartbeat
}

func (f *fakeSupervisor) set(a *storm.Assignment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.assignment = a
}

// heard is every heartbeat so far.
func (f *fakeSupervisor) heard() []*storm.SupervisorWorkerHeartbeat {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.beats)
}

func (f *fakeSupervisor) SendSupervisorAssignments(context.Context, *storm.SupervisorAssignments) error {
	return nil
}

func (f *fakeSupervisor) GetLocalAssignmentForStorm(_ context.Context, id string) (*storm.Assignment, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.assignment == nil || id != topologyID {
		return nil, &storm.NotAliveException{Msg: id}
	}
	return f.assignment, nil
}

func (f *fakeSupervisor) SendSupervisorWorkerHeartbeat(_ context.Context, b *storm.SupervisorWorkerHeartbeat) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.beats = append(f.beats, b)
	return nil
}

// fakeEngine notes what it is told.
type fakeEngine struct {
	setup     Setup
	connected chan struct{}
	fail      chan error // an error ends Run
	ended     chan error // the worker's

	mu    sync.Mutex
	notes []string // guarded by mu
}

func newFakeEngine() *fakeEngine {
	return &fakeEngine{connected: make(chan struct{}), fail: make(chan error, 1)}
}

func (e *fakeEngine) make(s Setup) (Engine, error) {
	e.setup = s
	e.note("made")
	return e, nil
}

func (e *fakeEngine) note(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.notes = append(e.notes, fmt.Sprintf(format, args...))
}

func (e *fakeEngine) noted(text string) bool { return e.count(text) > 0 }

func (e *fakeEngine) count(text string) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, note := range e.notes {
		if note == text {
			n++
		}
	}
	return n
}

func (e *fakeEngine) Run(ctx context.Context) error {
	e.note("run")
	defer e.note("closed")
	select {
	case <-ctx.Done():
		return nil
	case err := <-e.fail:
		return err
	}
}

func (e *fakeEngine) SetActive(active bool)               { e.note("active %v", active) }
func (e *fakeEngine) SetCredentials(c map[string]string)  { e.note("credentials %v", c) }
func (e *fakeEngine) SetPeers(peers map[int32]Peer)       { e.note("peers %v", peers) }
func (e *fakeEngine) SetDebug(percent map[string]float64) { e.note("debug %v", percent) }
func (e *fakeEngine) Connected() <-chan struct{}          { return e.connected }
func (e *fakeEngine) Stats() map[Executor]*storm.ExecutorStats {
	stats := storm.NewExecutorStats()
	stats.Emitted, stats.Transferred, stats.Rate = map[string]map[string]int64{}, map[string]map[string]int64{}, 1
	stats.Specific = &storm.ExecutorSpecificStats{Spout: storm.NewSpoutStats()}
	spout := stats.Specific.Spout
	spout.Acked, spout.Failed = map[string]map[string]int64{":all-time": {"default": 7}}, map[string]map[string]int64{}
	spout.CompleteMsAvg = map[string]map[string]float64{}
	return map[Executor]*storm.ExecutorStats{{1, 1}: stats, {2, 2}: stats}
}

func itoa(n int) string { return strconv.Itoa(n) }
