// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file checks the life of workers under one supervisor: launched, hung, dead, withdrawn, moved.

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/supervisor/localizer"
	"github.com/gust-stream/gust/thrift/storm"
)

const topology = "wc-1-1700000000"

// patient makes every limit so long that a test which needs one fails: then only what is seen at once can help.
func patient(cfg *Config) {
	cfg.StartTimeout, cfg.WorkerTimeout = time.Hour, time.Hour
}

func TestWorkerRunsForPushedAssignment(t *testing.T) {
	t.Parallel()
	site := newSite(t, 2, nil)
	sup, _ := site.start(func(cfg *Config) {
		patient(cfg)
		cfg.PollEvery = time.Hour // a push has to do
	})
	site.Nimbus.submit(topology, nil)
	port := site.plan.Ports[1]
	site.assign(sup.ID(), topology, port)
	site.push(sup)
	id, pid := site.oneWorker(true)

	site.until("Nimbus hears of the worker", func() bool {
		beats := site.Nimbus.lastBeats()
		return len(beats) == 1 && beats[0].StormID == topology
	})
	site.until("the entry in the cluster state names the port as used", func() bool {
		infos, err := site.State.Supervisors(t.Context())
		site.ok(err)
		info := infos[sup.ID()]
		return info != nil && len(info.UsedPorts) == 1 && info.UsedPorts[0] == int64(port)
	})
	store := localstate.New(site.layout().State(), time.Now, site.log)
	approved, err := store.ApprovedWorkers()
	site.ok(err)
	if diff := cmp.Diff(map[string]int32{id: int32(port)}, approved); diff != "" {
		t.Errorf("approved workers (-want +got):\n%s", diff)
	}
	saved, err := store.LocalAssignments()
	site.ok(err)
	if a := saved[int32(port)]; len(saved) != 1 || a == nil || a.TopologyID != topology || a.GetOwner() != "somebody" || a.Resources.GetMemOnHeap() != 64 {
		t.Errorf("saved assignments are %v", saved)
	}
	if target, err := os.Readlink(filepath.Join(site.layout().Worker(id), "resources")); err != nil || !fileExists(filepath.Join(target, "hello.txt")) {
		t.Errorf("worker's resources are not the jar's: %s, %v", target, err)
	}

	// A poll that carries the same again restarts nobody.
	sup.askNow()
	polls := site.Nimbus.pollCount()
	site.until("two more polls", func() bool { sup.askNow(); return site.Nimbus.pollCount() >= polls+2 })
	if _, same := site.oneWorker(true); same != pid {
		t.Errorf("worker %d was replaced by %d", pid, same)
	}
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestSupervisorInfo(t *testing.T) {
	t.Parallel()
	site := newSite(t, 3, map[string]any{
		config.SupervisorSchedulerMeta: map[string]any{"rack": "r1"}, config.SupervisorResourcesMap: map[string]any{"gpu.count": int64(2)},
	})
	sup, stop := site.start(patient)
	var info *storm.SupervisorInfo
	site.until("the entry is written", func() bool {
		infos, err := site.State.Supervisors(t.Context())
		site.ok(err)
		info = infos[sup.ID()]
		return info != nil
	})
	addr, err := sup.Addr()
	site.ok(err)
	if age := time.Now().Unix() - info.TimeSecs; age < 0 || age > 60 {
		t.Errorf("time_secs is %d seconds ago", age)
	}
	if info.GetUptimeSecs() < 0 || info.GetUptimeSecs() > 60 {
		t.Errorf("uptime_secs is %d", info.GetUptimeSecs())
	}
	info.TimeSecs, info.UptimeSecs = 0, nil
	meta := []int64{}
	for _, port := range site.plan.Ports {
		meta = append(meta, int64(port))
	}
	id, version, serverPort := sup.ID(), "2.8.3", int32(portOf(addr))
	want := &storm.SupervisorInfo{
		Hostname: "127.0.0.1", AssignmentID: &id, UsedPorts: []int64{}, Meta: meta,
		SchedulerMeta: map[string]string{"rack": "r1", "gust.thrift.max_buffer_size": "16777216"},
		Version:       &version, ServerPort: &serverPort,
		ResourcesMap: map[string]float64{"memory.mb": 4096, "cpu.pcore.percent": 400, "gpu.count": 2},
	}
	if diff := cmp.Diff(want, info); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
	stop()
	again, _ := site.start(patient)
	if again.ID() != id {
		t.Errorf("restarted supervisor has the id %s, not %s", again.ID(), id)
	}
}

func TestDeadWorkerIsRelaunchedAtOnce(t *testing.T) {
	t.Parallel()
	for name, mute := range map[string]bool{"Heartbeating": false, "BeforeFirstHeartbeat": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := newSite(t, 1, nil)
			if mute {
				site.tell("mute", true)
			}
			site.tell("child", true)
			sup, _ := site.start(patient)
			site.Nimbus.submit(topology, nil)
			site.assign(sup.ID(), topology, site.plan.Ports[0])
			site.push(sup)
			first, pid := site.oneWorker(!mute)
			site.ok(syscall.Kill(pid, syscall.SIGKILL))
			second, _ := site.oneWorker(!mute, pid)
			if first == second {
				t.Errorf("new worker has the old id %s", first)
			}
			site.until("the old worker's directory is removed", func() bool { return !fileExists(site.layout().Worker(first)) })
		})
	}
}

