// SPDX-License-Identifier: Apache-2.0

// This file holds what the tests share: a running cluster with a topology, and what its workers are seen to do.

package versions

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gust-stream/gust/compat-tests/harness"
	"github.com/gust-stream/gust/compat-tests/ledger"
	"github.com/gust-stream/gust/compat-tests/versions/facts"
)

// limit bounds what one test waits for; workers of a busy machine take their time.
const limit = 3 * time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// live tells whether all tests are asked for and not just the cut.
func live() bool { return os.Getenv("GUST_COMPAT") == "live" }

// site is a running cluster with a hook for its workers.
type site struct {
	cluster harness.Cluster
	hook    *facts.Hook
}

// useHome makes the harness take workers and clients from the Storm home of an older release.
func useHome(t *testing.T, version string) {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(root, "build", "storm-home", version)
	if _, err := os.Stat(filepath.Join(home, "lib-worker")); err != nil {
		t.Fatalf("no Storm %s (make storm-older lays it out): %v", version, err)
	}
	t.Setenv("GUST_STORM_HOME", home)
}

// open brings a cluster up for the length of the test.
func open(t *testing.T, cluster harness.Cluster, err error) site {
	t.Helper()
	if err != nil {
		t.Fatalf("prepare cluster: %v", err)
	}
	hook, err := facts.Compile(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Errorf("stop %s: %v", cluster.Kind(), err)
		}
	})
	if err := cluster.Start(t.Context()); err != nil {
		t.Fatalf("start %s: %v", cluster.Kind(), err)
	}
	return site{cluster, hook}
}

// ask starts a client of the cluster, for the length of the test.
func (s site) ask(t *testing.T) *harness.Client {
	t.Helper()
	client, err := harness.NewClient(s.cluster)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("close client: %v", err)
		}
	})
	return client
}

// work is a topology that was submitted.
type work struct {
	site
	name, spout, out string
}

// submit submits a word count that takes minutes, by the client of the Storm home that is set.
func (s site) submit(t *testing.T, main, name string, conf map[string]string) work {
	t.Helper()
	w := work{site: s, name: name, spout: "sentences", out: filepath.Join(s.cluster.Settings().Dir, "results", name)}
	all := s.hook.Conf("")
	maps.Copy(all, conf)
	_, err := harness.Submit(t.Context(), s.cluster, harness.Submission{
		Main: "org.gust.compat." + main, Args: []string{name, w.out, "compat.rows=60000", "compat.pause.ms=5"}, Conf: all,
	})
	if err != nil {
		t.Fatalf("submit %s: %v", name, err)
	}
	return w
}

// await waits for a condition and shows the workers' logs if it does not come.
func (w work) await(t *testing.T, what string, holds func() (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := harness.Await(ctx, what, holds); err != nil {
		t.Fatal(w.explain(err))
	}
}

// acking waits until a worker that is none of the given ones has acked, and gives its pid.
func (w work) acking(t *testing.T, but ...int) int {
	t.Helper()
	pid := 0
	w.await(t, "acks of "+w.name, func() (bool, error) {
		book, err := ledger.Read(w.out)
		if err != nil {
			return false, err
		}
		for _, line := range book.Verb(w.spout, "acked") {
			text, _, _ := strings.Cut(line.Incarnation, "-")
			if pid, err = strconv.Atoi(text); err != nil {
				return false, fmt.Errorf("incarnation %s: %w", line.Incarnation, err)
			}
			if !slices.Contains(but, pid) {
				return true, nil
			}
		}
		return false, nil
	})
	return pid
}

// acks counts what a worker has acked so far.
func (w work) acks(pid int) (int, error) {
	book, err := ledger.Read(w.out)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, line := range book.Verb(w.spout, "acked") {
		if strings.HasPrefix(line.Incarnation, strconv.Itoa(pid)+"-") {
			n++
		}
	}
	return n, nil
}

// goingOn waits until a worker acks more than it has.
func (w work) goingOn(t *testing.T, pid int) {
	t.Helper()
	before, err := w.acks(pid)
	if err != nil {
		t.Fatal(err)
	}
	w.await(t, fmt.Sprintf("more acks of process %d", pid), func() (bool, error) {
		if !lives(pid) {
			return false, fmt.Errorf("worker %d is gone", pid)
		}
		n, err := w.acks(pid)
		return n > before, err
	})
}

// facts waits for what a worker says of itself.
func (w work) facts(t *testing.T, pid int) facts.Facts {
	t.Helper()
	var f facts.Facts
	w.await(t, "facts of a worker", func() (ok bool, err error) {
		f, ok, err = w.hook.Read(pid)
		return ok, err
	})
	return f
}

// gone waits until a process is.
func (w work) gone(t *testing.T, pid int) {
	t.Helper()
	w.await(t, fmt.Sprintf("the end of process %d", pid), func() (bool, error) { return !lives(pid), nil })
}

// explain adds the ends of what workers and daemons logged to an error.
func (w work) explain(err error) error {
	dir := w.cluster.Settings().Dir
	for _, pattern := range []string{"*.out", "*/workers-artifacts/*/*/worker.log*", "*/*/workers-artifacts/*/*/worker.log*"} {
		logs, globErr := filepath.Glob(filepath.Join(dir, pattern))
		if globErr != nil {
			return err
		}
		for _, log := range logs {
			if text, readErr := os.ReadFile(log); readErr == nil {
				err = fmt.Errorf("%w\n--- %s\n%s", err, log, text[max(0, len(text)-3000):])
			}
		}
	}
	return err
}

// lives tells whether a process is there and no zombie.
func lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

// kill is kill -9.
func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill process %d: %v", pid, err)
	}
}
