// SPDX-License-Identifier: Apache-2.0

// This file runs a word count of Python components on Go workers.

package goworker

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/compat-tests/harness"
	"github.com/gust-stream/gust/internal/testbed"
	"github.com/gust-stream/gust/thrift/leader"
	"github.com/gust-stream/gust/thrift/storm"
)

// TestWordCount follows one topology through its life on one worker.
func TestWordCount(t *testing.T) {
	r, gust := newRig(t)
	id := r.submit(map[string]any{"topology.workers": 1})
	r.await("acks", func() bool { return r.count("ack") > 100 })
	if workers, children := r.workers(), r.children(); len(workers) != 1 || len(children) != 5 {
		t.Fatalf("workers %v, children %v", workers, children)
	}
	t.Run("Engines", func(t *testing.T) { r.in(t).engines(id) })
	t.Run("Statistics", func(t *testing.T) { r.in(t).statistics(id) })
	t.Run("WorkerDies", func(t *testing.T) { r.in(t).workerDies() })
	t.Run("ChildDies", func(t *testing.T) { r.in(t).childDies(id) })
	t.Run("Deactivate", func(t *testing.T) { r.in(t).deactivate() })
	t.Run("Rebalance", func(t *testing.T) { r.in(t).rebalance(id) })
	t.Run("Profile", func(t *testing.T) { r.in(t).profile(id) })
	t.Run("SupervisorDies", func(t *testing.T) { r.in(t).supervisorDies(gust) })
	t.Run("Kill", func(t *testing.T) { r.in(t).killTopology() })
}

// goesOn waits for more acks.
func (r *rig) goesOn() {
	r.t.Helper()
	before := r.count("ack")
	r.await("more acks", func() bool { return r.count("ack") > before+100 })
}

func (r *rig) engines(id string) {
	t := r.t
	check(t, r.ask(func(ctx context.Context, n *leader.Nimbus) error {
		text, err := n.GetTopologyConf(ctx, id)
		if err != nil {
			return err
		}
		var conf struct {
			Engines map[string]string `json:"gust.topology.engines"`
		}
		if err := json.Unmarshal([]byte(text), &conf); err != nil {
			return err
		}
		want := map[string]string{"sentences": "go", "split": "go", "count": "go", "__acker": "go"}
		if diff := cmp.Diff(want, conf.Engines); diff != "" {
			t.Error(diff)
		}
		return nil
	}))
}

// info is what Nimbus tells of the topology.
func (r *rig) info(id string) (info *storm.TopologyInfo) {
	r.t.Helper()
	check(r.t, r.ask(func(ctx context.Context, n *leader.Nimbus) (err error) {
		info, err = n.GetTopologyInfo(ctx, id)
		return err
	}))
	return info
}

func (r *rig) statistics(id string) {
	t := r.t
	r.await("statistics of all executors", func() bool {
		seen := map[string]bool{}
		for _, e := range r.info(id).Executors {
			total := func(m map[string]map[string]int64) (n int64) {
				for _, count := range m[":all-time"] {
					n += count
				}
				return n
			}
			if e.Stats == nil {
				continue
			}
			switch s := e.Stats.Specific; {
			case s.Spout != nil:
				seen[e.ComponentID] = total(s.Spout.Acked) > 0 && s.Spout.CompleteMsAvg[":all-time"]["default"] > 0
			case s.Bolt != nil:
				for from, n := range s.Bolt.Executed[":all-time"] {
					seen[e.ComponentID] = seen[e.ComponentID] || (n > 0 && from.GetComponentId() != "")
				}
			}
			if e.ComponentID == "__acker" {
				seen["__acker"] = total(e.Stats.Emitted) > 0
			}
			if e.ComponentID == "split" && total(e.Stats.Emitted) == 0 {
				seen["split"] = false
			}
		}
		return seen["sentences"] && seen["split"] && seen["count"] && seen["__acker"]
	})
	if s := r.info(id); len(s.Executors) != 6 || s.Status != "ACTIVE" {
		t.Errorf("%d executors, status %s", len(s.Executors), s.Status)
	}
}

func (r *rig) workerDies() {
	t := r.t
	worker, children := r.workers()[0], r.children()
	check(t, syscall.Kill(worker, syscall.SIGKILL))
	r.await("another worker", func() bool {
		now := r.workers()
		return len(now) == 1 && now[0] != worker
	})
	r.goesOn()
	for _, pid := range r.children() {
		if slices.Contains(children, pid) {
			t.Errorf("child %d of the dead worker is still there", pid)
		}
	}
}

func (r *rig) childDies(id string) {
	t := r.t
	worker := r.workers()
	for _, script := range []string{"split.py", "sentences.py"} {
		before := r.childrenOf(script)
		check(t, syscall.Kill(before[0], syscall.SIGKILL))
		r.await("another "+script, func() bool {
			now := r.childrenOf(script)
			return len(now) == len(before) && !slices.Contains(now, before[0])
		})
		r.goesOn()
	}
	if now := r.workers(); !slices.Equal(worker, now) {
		t.Errorf("worker %v was replaced by %v", worker, now)
	}
	for _, component := range []string{"split", "sentences"} {
		r.await("the error of "+component, func() bool { return len(r.info(id).Errors[component]) > 0 })
	}
}

func (r *rig) deactivate() {
	t := r.t
	check(t, r.ask(func(ctx context.Context, n *leader.Nimbus) error { return n.Deactivate(ctx, name) }))
	r.await("rest", func() bool {
		before := r.count("ack") + r.count("fail")
		time.Sleep(700 * time.Millisecond) //nolint:forbidigo // it measures
		return r.count("ack")+r.count("fail") == before
	})
	check(t, r.ask(func(ctx context.Context, n *leader.Nimbus) error { return n.Activate(ctx, name) }))
	r.goesOn()
}