func TestWorkerThatDiesAtStartIsNotSpunOn(t *testing.T) {
	t.Parallel()
	site := newSite(t, 1, nil)
	site.tell("die", true)
	sup, _ := site.start(func(cfg *Config) {
		patient(cfg)
		cfg.Slot.Backoff, cfg.Slot.BackoffMax = 200*time.Millisecond, 400*time.Millisecond
	})
	site.Nimbus.submit(topology, nil)
	site.assign(sup.ID(), topology, site.plan.Ports[0])
	site.push(sup)
	seen := map[string]bool{}
	begin := time.Now()
	store := localstate.New(site.layout().State(), time.Now, site.log)
	site.until("five launches", func() bool {
		approved, err := store.ApprovedWorkers()
		site.ok(err)
		for id := range approved {
			seen[id] = true
		}
		return len(seen) >= 5
	})
	// 0, 200, 400 and 400 ms lie between five launches.
	if took := time.Since(begin); took < time.Second {
		t.Errorf("five launches within %s", took)
	}
	site.tell("die", false)
	site.oneWorker(true)
}

func TestHungWorkerIsReplaced(t *testing.T) {
	t.Parallel()
	site := newSite(t, 1, nil)
	sup, _ := site.start(func(cfg *Config) {
		cfg.WorkerTimeout = 4 * time.Second
		cfg.Slot.KillGrace = 200 * time.Millisecond
	})
	site.tell("stubborn", true)
	site.Nimbus.submit(topology, nil)
	site.assign(sup.ID(), topology, site.plan.Ports[0])
	site.push(sup)
	_, pid := site.oneWorker(true)
	site.ok(syscall.Kill(pid, syscall.SIGSTOP))
	site.oneWorker(true, pid)
}

func TestTopologyTimeoutRaisesTheLimit(t *testing.T) {
	t.Parallel()
	cfg := Config{StartTimeout: 120 * time.Second, WorkerTimeout: 30 * time.Second}
	for _, tc := range []struct {
		secs        any
		first, beat time.Duration
	}{
		{nil, 120 * time.Second, 30 * time.Second},
		{int64(10), 120 * time.Second, 30 * time.Second},
		{int64(60), 120 * time.Second, 60 * time.Second},
		{int64(600), 600 * time.Second, 600 * time.Second},
	} {
		topology := &localizer.Topology{Conf: config.Conf{config.TopologyWorkerTimeoutSecs: tc.secs}}
		got := cfg.limits(topology, &storm.LocalAssignment{})
		if got.FirstHeartbeat != tc.first || got.Heartbeat != tc.beat {
			t.Errorf("topology.worker.timeout.secs %v gives %+v", tc.secs, got)
		}
	}
}

