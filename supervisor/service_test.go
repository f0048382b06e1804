// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file calls a supervisor as Nimbus, workers and strangers do.

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
)

func TestServiceAnswersWorkers(t *testing.T) {
	t.Parallel()
	site := newSite(t, 1, nil)
	sup, _ := site.start(patient)
	site.Nimbus.submit(topology, nil)
	site.assign(sup.ID(), topology, site.plan.Ports[0])
	site.push(sup)
	site.oneWorker(true)
	addr, err := sup.Addr()
	site.ok(err)
	site.ok(site.callSupervisor(addr.String(), func(c *storm.SupervisorClient) error {
		got, err := c.GetLocalAssignmentForStorm(t.Context(), topology)
		if err != nil {
			return err
		}
		if !got.Equals(site.Nimbus.answer().StormAssignment[topology]) {
			t.Errorf("assignment is %v", got)
		}
		_, err = c.GetLocalAssignmentForStorm(t.Context(), "nope-1-1")
		var notAlive *storm.NotAliveException
		want := "No local assignment assigned for storm: nope-1-1 for node: 127.0.0.1"
		if !errors.As(err, &notAlive) || notAlive.Msg != want {
			t.Errorf("an unknown topology is answered with %v, want NotAliveException %q", err, want)
		}
		if err := c.SendSupervisorWorkerHeartbeat(t.Context(), &storm.SupervisorWorkerHeartbeat{StormID: topology, Executors: []*storm.ExecutorInfo{}}); err != nil {
			t.Errorf("a heartbeat is answered with %v", err)
		}
		err = c.SendSupervisorWorkerHeartbeat(t.Context(), &storm.SupervisorWorkerHeartbeat{StormID: "nope-1-1", Executors: []*storm.ExecutorInfo{}})
		var application thrift.TApplicationException
		if !errors.As(err, &application) || application.TypeId() != thrift.INTERNAL_ERROR {
			t.Errorf("a heartbeat of an unknown topology is answered with %v", err)
		}
		return nil
	}))
}

func TestHostileAssignmentsTouchNothing(t *testing.T) {
	t.Parallel()
	site := newSite(t, 1, nil)
	sup, _ := site.start(patient)
	for _, id := range []string{"../../etc", "a/b", "", strings.Repeat("x", 300)} {
		site.assign(sup.ID(), id, site.plan.Ports[0])
	}
	site.assign(sup.ID(), "bad-owner-1-1", site.plan.Ports[0])
	owner := "../root"
	site.Nimbus.assignments["bad-owner-1-1"].Owner = &owner
	site.assign(sup.ID(), "bad-port-1-1", 0, -5, 70000)
	site.Nimbus.submit(topology, nil)
	site.assign(sup.ID(), topology, site.plan.Ports[0])
	site.push(sup)
	site.oneWorker(true)
	entries, err := os.ReadDir(site.layout().Topologies())
	site.ok(err)
	if len(entries) != 1 || entries[0].Name() != topology {
		t.Errorf("stormdist holds %v", entries)
	}
}

// TestAssignedPortsAreBounded names thousands of ports in one call: the configured one is served, and not many others.
func TestAssignedPortsAreBounded(t *testing.T) {
	t.Parallel()
	site := newSite(t, 1, nil)
	sup, _ := site.start(patient)
	var all []int
	for port := 1; port <= 3000; port++ {
		if port != site.plan.Ports[0] {
			all = append(all, port)
		}
	}
	site.assign(sup.ID(), "none-1-1", all...)
	site.Nimbus.submit(topology, nil)
	site.assign(sup.ID(), topology, site.plan.Ports[0])
	site.push(sup)
	site.oneWorker(true)
	sup.mu.Lock()
	defer sup.mu.Unlock()
	if n := len(sup.ports); n > 1+maxOtherPorts {
		t.Errorf("%d ports are driven", n)
	}
}

