// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file checks that twins stand by, take the place of workers, and never outlive their use.

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/supervisor/slot"
)

// twinned asks for twins at a pace for tests.
func twinned(cfg *Config) {
	patient(cfg)
	cfg.Slot.TwinDelay, cfg.Slot.TwinRetry = 10*time.Millisecond, 50*time.Millisecond
}

var twinConf = map[string]any{config.GustWorkerTwinEnabled: true}

// twins gives the pids of all twins that stand by, by worker id: processes with a worker's id whose worker has no pids.
func (s *site) twins() map[string]int {
	found := map[string]int{}
	entries, err := os.ReadDir("/proc")
	s.ok(err)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || !lives(pid) {
			continue
		}
		text, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline")) // it may have ended
		args := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
		id := args[len(args)-1]
		if slices.Contains(args, "org.gust.launcher.Twin") && property(args, "storm.local.dir") == s.layout().Local && !fileExists(s.layout().WorkerPids(id)) {
			found[id] = pid
		}
	}
	return found
}

// oneTwin waits for exactly one twin, other than those in not.
func (s *site) oneTwin(not ...int) (id string, pid int) {
	s.t.Helper()
	s.until("one new twin stands by", func() bool {
		twins := s.twins()
		for id, pid = range twins {
		}
		return len(twins) == 1 && !slices.Contains(not, pid)
	})
	return id, pid
}