// Storm's supervisor ends when a topology is killed while its worker starts.
func TestTopologyKilledWhileItsWorkerStarts(t *testing.T) {
	t.Parallel()
	for name, stage := range map[string]func(*site){
		"Localizing": func(*site) {}, // its blobs are never there
		"Starting": func(s *site) {
			s.tell("mute", true)
			s.Nimbus.submit(topology, nil)
		},
		"Dying": func(s *site) {
			s.tell("die", true)
			s.Nimbus.submit(topology, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := newSite(t, 1, nil)
			stage(site)
			sup, _ := site.start(patient)
			site.assign(sup.ID(), topology, site.plan.Ports[0])
			site.push(sup)
			switch name {
			case "Starting":
				site.oneWorker(false)
			case "Dying":
				site.until("a worker was launched", func() bool { return fileExists(site.layout().WorkerArtifacts(topology, site.plan.Ports[0])) })
			}
			site.Nimbus.set(topology, nil)
			site.push(sup)
			site.until("nothing is left of it", func() bool {
				entries, err := os.ReadDir(site.layout().Workers())
				site.ok(err)
				return len(entries) == 0 && len(sup.board.usedPorts()) == 0
			})
			for _, what := range []string{"mute", "die"} {
				_ = os.Remove(filepath.Join(site.Dir, "play", what)) // whichever there is
			}
			const next = "wc-2-1700000001"
			site.Nimbus.submit(next, nil)
			site.assign(sup.ID(), next, site.plan.Ports[0])
			site.push(sup)
			site.oneWorker(true)
		})
	}
}

func TestSilentOrAbsentNimbusChangesNothing(t *testing.T) {
	t.Parallel()
	site := newSite(t, 1, nil)
	sup, _ := site.start(patient)
	site.Nimbus.submit(topology, nil)
	site.assign(sup.ID(), topology, site.plan.Ports[0])
	site.push(sup)
	_, pid := site.oneWorker(true)
	site.Nimbus.mu.Lock()
	site.Nimbus.loaded = false
	site.Nimbus.assignments = map[string]*storm.Assignment{}
	site.Nimbus.mu.Unlock()
	polls := site.Nimbus.pollCount()
	site.until("three polls are answered with null", func() bool { sup.askNow(); return site.Nimbus.pollCount() >= polls+3 })
	if _, still := site.oneWorker(true); still != pid {
		t.Errorf("worker %d was replaced by %d", pid, still)
	}
	// And the heartbeats of all that time came over few connections.
	site.until("ten heartbeat reports", func() bool { return len(site.Nimbus.lastBeats()) == 1 && site.Nimbus.beatCount() >= 10 })
	site.Nimbus.mu.Lock()
	defer site.Nimbus.mu.Unlock()
	if len(site.Nimbus.peers) > 4 {
		t.Errorf("heartbeats came over %d connections", len(site.Nimbus.peers))
	}
}

func TestStopKillsWorkersOnlyWhenTold(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]bool{"Kill": true, "Leave": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := newSite(t, 1, nil)
			sup, stop := site.start(func(cfg *Config) {
				patient(cfg)
				cfg.KillWorkersOnStop = kill
			})
			site.Nimbus.submit(topology, nil)
			site.assign(sup.ID(), topology, site.plan.Ports[0])
			site.push(sup)
			id, pid := site.oneWorker(true)
			stop()
			if alive := lives(pid); alive == kill {
				t.Errorf("worker lives after the stop: %t", alive)
			}
			if left := fileExists(site.layout().Worker(id)); left == kill {
				t.Errorf("worker's directory is there after the stop: %t", left)
			}
		})
	}
}
