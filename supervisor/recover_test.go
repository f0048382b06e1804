// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file kills supervisors, with and without their workers, and checks what the next one makes of it.

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/thrift/storm"
)

// idOf waits for a supervisor's entry and gives its id.
func (s *site) idOf() (id string) {
	s.t.Helper()
	s.until("a supervisor is registered", func() bool {
		infos, err := s.State.Supervisors(s.t.Context())
		s.ok(err)
		for id = range infos {
			return true
		}
		return false
	})
	return id
}

func TestKilledSupervisorsWorkerIsAdopted(t *testing.T) {
	t.Parallel()
	site := newSite(t, 2, nil)
	process := site.startProcess()
	site.Nimbus.submit(topology, nil)
	site.assign(site.idOf(), topology, site.plan.Ports[0])
	id, pid := site.oneWorker(true)
	site.kill(process)

	// The limits are so long that only the end of its process can tell that the adopted worker is dead.
	sup, stop := site.start(patient)
	site.until("Nimbus hears of the adopted worker", func() bool {
		beats := site.Nimbus.lastBeats()
		return len(beats) == 1 && beats[0].StormID == topology
	})
	if again, same := site.oneWorker(true); again != id || same != pid {
		t.Fatalf("worker %s (%d) was replaced by %s (%d)", id, pid, again, same)
	}
	site.ok(syscall.Kill(pid, syscall.SIGKILL))
	_, second := site.oneWorker(true, pid)

	// And once more, with nothing but the assignment withdrawn in between.
	stop()
	third, _ := site.start(patient)
	if third.ID() != sup.ID() {
		t.Errorf("id changed from %s to %s", sup.ID(), third.ID())
	}
	if _, same := site.oneWorker(true); same != second {
		t.Fatalf("worker %d was replaced by %d", second, same)
	}
	site.Nimbus.set(topology, nil)
	site.push(third)
	site.until("the adopted worker is ended", func() bool { return !lives(second) })
	site.until("nothing is saved", func() bool {
		saved, err := localstate.New(site.layout().State(), time.Now, site.log).LocalAssignments()
		site.ok(err)
		return len(saved) == 0
	})
}

func TestWorkersComeBackWithoutNimbus(t *testing.T) {
	t.Parallel()
	site := newSite(t, 1, nil)
	process := site.startProcess()
	site.Nimbus.submit(topology, nil)
	site.assign(site.idOf(), topology, site.plan.Ports[0])
	id, pid := site.oneWorker(true)
	site.kill(process)
	site.ok(syscall.Kill(pid, syscall.SIGKILL))
	site.plan.NimbusPort = freePort(t) // where nobody listens
	site.start(patient)
	again, _ := site.oneWorker(true, pid)
	if again == id {
		t.Errorf("new worker has the old id %s", id)
	}
	site.until("the dead worker's directory is removed", func() bool { return !fileExists(site.layout().Worker(id)) })
}

func TestWorkersThatAreNobodysAreEnded(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*site, *localstate.Store){
		"NotApproved": func(s *site, store *localstate.Store) { s.ok(store.ForgetWorker(s.onlyID())) },
		"NotAssigned": func(s *site, store *localstate.Store) { s.ok(store.SetLocalAssignments(nil)) },
		"FilesMissing": func(s *site, _ *localstate.Store) {
			s.ok(os.Remove(filepath.Join(s.layout().Topology(topology), localstate.TopologyCode)))
		},
		"StateUnreadable": func(s *site, store *localstate.Store) {
			entries, err := os.ReadDir(store.Dir())
			s.ok(err)
			for _, entry := range entries {
				s.ok(os.WriteFile(filepath.Join(store.Dir(), entry.Name()), []byte("not thrift"), 0o600))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := newSite(t, 1, nil)
			process := site.startProcess()
			site.Nimbus.submit(topology, nil)
			site.assign(site.idOf(), topology, site.plan.Ports[0])
			id, pid := site.oneWorker(true)
			site.kill(process)
			spoil(site, localstate.New(site.layout().State(), time.Now, site.log))
			site.start(patient)
			again, _ := site.oneWorker(true, pid)
			if again == id {
				t.Errorf("new worker has the old id %s", id)
			}
			site.until("the old worker's directory is removed", func() bool { return !fileExists(site.layout().Worker(id)) })
		})
	}
}

func (s *site) onlyID() string {
	s.t.Helper()
	id, _ := s.oneWorker(true)
	return id
}

