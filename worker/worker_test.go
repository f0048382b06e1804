// SPDX-License-Identifier: Apache-2.0

package worker

// Tests of a worker beside a real cluster state and a supervisor that answers.

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap/zapcore"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
)

func TestWorkerHoldsItsSlot(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	stop := s.run()
	s.await("the engine", func() bool { return s.engine.noted("run") })
	if diff := cmp.Diff([]Executor{{1, 1}, {2, 2}}, s.engine.setup.Executors); diff != "" {
		t.Error(diff)
	}
	if got := s.engine.setup.Tasks.Map(); got[1] != "__acker" || got[4] != "spout" {
		t.Errorf("tasks are %v", got)
	}
	if !s.engine.noted("peers map[3:{other 6800 127.0.0.1:6800} 4:{other 6800 127.0.0.1:6800}]") {
		t.Errorf("noted %v", s.engine.notes)
	}

	s.await("a heartbeat file", func() bool { return s.heartbeat() != nil })
	want := []*storm.ExecutorInfo{{TaskStart: 1, TaskEnd: 1}, {TaskStart: 2, TaskEnd: 2}, {TaskStart: -1, TaskEnd: -1}}
	beat := s.heartbeat()
	if diff := cmp.Diff(want, beat.Executors); diff != "" || beat.TopologyID != topologyID || beat.Port != slot {
		t.Errorf("heartbeat %+v: %s", beat, diff)
	}
	s.await("another heartbeat", func() bool { return s.heartbeat().Version > beat.Version })
	s.await("a call to the supervisor", func() bool { return len(s.sup.heard()) > 0 })
	if diff := cmp.Diff(want, s.sup.heard()[0].Executors); diff != "" {
		t.Error(diff)
	}
	pid := strconv.Itoa(os.Getpid())
	if _, err := os.Stat(filepath.Join(s.layout.WorkerPids(s.args.WorkerID), pid)); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(s.layout.WorkerArtifacts(topologyID, slot), "worker.pid")); string(text) != pid {
		t.Errorf("worker.pid: %q, %v", text, err)
	}
	stats := func() *storm.ClusterWorkerHeartbeat {
		b, err := s.state.WorkerBeat(t.Context(), topologyID, supervisorID, slot)
		s.ok(err)
		return b
	}
	s.await("statistics", func() bool { return stats() != nil })
	if b := stats(); len(b.ExecutorStats) != 2 || b.StormID != topologyID {
		t.Errorf("statistics %+v", b)
	}

	s.ok(stop())
	if stats() != nil {
		t.Error("statistics of a worker that ended are still there")
	}
	if !s.engine.noted("closed") {
		t.Errorf("noted %v", s.engine.notes)
	}
}

func TestSpoutsWaitForTheConnections(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.run()
	s.await("a heartbeat file", func() bool { return s.heartbeat() != nil })
	if s.engine.noted("active true") {
		t.Fatal("active before anything was connected")
	}
	close(s.engine.connected)
	s.await("activation", func() bool { return s.engine.noted("active true") })
	s.setState(storm.TopologyStatus_INACTIVE)
	s.await("deactivation", func() bool { return s.engine.noted("active false") })
	s.setState(storm.TopologyStatus_ACTIVE)
	s.await("the second activation", func() bool { return s.engine.count("active true") == 2 })
}

func TestAssignmentOutOfTheClusterState(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.sup.set(nil)
	s.ok(s.state.SetAssignment(t.Context(), topologyID, assignment(slot, "elsewhere")))
	stop := s.run()
	s.await("the engine", func() bool {
		return s.engine.noted("peers map[3:{other 6800 elsewhere:6800} 4:{other 6800 elsewhere:6800}]")
	})
	s.ok(stop())
}

func TestPeersMove(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.run()
	s.await("the engine", func() bool { return s.engine.noted("run") })
	s.sup.set(assignment(slot, "moved"))
	s.await("the new addresses", func() bool { return s.engine.noted("peers map[3:{other 6800 moved:6800} 4:{other 6800 moved:6800}]") })
}

// A worker whose slot is another's by now ends by itself; so does one whose topology is gone, and one whose executors cannot go on.
func TestWorkerEndsByItself(t *testing.T) {
	t.Parallel()
	broken := errors.New("an executor died")
	for name, c := range map[string]struct {
		change func(*site)
		want   error
	}{
		"OtherExecutors": {func(s *site) { s.sup.set(assignment(slot+1, "127.0.0.1")) }, errReassigned},
		"NoAssignment":   {func(s *site) { s.sup.set(nil) }, errReassigned},
		"EngineFails":    {func(s *site) { s.engine.fail <- broken }, broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			s.run()
			s.await("a heartbeat", func() bool { return s.heartbeat() != nil })
			c.change(s)
			select {
			case err := <-s.engine.ended:
				s.engine.ended <- nil
				if !errors.Is(err, c.want) {
					t.Errorf("ended with %v", err)
				}
			case <-time.After(patience):
				t.Fatal("it runs on")
			}
		})
	}
}

