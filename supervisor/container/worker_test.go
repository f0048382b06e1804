// SPDX-License-Identifier: Apache-2.0

package container

// Tests of starting, adopting and killing with real processes.

import (
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
	"go.yaml.in/yaml/v3"

	"github.com/gust-stream/gust/config"
)

const (
	// obedient ends at SIGTERM. It says it is ready, so that no signal comes before the trap.
	obedient = `trap 'exit 7' TERM; echo $$ > pid; while :; do sleep 0.01; done`
	// stubborn ignores SIGTERM.
	stubborn = `trap '' TERM; echo $$ > pid; while :; do sleep 0.01; done`
	// family has a child, a grandchild, a child in a session of its own, and one that has lost its parent.
	family = `sh -c 'sh -c "echo \$\$ > grandchild; exec sleep 1000" & echo $$ > child; wait' &
setsid sh -c 'echo $$ > stranger; exec sleep 1000' &
(sh -c 'trap "" TERM; echo $$ > orphan; exec sleep 1000' &)
echo $$ > pid; wait`
)

func TestLaunchLayout(t *testing.T) {
	t.Parallel()
	s := newSite(t, `echo out; echo err >&2; printf '%s\n' "$@" > args; env | sort > env; pwd > cwd; echo $$ > pid; exec sleep 1000`)
	s.run(t)
	cmd := s.command()
	cmd.Topology.Links = []string{"words"}
	cmd.Topology.Conf = config.Conf{
		config.TopologyUsers: []any{nil, "bob"}, config.LogsUsers: []any{"amy", "bob"}, config.TopologyGroups: "devs",
		config.TopologyWorkerTimeoutSecs: int64(20), config.TopologyEnvironment: map[string]any{"FOO": "bar", "HOME": "/h"},
	}
	w := s.launch(t, cmd)
	s.awaitPid(t, w, "pid")
	dir := s.layout.Worker(w.ID())
	artifacts := s.layout.WorkerArtifacts("wc-1-1", 6700)
	for _, name := range []string{"pids", "heartbeats", "tmp"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]string{
		"artifacts": artifacts, "resources": filepath.Join(cmd.Topology.Dir, "resources"), "words": filepath.Join(cmd.Topology.Dir, "words"),
	} {
		if target, err := os.Readlink(filepath.Join(dir, name)); err != nil || target != want {
			t.Errorf("%s leads to %s, %v", name, target, err)
		}
	}
	if u := content(t, s.layout.WorkerUser(w.ID())); u != "alice" {
		t.Errorf("user is %q", u)
	}
	var notes map[string]any
	must(t, yaml.Unmarshal([]byte(content(t, artifacts, "worker.yaml")), &notes))
	want := map[string]any{
		"worker-id": w.ID(), "topology.submitter.user": "alice", "logs.users": []any{"amy", "bob"}, "logs.groups": []any{"devs"},
		"topology.worker.timeout.secs": 30,
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Errorf("worker.yaml: %s", diff)
	}
	if o, e := content(t, artifacts, "worker.log.out"), content(t, artifacts, "worker.log.err"); o != "out\n" || e != "err\n" {
		t.Errorf("output %q, %q", o, e)
	}
	if cwd := content(t, dir, "cwd"); cwd != dir+"\n" {
		t.Errorf("working directory is %s", cwd)
	}
	invocation, err := cmd.Build()
	must(t, err)
	if diff := cmp.Diff(strings.Join(invocation.Args, "\n")+"\n", content(t, dir, "args")); diff != "" {
		t.Errorf("arguments: %s", diff)
	}
	env := strings.Split(content(t, dir, "env"), "\n")
	for _, e := range []string{"FOO=bar", "HOME=/h", "GUST_WORKER_ID=" + w.ID(), "PATH=" + os.Getenv("PATH")} {
		if !slices.Contains(env, e) {
			t.Errorf("environment lacks %s: %s", e, quote(env))
		}
	}
	if st, err := readStatus(w.Pid()); err != nil || st.session != w.Pid() {
		t.Errorf("status %+v, %v: it has no session of its own", st, err)
	}
	if ids, err := s.ListWorkers(); err != nil || !slices.Equal(ids, []string{w.ID()}) {
		t.Errorf("ListWorkers() = %v, %v", ids, err)
	}
	if err := w.CleanUp(); err == nil {
		t.Error("a running worker's folder was removed")
	}
	kill(t, w, 0)
	must(t, w.CleanUp())
	must(t, w.CleanUp())
	if ids, err := s.ListWorkers(); err != nil || len(ids) != 0 {
		t.Errorf("ListWorkers() = %v, %v", ids, err)
	}
	if _, err := os.Stat(s.layout.WorkerUser(w.ID())); err == nil {
		t.Error("the user's note is still there")
	}
	if o := content(t, artifacts, "worker.log.out"); o != "out\n" {
		t.Errorf("artifacts after cleaning up: %q", o)
	}
}