// folders lists what is in workers/.
func (s *site) folders() []string {
	entries, err := os.ReadDir(s.layout().Workers())
	s.ok(err)
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// slotNotes is what the slot's artifacts say about whose they are.
func (s *site) slotNotes(port int) string {
	dir := s.layout().WorkerArtifacts(topology, port)
	notes, err := os.ReadFile(filepath.Join(dir, "worker.yaml"))
	s.ok(err)
	pid, err := os.ReadFile(filepath.Join(dir, "worker.pid"))
	s.ok(err)
	return string(notes) + string(pid)
}

func (s *site) approved() map[string]int32 {
	approved, err := localstate.New(s.layout().State(), time.Now, s.log).ApprovedWorkers()
	s.ok(err)
	return approved
}

func TestTwinTakesTheWorkersPlace(t *testing.T) {
	t.Parallel()
	site := newSite(t, 1, twinConf)
	sup, _ := site.start(twinned)
	site.Nimbus.submit(topology, nil)
	port := site.plan.Ports[0]
	site.assign(sup.ID(), topology, port)
	site.push(sup)
	id, pid := site.oneWorker(true)
	notes := site.slotNotes(port)
	for range 3 {
		twinID, twinPid := site.oneTwin(pid)
		if diff := cmp.Diff(map[string]int32{id: int32(port)}, site.approved()); diff != "" {
			t.Errorf("approved workers beside a twin (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(notes, site.slotNotes(port)); diff != "" {
			t.Errorf("notes of the slot beside a twin (-want +got):\n%s", diff)
		}
		for _, path := range []string{site.layout().WorkerHeartbeats(twinID), site.layout().WorkerUser(twinID)} {
			if fileExists(path) {
				t.Errorf("twin has a worker's %s", path)
			}
		}
		site.awaitUp(sup, port)
		site.ok(syscall.Kill(pid, syscall.SIGKILL))
		newID, newPid := site.oneWorker(true, pid)
		if newID != twinID || newPid != twinPid {
			t.Fatalf("worker %s, pid %d followed, not the twin %s, pid %d", newID, newPid, twinID, twinPid)
		}
		if diff := cmp.Diff(map[string]int32{twinID: int32(port)}, site.approved()); diff != "" {
			t.Errorf("approved workers (-want +got):\n%s", diff)
		}
		notes = site.slotNotes(port)
		if !strings.Contains(notes, twinID) || !strings.HasSuffix(notes, pidText(twinPid)) {
			t.Errorf("notes of the slot are not the new worker's: %s", notes)
		}
		site.until("the dead worker's folder is gone", func() bool { return !slices.Contains(site.folders(), id) })
		id, pid = newID, newPid
	}
}

// awaitUp waits until the slot's twin would be used.
func (s *site) awaitUp(sup *Supervisor, port int) {
	s.until("the twin is up", func() bool {
		sup.mu.Lock()
		p := sup.ports[port]
		sup.mu.Unlock()
		up := make(chan bool, 1)
		p.post(func() slot.Event { up <- p.machine.Twin() != 0; return nil })
		return <-up
	})
}

func TestTwinGoesWithTheAssignment(t *testing.T) {
	t.Parallel()
	site := newSite(t, 2, nil)
	sup, _ := site.start(twinned)
	site.Nimbus.submit(topology, twinConf) // the topology itself may ask for it
	site.assign(sup.ID(), topology, site.plan.Ports[0])
	site.push(sup)
	_, pid := site.oneWorker(true)
	_, twin := site.oneTwin()

	site.assign(sup.ID(), topology, site.plan.Ports[1])
	site.push(sup)
	_, pid = site.oneWorker(true, pid)
	site.until("the twin of the old slot is gone", func() bool { return !lives(twin) })
	_, next := site.oneTwin(twin)

	site.Nimbus.submit(topology, map[string]any{config.GustWorkerTwinEnabled: true, "new": "conf"})
	sup.blobs.Check(t.Context())
	_, pid = site.oneWorker(true, pid)
	site.until("the twin on the old files is gone", func() bool { return !lives(next) })
	_, last := site.oneTwin(next)

	site.Nimbus.set(topology, nil)
	site.push(sup)
	site.until("nothing is left of worker and twin", func() bool {
		return !lives(pid) && !lives(last) && len(site.folders()) == 0
	})
	left, err := filepath.Glob(filepath.Join(site.layout().Artifacts, "*", "*", ".twin-*"))
	site.ok(err)
	if len(left) > 0 {
		t.Errorf("folders of twins are left: %v", left)
	}
}

func TestTwinEndsWithTheSupervisor(t *testing.T) {
	t.Parallel()
	site := newSite(t, 1, twinConf)
	sup, stop := site.start(twinned)
	site.Nimbus.submit(topology, nil)
	site.assign(sup.ID(), topology, site.plan.Ports[0])
	site.push(sup)
	id, pid := site.oneWorker(true)
	_, twin := site.oneTwin()
	stop()
	if lives(twin) {
		t.Errorf("twin %d outlived a supervisor that was stopped", twin)
	}
	if diff := cmp.Diff([]string{id}, site.folders()); diff != "" {
		t.Errorf("folders of workers (-want +got):\n%s", diff)
	}

	// One that has no time to end its twin is outlived by the worker alone, and the next one clears up.
	killed := site.startProcess()
	_, twin = site.oneTwin(twin)
	site.kill(killed)
	site.until("the twin of a killed supervisor has ended", func() bool { return !lives(twin) })
	_, _ = site.start(twinned)
	if _, same := site.oneWorker(true); same != pid {
		t.Errorf("worker %d was replaced by %d", pid, same)
	}
	_, _ = site.oneTwin(twin)
	site.until("the old twin's folder is gone", func() bool { return len(site.folders()) == 2 })
}

func TestTwinThatDoesNotAnswerIsReplaced(t *testing.T) {
	t.Parallel()
	site := newSite(t, 1, twinConf)
	sup, _ := site.start(twinned)
	site.Nimbus.submit(topology, nil)
	port := site.plan.Ports[0]
	site.assign(sup.ID(), topology, port)
	site.push(sup)
	_, pid := site.oneWorker(true)
	_, twin := site.oneTwin()
	site.awaitUp(sup, port)
	site.tell("deaf", true)
	site.ok(syscall.Kill(pid, syscall.SIGKILL))
	_, fresh := site.oneWorker(true, pid)
	if fresh == twin || lives(twin) {
		t.Errorf("worker %d runs, the twin %d that does not answer lives: %t", fresh, twin, lives(twin))
	}
}

func TestTwinThatCannotStartLeavesTheWorkerAlone(t *testing.T) {
	t.Parallel()
	site := newSite(t, 1, twinConf)
	site.tell("barren", true)
	sup, _ := site.start(twinned)
	site.Nimbus.submit(topology, nil)
	site.assign(sup.ID(), topology, site.plan.Ports[0])
	site.push(sup)
	id, pid := site.oneWorker(true)
	seen := map[string]bool{}
	site.until("three twins have been tried", func() bool {
		for _, name := range site.folders() {
			seen[name] = true
		}
		return len(seen) > 3
	})
	site.tell("barren", false)
	twinID, _ := site.oneTwin()
	if _, same := site.oneWorker(true); same != pid {
		t.Errorf("worker %d was replaced by %d", pid, same)
	}
	site.until("only the worker's and the twin's folder are left", func() bool {
		folders := site.folders()
		return len(folders) == 2 && slices.Contains(folders, id) && slices.Contains(folders, twinID)
	})
}
