// SPDX-License-Identifier: Apache-2.0

package container

// Tests of Go workers: what they are started with, that they are found again, and that nothing of them stays.

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/thrift/storm"
)

// goCommand is a Go worker whose program is the shell: its first argument is the word "worker", here a script in its folder.
func (s *site) goCommand(t *testing.T, script string) Command {
	t.Helper()
	cmd := s.command()
	must(t, os.WriteFile(filepath.Join(cmd.Topology.Dir, goWord), []byte(script), 0o600))
	cmd.Program, cmd.Topology.Links = "/bin/sh", []string{goWord}
	heap := 100.5
	cmd.Resources = &storm.WorkerResources{MemOnHeap: &heap}
	cmd.Host.Hostname, cmd.Host.TaskRefreshSecs = "me", 2
	cmd.Host.Conf = config.Conf{"some.password": "x"}
	return cmd
}

func TestGoWorkerIsStartedAsJava(t *testing.T) {
	t.Parallel()
	s := newSite(t, "exit 9")
	s.run(t)
	cmd := s.goCommand(t, `echo "$0 $*"; echo $GUST_WORKER_ID >&2; echo $$ > pid; sleep 1000`)
	w := s.launch(t, cmd)
	pid := s.awaitPid(t, w, "pid")
	if pid != w.Pid() || !w.IsGo() {
		t.Errorf("process %d, worker %d, Go %v", pid, w.Pid(), w.IsGo())
	}
	artifacts := s.layout.WorkerArtifacts("wc-1-1", 6700)
	if got, want := content(t, artifacts, "worker.log.out"), "worker wc-1-1 sup 6628 6700 "+cmd.WorkerID+"\n"; got != want {
		t.Errorf("arguments %q, want %q", got, want)
	}
	if got := content(t, artifacts, "worker.log.err"); got != cmd.WorkerID+"\n" {
		t.Errorf("environment: %q", got)
	}
	path := s.layout.GoWorker(w.ID())
	got, err := localstate.ReadGoWorker(path)
	must(t, err)
	want := localstate.GoWorker{
		Conf:     config.Conf{"some.password": "x", config.StormLocalHostname: "me", config.TaskRefreshPollSecs: int64(2)},
		LocalDir: s.layout.Local, Artifacts: s.layout.Artifacts, MemoryMB: 101,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("its settings have mode %v", info.Mode())
	}
}

func TestGoWorkerIsAdopted(t *testing.T) {
	t.Parallel()
	s := newSite(t, "exit 9")
	stop := s.run(t)
	w := s.launch(t, s.goCommand(t, "sleep 1000 & echo $! > child; echo $$ > pid; wait"))
	child := s.awaitPid(t, w, "child")
	s.awaitPid(t, w, "pid")
	stop()
	next := s.again(t)
	next.run(t)
	adopted, err := next.Adopt(w.ID())
	must(t, err)
	if adopted.Pid() != w.Pid() {
		t.Fatalf("process %d was adopted, not %d", adopted.Pid(), w.Pid())
	}
	kill(t, adopted, time.Second)
	if runs(child) || runs(w.Pid()) {
		t.Error("a process is left")
	}
	awaitDone(t, adopted)
	must(t, adopted.CleanUp())
}

// The worker's children are left to it: they get no signal while it may still end them itself.
func TestGoWorkerEndsItsChildrenItself(t *testing.T) {
	t.Parallel()
	s := newSite(t, "exit 9")
	s.run(t)
	const script = `trap 'sleep 0.3; kill -USR1 $child; wait $child; echo done >> order; exit 0' TERM
sh -c 'trap "echo asked >> order; exit 0" USR1; trap "echo signalled >> order; exit 1" TERM; echo $$ > child; while :; do sleep 0.01; done' &
child=$!
echo $$ > pid
while :; do wait $child; done`
	w := s.launch(t, s.goCommand(t, script))
	s.awaitPid(t, w, "child")
	s.awaitPid(t, w, "pid")
	kill(t, w, patience)
	if got := content(t, s.layout.Worker(w.ID()), "order"); got != "asked\ndone\n" {
		t.Errorf("order of the end: %q", got)
	}
}