func TestLaunchRefuses(t *testing.T) {
	t.Parallel()
	s := newSite(t, "exit 0")
	for name, change := range map[string]func(*Command){
		"WorkerID": func(c *Command) { c.WorkerID = "../x" }, "TopologyID": func(c *Command) { c.Topology.ID = ".." },
		"Link": func(c *Command) { c.Topology.Links = []string{"../x"} }, "Java": func(c *Command) { c.Host.JavaHome = "/none" },
		"NoProgram": func(c *Command) {
			c.Host.JavaHome = t.TempDir()
			must(t, os.Mkdir(filepath.Join(c.Host.JavaHome, "bin"), 0o755))
			must(t, os.WriteFile(filepath.Join(c.Host.JavaHome, "bin", "java"), []byte("garbage"), 0o755)) //nolint:gosec // a program
		},
		"ClassPath": func(c *Command) { c.Topology.Conf = config.Conf{config.TopologyClasspath: int64(3)} },
	} {
		cmd := s.command()
		change(&cmd)
		if _, err := s.Launch(cmd); err == nil {
			t.Errorf("%s: launched", name)
		}
		if ids, err := s.ListWorkers(); err != nil || len(ids) != 0 {
			t.Errorf("%s: left %v, %v", name, ids, err)
		}
	}
}

func TestDone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		exit   Exit
		text   string
	}{
		"Zero":   {"exit 0", Exit{Known: true}, "exited with code 0"},
		"Code":   {"exit 13", Exit{Known: true, Code: 13}, "exited with code 13"},
		"Signal": {"kill -9 $$", Exit{Known: true, Code: -1, Signal: syscall.SIGKILL}, "ended by signal killed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, c.script)
			early := s.launch(t, s.command()) // before Run, as at the start of a supervisor
			s.run(t)
			late := s.command()
			late.Port = 6701
			for _, w := range []*Worker{early, s.launch(t, late)} {
				awaitDone(t, w)
				if diff := cmp.Diff(c.exit, w.Exit()); diff != "" || w.Exit().String() != c.text {
					t.Errorf("Exit() = %v: %s", w.Exit(), diff)
				}
			}
			if len(s.running()) != 0 {
				t.Error("ended workers are still watched")
			}
		})
	}
}

func TestKillReturnsWhenAllAreGone(t *testing.T) {
	t.Parallel()
	s := newSite(t, obedient)
	s.run(t)
	w := s.launch(t, s.command())
	s.awaitPid(t, w, "pid")
	if took := kill(t, w, patience); took > patience/2 {
		t.Errorf("it took %v", took)
	}
	awaitDone(t, w)
	if w.Exit().Code != 7 {
		t.Errorf("Exit() = %v, SIGTERM should have come first", w.Exit())
	}
	kill(t, w, patience)
}

