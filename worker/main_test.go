// SPDX-License-Identifier: Apache-2.0

package worker

// Tests of a worker's process: this test binary is started again as one.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
)

// childVariable makes the test binary a worker; its value says which.
const childVariable = "GUST_TEST_WORKER"

func childMain() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	factory := newIdle
	if os.Getenv(childVariable) == "stubborn" {
		factory = func(s Setup) (Engine, error) {
			e, err := newIdle(s)
			return stubborn{e}, err
		}
	}
	return Main(ctx, os.Args[2:], factory)
}

// stubborn does not end.
type stubborn struct{ Engine }

func (stubborn) Run(context.Context) error { select {} }

// start starts the site's worker as a process.
func (s *site) start(kind string) *exec.Cmd {
	s.t.Helper()
	self, err := os.Executable()
	s.ok(err)
	cmd := exec.Command(self, "worker", s.args.TopologyID, s.args.SupervisorID, itoa(s.args.SupervisorPort), itoa(s.args.Port), s.args.WorkerID)
	cmd.Dir = s.layout.Worker(s.args.WorkerID)
	cmd.Env = append(os.Environ(), childVariable+"="+kind)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	s.ok(cmd.Start())
	s.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func TestProcessEndsOnSIGTERM(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	cmd := s.start("idle")
	s.await("a heartbeat", func() bool { return s.heartbeat() != nil })
	s.ok(cmd.Process.Signal(syscall.SIGTERM))
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if log := s.log(); !strings.Contains(log, "[INFO] worker worker runs") || !strings.Contains(log, "worker ended") {
		t.Errorf("log:\n%s", log)
	}
}

func TestProcessGivesBackMemoryOfItsStart(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	cmd := s.start("idle")
	most := 0
	s.await("fewer pages of the program", func() bool {
		now := pagesOfFiles(t, cmd.Process.Pid)
		most = max(most, now)
		return s.heartbeat() != nil && now < most*3/4
	})
}

// pagesOfFiles is how much of files a process has mapped, in pages.
func pagesOfFiles(t *testing.T, pid int) (shared int) {
	t.Helper()
	text, err := os.ReadFile("/proc/" + itoa(pid) + "/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int
	if _, err := fmt.Sscan(string(text), &size, &resident, &shared); err != nil {
		t.Fatalf("statm %q: %v", text, err)
	}
	return shared
}

func TestProcessIsForcedToEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]any{config.SupervisorWorkerShutdownSleepSecs: int64(1)})
	for name, end := range map[string]func(*exec.Cmd){
		"Told":       func(cmd *exec.Cmd) { s.ok(cmd.Process.Signal(syscall.SIGTERM)) },
		"Reassigned": func(*exec.Cmd) { s.sup.set(assignment(slot+1, "127.0.0.1")) },
	} {
		s.sup.set(assignment(slot, "127.0.0.1"))
		cmd := s.start("stubborn")
		beat := s.heartbeat()
		s.await("a heartbeat", func() bool {
			now := s.heartbeat()
			return now != nil && (beat == nil || now.Version != beat.Version)
		})
		end(cmd)
		err := cmd.Wait()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != exitForced {
			t.Errorf("%s: it ended with %v", name, err)
		}
	}
}

func TestProcessTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*site)
		code  int
	}{
		"NoSettings": {func(s *site) { s.ok(os.Remove(s.layout.GoWorker(s.args.WorkerID))) }, exitUsage},
		"BadName":    {func(s *site) { s.args.TopologyID = "../x" }, exitUsage},
		"BadPort":    {func(s *site) { s.args.SupervisorPort = 70000 }, exitUsage},
		"NoCode":     {func(s *site) { s.ok(os.RemoveAll(s.layout.Topology(topologyID))) }, exitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			c.spoil(s)
			err := s.start("idle").Wait()
			if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != c.code {
				t.Errorf("it ended with %v, want code %d", err, c.code)
			}
		})
	}
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	cmd := s.start("idle")
	s.await("a heartbeat", func() bool { return s.heartbeat() != nil })
	results := t.TempDir()
	ask := func(action, file string) (localstate.Profile, string) {
		t.Helper()
		result := filepath.Join(results, file)
		path, err := localstate.AskProfile(cmd.Dir, localstate.Profile{Action: action, File: result})
		s.ok(err)
		s.ok(cmd.Process.Signal(syscall.SIGUSR1))
		var p localstate.Profile
		s.await("an answer", func() bool {
			p, err = localstate.ReadProfile(path)
			s.ok(err)
			return p.Done
		})
		return p, result
	}
	for _, action := range []string{"JSTACK_DUMP", "JMAP_DUMP", "JPROFILE_START", "JPROFILE_DUMP", "JPROFILE_STOP"} {
		p, result := ask(action, action)
		if p.Fault != "" {
			t.Errorf("%s: %s", action, p.Fault)
		}
		text, err := os.ReadFile(result)
		if action != "JPROFILE_START" && (err != nil || len(text) == 0) {
			t.Errorf("%s: %d bytes, %v", action, len(text), err)
		}
		if action == "JSTACK_DUMP" && !strings.Contains(string(text), "goroutine") {
			t.Errorf("%s gave %q", action, text)
		}
	}
	if p, _ := ask("JPROFILE_STOP", "again"); p.Fault == "" {
		t.Error("a profile was stopped that had not been started")
	}
	if p, _ := ask("NONSENSE", "x"); p.Fault == "" {
		t.Error("an unknown action was served")
	}
}