func (r *rig) rebalance(id string) {
	t := r.t
	worker := r.workers()[0]
	check(t, r.ask(func(ctx context.Context, n *leader.Nimbus) error {
		return n.Rebalance(ctx, name, &storm.RebalanceOptions{WaitSecs: new(int32(0)), NumExecutors: map[string]int32{"split": 1}})
	}))
	r.await("five executors on another worker", func() bool {
		now := r.workers()
		return len(r.info(id).Executors) == 5 && len(now) == 1 && now[0] != worker
	})
	r.goesOn()
	if n := len(r.childrenOf("split.py")); n != 2 {
		t.Errorf("%d children of split, which has two tasks in one executor", n)
	}
}

func (r *rig) profile(id string) {
	t := r.t
	port := r.info(id).Executors[0].Port
	check(t, r.ask(func(ctx context.Context, n *leader.Nimbus) error {
		return n.SetWorkerProfiler(ctx, id, &storm.ProfileRequest{
			NodeInfo: &storm.NodeInfo{Node: "localhost", Port: []int64{int64(port)}}, Action: storm.ProfileAction_JSTACK_DUMP,
		})
	}))
	r.await("the stacks", func() bool { return strings.Contains(r.artifact(id, port, "jstack-*.txt"), "goroutine") })
}

// supervisorDies kills all of gust but the workers, which are adopted.
func (r *rig) supervisorDies(gust *harness.Gust) {
	t := r.t
	worker := r.workers()
	check(t, gust.Kill(harness.Supervisor))
	r.goesOn()
	check(t, gust.Restart(t.Context(), harness.Supervisor))
	r.goesOn()
	if now := r.workers(); !slices.Equal(worker, now) {
		t.Errorf("worker %v was replaced by %v", worker, now)
	}
}

func (r *rig) killTopology() {
	t := r.t
	check(t, r.ask(func(ctx context.Context, n *leader.Nimbus) error {
		return n.KillTopologyWithOpts(ctx, name, &storm.KillOptions{WaitSecs: new(int32(0))})
	}))
	r.await("no process to be left", func() bool { return len(r.processes()) == 0 })
}

// TestTwoSupervisors spreads one topology over four workers of two supervisors.
func TestTwoSupervisors(t *testing.T) {
	r, s := newSiteRig(t)
	id := r.submit(map[string]any{"topology.workers": 4})
	r.await("four workers", func() bool { return len(r.workers()) == 4 })
	r.await("acks", func() bool { return r.count("ack") > 200 })
	slots := map[int32]bool{}
	for _, e := range r.info(id).Executors {
		slots[e.Port] = true
	}
	for _, supervisor := range []string{"one", "two"} {
		used := 0
		for _, port := range s.SlotPorts(supervisor) {
			if slots[int32(port)] { //nolint:gosec // a port
				used++
			}
		}
		if used != 2 {
			t.Errorf("supervisor %s runs %d workers", supervisor, used)
		}
	}
	for _, pid := range r.workers()[:2] {
		check(t, syscall.Kill(pid, syscall.SIGKILL))
		r.await("another worker", func() bool { now := r.workers(); return len(now) == 4 && !slices.Contains(now, pid) })
		r.goesOn()
	}

	// A supervisor is lost with its workers: the others learn where the executors went.
	workers, err := s.Workers()
	check(t, err)
	s.Daemon("two").Kill()
	lost := 0
	for _, w := range workers {
		if w.Supervisor == "two" {
			check(t, w.Kill())
			lost++
		}
	}
	if lost != 2 {
		t.Fatalf("%d workers of supervisor two among %v", lost, workers)
	}
	r.await("all executors on supervisor one", func() bool {
		for _, e := range r.info(id).Executors {
			if !slices.Contains(s.SlotPorts("one"), int(e.Port)) {
				return false
			}
		}
		return len(r.workers()) == 4
	})
	r.goesOn()
}

// TestGoTopology runs a topology's own program as its workers.
func TestGoTopology(t *testing.T) {
	program := filepath.Join(t.TempDir(), "gotopology")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./gotopology")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	r, gust := newRig(t)
	for _, workers := range []int{1, 2} {
		t.Run(strconv.Itoa(workers), func(t *testing.T) {
			r := r.in(t)
			r.submitProgram(gust, program, workers)
			for range 2 {
				r.await("the workers", func() bool { return len(r.workers()) == workers })
				r.goesOn()
				worker := r.workers()[0]
				if own := testbed.Argv(worker)[0]; !strings.HasSuffix(own, "/resources/topology") {
					t.Errorf("the worker's program is %s", own)
				}
				check(t, syscall.Kill(worker, syscall.SIGKILL))
				r.await("its end", func() bool { return !slices.Contains(r.workers(), worker) })
			}
			t.Logf("milliseconds from exec to the first tuple: %q", r.notes("first.*"))
			r.killTopology()
		})
	}
}

// submitProgram submits the program of a topology.
func (r *rig) submitProgram(gust *harness.Gust, program string, workers int) {
	r.t.Helper()
	binary, err := harness.Binary()
	check(r.t, err)
	cmd := exec.CommandContext(r.t.Context(), binary, "submit", program, "--name", name,
		"-c", "test.out="+r.out, "-c", "topology.workers="+strconv.Itoa(workers), "-c", "topology.message.timeout.secs=5")
	cmd.Env = append(os.Environ(), "STORM_CONF_DIR="+filepath.Join(gust.Settings().Dir, "dev", "conf"))
	if text, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("%v\n%s", err, text)
	}
}