func TestKillStubborn(t *testing.T) {
	t.Parallel()
	s := newSite(t, stubborn)
	w := s.launch(t, s.command()) // Kill needs no Run
	s.awaitPid(t, w, "pid")
	const grace = 300 * time.Millisecond
	if took := kill(t, w, grace); took < grace {
		t.Errorf("it took %v, less than the grace", took)
	}
	awaitDone(t, w)
	if w.Exit().Signal != syscall.SIGKILL {
		t.Errorf("Exit() = %v", w.Exit())
	}
}

func TestKillTakesTheFamily(t *testing.T) {
	t.Parallel()
	for _, mainDead := range []bool{false, true} {
		for _, adopted := range []bool{false, true} {
			t.Run("MainDead"+strconv.FormatBool(mainDead)+"Adopted"+strconv.FormatBool(adopted), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, family)
				stop := s.run(t)
				w := s.launch(t, s.command())
				bystander := s.command()
				bystander.Port = 6701
				other := s.launch(t, bystander)
				var pids, others []int
				for _, name := range []string{"pid", "child", "grandchild", "stranger", "orphan"} {
					pids = append(pids, s.awaitPid(t, w, name))
					others = append(others, s.awaitPid(t, other, name))
				}
				if mainDead {
					must(t, syscall.Kill(w.Pid(), syscall.SIGKILL))
					awaitDone(t, w)
				}
				if adopted {
					stop()
					again := s.again(t)
					again.run(t)
					var err error
					w, err = again.Adopt(w.ID())
					must(t, err)
				}
				kill(t, w, 100*time.Millisecond)
				for _, pid := range pids {
					if runs(pid) {
						t.Errorf("process %d of %v is left: %s", pid, pids, quote(argv(pid)))
					}
				}
				for _, pid := range others {
					if !runs(pid) {
						t.Errorf("process %d of another worker is gone", pid)
					}
				}
				kill(t, other, 0)
			})
		}
	}
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	s := newSite(t, obedient)
	stop := s.run(t)
	w := s.launch(t, s.command())
	pid := s.awaitPid(t, w, "pid")
	stop()
	select {
	case <-w.Done():
		t.Fatal("the worker ended with its supervisor")
	default:
	}
	again := s.again(t)
	again.run(t)
	adopted, err := again.Adopt(w.ID())
	must(t, err)
	if adopted.Pid() != pid || adopted.ID() != w.ID() {
		t.Fatalf("adopted pid %d, want %d", adopted.Pid(), pid)
	}
	must(t, syscall.Kill(pid, syscall.SIGKILL))
	awaitDone(t, adopted)
	if adopted.Exit() != (Exit{}) || adopted.Exit().String() != "exited" {
		t.Errorf("Exit() = %v", adopted.Exit())
	}
	var gone *Worker
	// A child that the worker's shell has forked and that is not sleep yet still looks like the worker.
	await(t, "nobody to look like the worker", func() bool {
		gone, err = again.Adopt(w.ID())
		must(t, err)
		return gone.Pid() == 0
	})
	awaitDone(t, gone)
	kill(t, gone, patience)
	must(t, gone.CleanUp())
	for _, bad := range []string{"", "..", "a/b"} {
		if _, err := again.Adopt(bad); err == nil {
			t.Errorf("adopted %q", bad)
		}
	}
}