func TestNothingToRunIsAnError(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*site){
		"NoAssignment": func(s *site) { s.sup.set(nil) },
		"NoExecutors":  func(s *site) { s.sup.set(assignment(slot+1, "127.0.0.1")) },
		"NoCode":       func(s *site) { s.ok(os.Remove(filepath.Join(s.layout.Topology(topologyID), "stormcode.ser"))) },
		"BadConf": func(s *site) {
			s.ok(os.WriteFile(filepath.Join(s.layout.Topology(topologyID), "stormconf.ser"), []byte("no gzip"), 0o600))
		},
		"NoClusterState": func(s *site) {
			s.local.Conf[config.StormZookeeperPort], s.local.Conf[config.StormZookeeperConnectionTimeout] = int64(1), int64(200)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			spoil(s)
			s.run()
			select {
			case err := <-s.engine.ended:
				s.engine.ended <- nil
				if err == nil {
					t.Error("no error")
				}
			case <-time.After(patience):
				t.Fatal("it runs")
			}
		})
	}
}

func TestCredentialsAreRenewed(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	set := func(value string) {
		s.ok(s.state.SetCredentials(t.Context(), topologyID, &storm.Credentials{Creds: map[string]string{"token": value}}))
	}
	set("a")
	s.run()
	s.await("the engine", func() bool { return s.engine.noted("run") })
	if s.engine.setup.Credentials["token"] != "a" {
		t.Errorf("credentials at the start: %v", s.engine.setup.Credentials)
	}
	set("b")
	s.await("new credentials", func() bool { return s.engine.noted("credentials map[token:b]") })
	if s.engine.noted("credentials map[token:a]") {
		t.Error("credentials that have not changed were handed on")
	}
}

func TestDebugIsHandedOn(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.ok(s.state.SetStorm(t.Context(), topologyID, &storm.StormBase{
		Name: "words", Status: storm.TopologyStatus_ACTIVE, NumWorkers: 2,
		ComponentDebug: map[string]*storm.DebugOptions{
			"spout": {Enable: new(true), Samplingpct: new(20.0)}, topologyID: {Enable: new(true), Samplingpct: new(5.0)},
			"count": {Enable: new(false), Samplingpct: new(50.0)},
		},
	}))
	s.run()
	s.await("the debug options", func() bool { return s.engine.noted("debug map[:5 count:0 spout:20]") })
}

func TestErrorsReachTheClusterState(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]any{config.TopologyMaxErrorReportPerInterval: int64(12), config.TopologyErrorThrottleIntervalSecs: int64(3600)})
	s.run()
	s.await("the engine", func() bool { return s.engine.noted("run") })
	for i := range 20 {
		s.engine.setup.Report("count", 2, errors.New("fault "+strconv.Itoa(i)))
	}
	s.engine.setup.Report("spout", 4, errors.New("other"))
	last := func(component string) string {
		e, err := s.state.LastError(t.Context(), topologyID, component)
		s.ok(err)
		if e == nil {
			return ""
		}
		return e.Error
	}
	s.await("errors", func() bool { return last("count") == "fault 11" && last("spout") == "other" })
	s.await("old ones to go", func() bool {
		kept, err := s.state.Errors(t.Context(), topologyID, "count")
		s.ok(err)
		return len(kept) == keptErrors
	})
	kept, err := s.state.Errors(t.Context(), topologyID, "count")
	s.ok(err)
	if e := kept[0]; e.GetHost() != "127.0.0.1" || e.GetPort() != slot || e.ErrorTimeSecs == 0 {
		t.Errorf("error %+v", e)
	}
}

func TestLevelsFollowTheClusterState(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.run()
	root := func(want zapcore.Level) func() bool {
		return func() bool { return s.logs.levels.table.Load().root == want }
	}
	set := func(name string, l *storm.LogLevel) {
		s.ok(s.state.SetLogConfig(t.Context(), topologyID, &storm.LogConfig{NamedLoggerLevel: map[string]*storm.LogLevel{name: l}}))
	}
	set("ROOT", level("ERROR", 0))
	s.await("the level", root(zapcore.ErrorLevel))
	set("ROOT", level("DEBUG", time.Now().Add(5*time.Second).UnixMilli()))
	s.await("the level with a limit", root(zapcore.DebugLevel))
	s.await("the end of its time", root(zapcore.InfoLevel))
	set("count", level("WARN", 0))
	s.await("the level of a component", func() bool {
		return s.logs.levels.table.Load().of("count", traceLevel) == zapcore.WarnLevel
	})
	s.ok(s.state.RemoveLogConfig(t.Context(), topologyID))
	s.await("all levels to be as before", func() bool { return len(s.logs.levels.table.Load().named) == 0 })
}