// A worker that its user blobs, conf or code outgrew is restarted on the new ones.
func TestChangedBlobRestartsTheWorker(t *testing.T) {
	t.Parallel()
	site := newSite(t, 2, map[string]any{"supervisor.localizer.update.blob.interval.secs": int64(1)})
	sup, _ := site.start(patient)
	site.Nimbus.submit(topology, nil)
	site.assign(sup.ID(), topology, site.plan.Ports...)
	site.push(sup)
	site.until("two workers run", func() bool { return len(site.workerPids(true)) == 2 })
	before := site.workerPids(true)
	site.Nimbus.submit(topology, map[string]any{"topology.name": "wc"})
	site.until("two other workers run", func() bool {
		after := site.workerPids(true)
		for id := range before {
			if _, still := after[id]; still {
				return false
			}
		}
		return len(after) == 2
	})
	version, err := os.ReadFile(filepath.Join(site.layout().Topology(topology), localstate.TopologyConf+localstate.VersionSuffix))
	site.ok(err)
	if got, want := strings.TrimSpace(string(version)), site.Nimbus.version(topology+"-stormconf.ser"); got != want {
		t.Errorf("stormconf.ser on disk is version %s, not %s", got, want)
	}
}

// A rebalance writes a new conf and moves executors; that is one restart, not two.
func TestChangedExecutorsAndConfAreOneRestart(t *testing.T) {
	t.Parallel()
	site := newSite(t, 1, nil) // the next check for new blobs is 30 s away
	sup, _ := site.start(patient)
	site.Nimbus.submit(topology, nil)
	site.assign(sup.ID(), topology, site.plan.Ports[0])
	site.push(sup)
	_, pid := site.oneWorker(true)
	site.Nimbus.submit(topology, map[string]any{"topology.name": "wc"})
	site.assign(sup.ID(), topology, site.plan.Ports[0], site.plan.Ports[0])
	site.push(sup)
	_, second := site.oneWorker(true, pid)
	version, err := os.ReadFile(filepath.Join(site.layout().Topology(topology), localstate.TopologyConf+localstate.VersionSuffix))
	site.ok(err)
	if got, want := strings.TrimSpace(string(version)), site.Nimbus.version(topology+"-stormconf.ser"); got != want {
		t.Errorf("the new worker was launched with version %s of the conf, not %s", got, want)
	}
	sup.blobs.Check(t.Context())
	if _, same := site.oneWorker(true); same != second {
		t.Error("the worker was restarted once more")
	}
}

// A disk that takes nothing is played by a file where a folder must be.
func TestDiskThatRefusesIsTriedAgain(t *testing.T) {
	t.Parallel()
	site := newSite(t, 1, nil)
	sup, _ := site.start(func(cfg *Config) {
		patient(cfg)
		cfg.Slot.LocalizeRetry = 50 * time.Millisecond
	})
	site.ok(os.Remove(site.layout().Workers()))
	site.ok(os.WriteFile(site.layout().Workers(), nil, 0o600))
	site.ok(os.RemoveAll(site.layout().State()))
	site.ok(os.WriteFile(site.layout().State(), nil, 0o600))
	site.Nimbus.submit(topology, nil)
	site.assign(sup.ID(), topology, site.plan.Ports[0])
	site.push(sup)
	site.until("a launch went wrong", func() bool {
		sup.mu.Lock()
		defer sup.mu.Unlock()
		return sup.ports[site.plan.Ports[0]].refused.Load() > 0
	})
	site.ok(os.Remove(site.layout().State()))
	site.ok(os.Remove(site.layout().Workers()))
	site.oneWorker(true)
	site.until("the assignment is saved", func() bool {
		saved, err := localstate.New(site.layout().State(), time.Now, site.log).LocalAssignments()
		site.ok(err)
		return len(saved) == 1
	})
}

func TestPushBeatsAPollThatWasAskedBefore(t *testing.T) {
	t.Parallel()
	sup := &Supervisor{}
	old := map[string]*storm.Assignment{}
	newer := map[string]*storm.Assignment{topology: storm.NewAssignment()}
	before := sup.countPushes()
	sup.pushed(newer)
	if sup.polled(old, before) {
		t.Error("an answer that may be older than a push was taken")
	}
	if len(sup.assignments) != 1 {
		t.Errorf("assignments are %v", sup.assignments)
	}
	if !sup.polled(old, sup.countPushes()) || len(sup.assignments) != 0 {
		t.Error("an answer that was asked for after the push was not taken")
	}
}