// TestRecycledPid leaves the numbers of living strangers where a dead worker's pids lie: they must not be touched.
func TestRecycledPid(t *testing.T) {
	t.Parallel()
	s := newSite(t, "exit 0")
	s.run(t)
	w := s.launch(t, s.command())
	awaitDone(t, w)
	pids := s.layout.WorkerPids(w.ID())
	entry := func(pid int, at time.Time) {
		path := filepath.Join(pids, strconv.Itoa(pid))
		must(t, os.WriteFile(path, nil, 0o600))
		must(t, os.Chtimes(path, at, at))
	}
	start := func(dir string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), "sleep", "1000")
		c.Dir = dir
		must(t, c.Start())
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		return c
	}
	elsewhere, late, child := start("/"), start(s.layout.Worker(w.ID())), start(s.layout.TopologyResources("wc-1-1"))
	entry(os.Getpid(), time.Now())
	entry(elsewhere.Process.Pid, time.Now())
	entry(late.Process.Pid, time.Now().Add(-time.Hour)) // written down long before that process began
	entry(child.Process.Pid, time.Now())
	adopted, err := s.Adopt(w.ID())
	must(t, err)
	kill(t, adopted, 0)
	if !runs(elsewhere.Process.Pid) || !runs(late.Process.Pid) {
		t.Error("a stranger was killed")
	}
	if runs(child.Process.Pid) {
		t.Error("a multilang child of a dead worker is left")
	}
	// A handle made for another process of the same pid does nothing.
	i, err := identify(elsewhere.Process.Pid)
	must(t, err)
	i.start--
	if _, ok := openProcess(i); ok {
		t.Error("opened a process by the identity of an earlier one")
	}
}

func TestAdoptPassesOverTheLogWriter(t *testing.T) {
	t.Parallel()
	s := newSite(t, `case "$*" in *LogWriter*) shift 2; "$0" "$@"; exit;; esac; echo $$ > pid; sleep 1000; exit`)
	java := filepath.Join(s.host.JavaHome, "bin", "java")
	id := s.command().WorkerID
	dir := s.layout.Worker(id)
	must(t, os.MkdirAll(dir, 0o755))
	// As stock starts a worker: a log writer of the supervisor's session, which runs the worker as its child.
	c := exec.CommandContext(t.Context(), java, "x", logWriter, "-Dworker.id="+id, "Worker")
	c.Dir = dir
	must(t, c.Start())
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() { _ = c.Process.Kill() })
	w := &Worker{id: id}
	pid := s.awaitPid(t, w, "pid")
	s.run(t)
	adopted, err := s.Adopt(id)
	must(t, err)
	if adopted.Pid() != pid {
		t.Errorf("adopted %d, the worker is %d and the log writer %d", adopted.Pid(), pid, c.Process.Pid)
	}
	kill(t, adopted, 0)
	if err := <-ended; err == nil {
		t.Error("the log writer ended well")
	}
	if runs(pid) {
		t.Error("the worker is left")
	}
}

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	s := newSite(t, "exec sleep 1000")
	w := s.launch(t, s.command())
	if b, err := w.Heartbeat(); b != nil || err != nil {
		t.Fatalf("Heartbeat() of none = %v, %v", b, err)
	}
	must(t, os.CopyFS(s.layout.WorkerHeartbeats(w.ID())+"/", os.DirFS("../../localstate/testdata/stock-2.8.3/heartbeats")))
	if b, err := w.Heartbeat(); err != nil || b.TopologyID != "rig-1-1796054947" {
		t.Fatalf("Heartbeat() = %v, %v", b, err)
	}
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t, `i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo "line $i of what a worker prints"; [ $((i % 300)) = 0 ] && sleep 0.05; done; echo $$ > pid; exec sleep 1000`,
		func(c *Config) { c.OutputBytes, c.OutputKeep = 4096, 3 })
	s.run(t)
	w := s.launch(t, s.command())
	s.awaitPid(t, w, "pid")
	artifacts := s.layout.WorkerArtifacts("wc-1-1", 6700)
	await(t, "a small output file", func() bool {
		info, err := os.Stat(filepath.Join(artifacts, "worker.log.out"))
		return err == nil && info.Size() < 4096
	})
	names, err := filepath.Glob(filepath.Join(artifacts, "worker.log.*"))
	must(t, err)
	want := []string{"worker.log.err", "worker.log.out", "worker.log.out.1.gz", "worker.log.out.2.gz", "worker.log.out.3.gz"}
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files: %s", diff)
	}
}
