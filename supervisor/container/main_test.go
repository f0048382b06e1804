// SPDX-License-Identifier: Apache-2.0

package container

// This file holds what the package's tests share: a launcher over a fresh disk, whose "java" is a shell script, so that
// process handling is tested with real processes and without a JVM.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"
	"go.uber.org/zap/zaptest"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait for a process; a healthy machine needs a fraction of it.
const patience = 60 * time.Second

// site is a launcher over a fresh disk.
type site struct {
	*Launcher
	layout localstate.Layout
	host   Host
}

// newSite makes a site whose workers run the shell script.
func newSite(t *testing.T, script string, change ...func(*Config)) *site {
	t.Helper()
	dir := t.TempDir()
	layout := localstate.Layout{Local: filepath.Join(dir, "local"), Artifacts: filepath.Join(dir, "logs", "workers-artifacts")}
	java := filepath.Join(dir, "jdk", "bin", "java")
	must(t, os.MkdirAll(filepath.Dir(java), 0o755))
	must(t, os.WriteFile(java, []byte("#!/bin/sh\n"+script+"\n"), 0o755)) //nolint:gosec // a program
	topology := layout.Topology("wc-1-1")
	must(t, os.MkdirAll(filepath.Join(topology, "resources"), 0o755))
	cfg := Config{Layout: layout, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere"}, OutputEvery: 5 * time.Millisecond}
	for _, c := range change {
		c(&cfg)
	}
	host := Host{
		Conf: config.Conf{}, JavaHome: filepath.Join(dir, "jdk"), StormHome: "/storm", StormVersion: "2.8.3",
		ConfDir: filepath.Join(dir, "conf"), LocalDir: layout.Local, Artifacts: layout.Artifacts, LogDir: filepath.Join(dir, "logs"),
		OSName: "Linux", OSArch: "amd64",
	}
	return &site{Launcher: New(cfg, zaptest.NewLogger(t)), layout: layout, host: host}
}

// again is a launcher over the same disk, as after a restart of the supervisor.
func (s *site) again(t *testing.T) *site {
	t.Helper()
	return &site{Launcher: New(s.cfg, zaptest.NewLogger(t)), layout: s.layout, host: s.host}
}

// run runs the launcher until stop is called, and at the latest at the end of the test.
func (s *site) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			must(t, <-ended)
		}
	}
	t.Cleanup(stop)
	return stop
}

func (s *site) command() Command {
	return Command{
		Host:     s.host,
		Topology: Topology{ID: "wc-1-1", Conf: config.Conf{}, Owner: "alice", Dir: s.layout.Topology("wc-1-1"), Version: "2.8.3"},
		Port:     6700, SupervisorPort: 6628, SupervisorID: "sup", WorkerID: uuid.NewString(),
	}
}

// launch starts a worker that is gone at the end of the test, whatever happens.
func (s *site) launch(t *testing.T, cmd Command) *Worker {
	t.Helper()
	w, err := s.Launch(cmd)
	if err != nil {
		t.Fatalf("Launch: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		must(t, w.Kill(ctx, 0))
	})
	return w
}

func kill(t *testing.T, w *Worker, grace time.Duration) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	start := time.Now()
	if err := w.Kill(ctx, grace); err != nil {
		t.Fatalf("Kill: %v", err)
	}
	return time.Since(start)
}

func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("waited %v for %s", patience, what)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func awaitDone(t *testing.T, w *Worker) {
	t.Helper()
	select {
	case <-w.Done():
	case <-time.After(patience):
		t.Fatalf("worker %s is not done after %v", w.ID(), patience)
	}
}

// awaitPid waits for a file in the worker's folder that holds a pid.
func (s *site) awaitPid(t *testing.T, w *Worker, name string) int {
	t.Helper()
	pid := 0
	await(t, "a pid in "+name, func() bool {
		text, _ := os.ReadFile(filepath.Join(s.layout.Worker(w.ID()), name))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return pid > 0 && strings.HasSuffix(string(text), "\n")
	})
	return pid
}

func runs(pid int) bool {
	s, err := readStatus(pid)
	return err == nil && !s.dead
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, elements ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elements...))
	must(t, err)
	return string(data)
}

func quote(list []string) string { return fmt.Sprintf("%q", list) }