func TestProfileRequests(t *testing.T) {
	t.Parallel()
	site := newSite(t, 1, nil)
	site.ok(os.MkdirAll(filepath.Join(site.Dir, "home/bin"), 0o755))
	said := filepath.Join(site.Dir, "said")
	script := "#!/bin/sh\necho \"$@\" >> " + said + "\n"
	site.ok(os.WriteFile(filepath.Join(site.Dir, "home/bin/flight.bash"), []byte(script), 0o755)) //nolint:gosec // a program
	sup, _ := site.start(patient)
	site.Nimbus.submit(topology, nil)
	site.assign(sup.ID(), topology, site.plan.Ports[0])
	site.push(sup)
	_, pid := site.oneWorker(true)
	site.until("the supervisor has seen a heartbeat", func() bool { return len(site.Nimbus.lastBeats()) == 1 })
	ask := func(host string, port int, action storm.ProfileAction, at int64) {
		site.ok(site.State.SetProfileRequest(t.Context(), topology, &storm.ProfileRequest{
			NodeInfo: &storm.NodeInfo{Node: host, Port: []int64{int64(port)}}, Action: action, TimeStamp: &at,
		}))
	}
	left := func() (actions []storm.ProfileAction) {
		requests, err := site.State.ProfileRequests(t.Context(), topology)
		site.ok(err)
		for _, r := range requests {
			actions = append(actions, r.Action)
		}
		return actions
	}
	ask("elsewhere", site.plan.Ports[0], storm.ProfileAction_JMAP_DUMP, 0)
	ask("127.0.0.1", site.plan.Ports[0], storm.ProfileAction_JSTACK_DUMP, 0)
	ask("127.0.0.1", site.plan.Ports[0], storm.ProfileAction_JPROFILE_STOP, time.Now().Add(time.Second).UnixMilli())
	site.until("served requests are struck off", func() bool { return slices.Equal(left(), []storm.ProfileAction{storm.ProfileAction_JMAP_DUMP}) })
	text, err := os.ReadFile(said)
	site.ok(err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	dir := site.layout().WorkerArtifacts(topology, site.plan.Ports[0])
	command := func(what string) string { return strings.Join([]string{pidText(pid), what, dir}, " ") }
	if len(lines) != 3 || lines[2] != command("stop") || !slices.Contains(lines, command("jstack")) || !slices.Contains(lines, command("start")) {
		t.Errorf("commands were %q", lines)
	}

	ask("127.0.0.1", site.plan.Ports[0], storm.ProfileAction_JVM_RESTART, 0)
	_, next := site.oneWorker(true, pid)
	site.until("the restart is struck off", func() bool { return len(left()) == 1 })
	if _, still := site.oneWorker(true); still != next {
		t.Errorf("worker was restarted twice")
	}
}

func TestUnhealthyMachineIsGivenUp(t *testing.T) {
	t.Parallel()
	site := newSite(t, 1, nil)
	dir := filepath.Join(site.Dir, "checks")
	site.ok(os.MkdirAll(dir, 0o755))
	sick := filepath.Join(site.Dir, "sick")
	script := "#!/bin/sh\n[ ! -e " + sick + " ] || { echo ERROR disk; exit 1; }\n"
	site.ok(os.WriteFile(filepath.Join(dir, "disk"), []byte(script), 0o755)) //nolint:gosec // a program
	site.ok(os.WriteFile(filepath.Join(dir, "README"), []byte("no program"), 0o600))
	sup, closeState, err := site.plan.supervisor(t.Context(), site.log, func(cfg *Config) {
		patient(cfg)
		cfg.Health = Health{Dir: dir, Every: 50 * time.Millisecond, Timeout: patience}
	})
	site.ok(err)
	defer closeState()
	ended := make(chan error, 1)
	go func() { ended <- sup.Run(t.Context()) }()
	<-sup.Ready()
	site.Nimbus.submit(topology, nil)
	site.assign(sup.ID(), topology, site.plan.Ports[0])
	site.push(sup)
	_, pid := site.oneWorker(true)
	site.ok(os.WriteFile(sick, nil, 0o600))
	if err := <-ended; !errors.Is(err, ErrUnhealthy) {
		t.Errorf("Run ended with %v, want ErrUnhealthy", err)
	}
	if lives(pid) {
		t.Error("the worker of an unhealthy machine lives")
	}
}

func TestHealthCheckTimeout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "slow"), []byte("#!/bin/sh\nsleep 1000\n"), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	for _, fail := range []bool{false, true} {
		h := Health{Dir: dir, Timeout: 50 * time.Millisecond, FailOnTimeout: fail}
		if err := h.check(t.Context(), zap.NewNop()); errors.Is(err, ErrUnhealthy) != fail {
			t.Errorf("storm.health.check.fail.on.timeouts %t: %v", fail, err)
		}
	}
}

func TestProfilerWithoutStormsScript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	said := filepath.Join(dir, "said")
	script := "#!/bin/sh\necho \"$@\" >> " + said + "\necho a thread\n[ \"$1\" != 13 ]\n"
	if err := os.WriteFile(filepath.Join(dir, "bin/jcmd"), []byte(script), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	r := profiler{script: filepath.Join(dir, "bin/flight.bash"), java: dir, pid: 7, dir: dir}
	for action, want := range map[storm.ProfileAction]string{
		storm.ProfileAction_JPROFILE_START: "7 JFR.start name=gust settings=profile",
		storm.ProfileAction_JPROFILE_STOP:  "7 JFR.stop name=gust filename=" + dir + "/recording-7-",
		storm.ProfileAction_JPROFILE_DUMP:  "7 JFR.dump name=gust filename=" + dir + "/recording-7-",
		storm.ProfileAction_JMAP_DUMP:      "7 GC.heap_dump " + dir + "/recording-7-",
		storm.ProfileAction_JSTACK_DUMP:    "7 Thread.print",
	} {
		if err := r.run(t.Context(), action); err != nil {
			t.Errorf("%s: %v", action, err)
		}
		text, err := os.ReadFile(said)
		if err != nil || !strings.HasPrefix(string(text), want) {
			t.Errorf("%s ran jcmd %q, want %q (%v)", action, text, want, err)
		}
		if err := os.Remove(said); err != nil {
			t.Fatal(err)
		}
	}
	dumps, err := filepath.Glob(filepath.Join(dir, "jstack-7-*.txt"))
	if err != nil || len(dumps) != 1 {
		t.Fatalf("thread dumps are %v, %v", dumps, err)
	}
	if text, err := os.ReadFile(dumps[0]); err != nil || string(text) != "a thread\n" {
		t.Errorf("thread dump is %q, %v", text, err)
	}
	r.pid = 13
	if err := r.run(t.Context(), storm.ProfileAction_JSTACK_DUMP); err == nil || !strings.Contains(err.Error(), "a thread") {
		t.Errorf("a command that goes wrong gives %v", err)
	}
}

// The class-data archive is wanted before the first worker is, so that the first worker and a fail-over find it.
func TestClassDataArchiveIsMadeAtTheStart(t *testing.T) {
	t.Parallel()
	site := newSite(t, 1, map[string]any{config.GustWorkerCdsEnabled: true})
	said := filepath.Join(site.Dir, "said")
	script := "#!/bin/sh\necho \"$@\" >> " + said + "\nexit 1\n"
	site.ok(os.WriteFile(filepath.Join(site.Dir, "jdk/bin/java"), []byte(script), 0o755)) //nolint:gosec // a program
	site.ok(os.WriteFile(filepath.Join(site.Dir, "home/lib-worker/a.jar"), nil, 0o600))
	site.start(patient)
	site.until("Java was asked for an archive", func() bool {
		text, err := os.ReadFile(said)
		return err == nil && strings.HasPrefix(string(text), "-Xshare:dump ")
	})
}
