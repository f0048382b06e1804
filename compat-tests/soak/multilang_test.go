// SPDX-License-Identifier: Apache-2.0

//go:build soak

// This file is the long run of Python components on Go workers.

package soak

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gust-stream/gust/compat-tests/harness"
	"github.com/gust-stream/gust/internal/testbed"
)

const (
	// children and workers are those of testdata/ledger.yaml.
	children, workers = 6, 2
	// maxWorkerMemory and maxWorkerFiles bound a Go worker.
	maxWorkerMemory, maxWorkerFiles = 96 << 20, 128
)

// ledger is the topology of testdata under faults.
type ledger struct {
	gust   *harness.Gust
	dir    string // of all that gust writes
	out    string // of what the components note
	random *rand.Rand
}

// TestMultilang kills and stops children and workers, and gust itself, of a topology whose bolt reads the task ids of its emits.
func TestMultilang(t *testing.T) {
	seed := *given.seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-soak.seed=%d", seed)
	l := newLedger(t, seed)
	faults := []func(context.Context) (string, error){l.killChild, l.killChild, l.killChild, l.stopChild, l.killSome, l.killGust}
	done := map[string]int{}
	for began := time.Now(); time.Since(began) < *given.length; {
		name, err := faults[l.random.IntN(len(faults))](t.Context())
		if err == nil {
			err = l.well(t.Context())
		}
		if err != nil {
			t.Fatalf("%s (-soak.seed=%d, rounds so far %v): %v\n%s", name, seed, done, err, l.logs())
		}
		done[name]++
	}
	acked, taken, err := l.settle(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, l.logs())
	}
	t.Logf("rounds %v; %d numbers acked, taken %d times", done, acked, taken)
}

func newLedger(t *testing.T, seed uint64) *ledger {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gust, err := harness.NewGust(dir)
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{gust: gust, dir: dir, out: t.TempDir(), random: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // repeatable
	t.Cleanup(func() {
		if err := gust.Stop(); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := harness.Await(ctx, "no process to be left", func() (bool, error) { return len(l.processes()) == 0, nil }); err != nil {
			t.Error(err)
		}
	})
	if err := gust.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.submit(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if err := l.well(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, l.logs())
	}
	return l
}

// submit puts Storm's library beside the scripts and submits the YAML file.
func (l *ledger) submit(ctx context.Context, dir string) error {
	if err := os.CopyFS(dir, os.DirFS("testdata")); err != nil {
		return fmt.Errorf("copy testdata: %w", err)
	}
	jar, err := harness.Jar()
	if err != nil {
		return err
	}
	from, err := zip.OpenReader(jar)
	if err != nil {
		return fmt.Errorf("open %s: %w", jar, err)
	}
	defer from.Close() //nolint:errcheck // only read from
	const library = "resources/storm.py"
	file, err := from.Open(library)
	if err != nil {
		return fmt.Errorf("open in %s: %w", jar, err)
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("read in %s: %w", jar, err)
	}
	if err := os.WriteFile(filepath.Join(dir, library), text, 0o600); err != nil {
		return fmt.Errorf("copy storm.py: %w", err)
	}
	binary, err := harness.Binary()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, binary, "submit", filepath.Join(dir, "ledger.yaml"), "-c", "test.out="+l.out)
	cmd.Env = append(os.Environ(), "STORM_CONF_DIR="+filepath.Join(l.dir, "dev", "conf"))
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("submit: %w\n%s", err, text)
	}
	return nil
}

// well waits until as many processes run as should, and tuples flow; it fails when a worker has grown or ids were wrong.
func (l *ledger) well(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := harness.Await(ctx, "all processes", func() (bool, error) {
		return len(l.children()) == children && len(l.workers()) == workers && len(l.processes()) == children+workers, nil
	})
	if err != nil {
		return fmt.Errorf("%w: workers %v, children %v of %v", err, l.workers(), l.children(), l.processes())
	}
	before, err := l.notes("acked")
	if err != nil {
		return err
	}
	err = harness.Await(ctx, "acks", func() (bool, error) {
		now, err := l.notes("acked")
		return len(now) > len(before)+300, err
	})
	if err != nil {
		return err
	}
	for _, pid := range l.workers() {
		pss, err := testbed.PSS(pid)
		if err != nil {
			return err
		}
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		if err != nil {
			return err
		}
		if pss > maxWorkerMemory || len(files) > maxWorkerFiles {
			return fmt.Errorf("worker %d has %d MiB and %d open files", pid, pss>>20, len(files))
		}
	}
	return l.right()
}

// right fails when a bolt got task ids that are not those of its emit.
func (l *ledger) right() error {
	text, err := os.ReadFile(filepath.Join(l.out, "wrong"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // no relay has started
	case err != nil:
		return fmt.Errorf("read notes: %w", err)
	case len(text) > 0:
		return fmt.Errorf("task ids: %s", text[:min(len(text), 1000)])
	}
	return nil
}

// settle ends the numbers and waits until all of them are acked; each has reached a sink then.
func (l *ledger) settle(ctx context.Context) (acked, times int, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	taken, err := l.notes("taken.*")
	if err != nil {
		return 0, 0, err
	}
	end := 1000 + slices.Max(append(taken, 0))
	// Renamed, so that the spout does not find half of it.
	if err := os.WriteFile(filepath.Join(l.out, "half"), []byte(strconv.Itoa(end)), 0o600); err != nil {
		return 0, 0, fmt.Errorf("say the limit: %w", err)
	}
	if err := os.Rename(filepath.Join(l.out, "half"), filepath.Join(l.out, "limit")); err != nil {
		return 0, 0, fmt.Errorf("say the limit: %w", err)
	}
	var left []int
	err = harness.Await(ctx, "all numbers to be acked", func() (bool, error) {
		now, err := l.notes("acked")
		left = missing(end, now)
		return len(left) == 0, err
	})
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %d of %d are not, the first is %v", err, len(left), end, left[:min(len(left), 1)])
	}
	if taken, err = l.notes("taken.*"); err != nil {
		return 0, 0, err
	}
	if lost := missing(end, taken); len(lost) > 0 {
		return 0, 0, fmt.Errorf("%d of %d acked numbers never arrived, the first is %d", len(lost), end, lost[0])
	}
	return end, len(taken), l.right()
}

// missing are the numbers below end that are not among those.
func missing(end int, numbers []int) (none []int) {
	seen := make([]bool, end)
	for _, n := range numbers {
		if n < end {
			seen[n] = true
		}
	}
	for n, is := range seen {
		if !is {
			none = append(none, n)
		}
	}
	return none
}

// notes are the numbers in files of that name. A last line without its end is not counted.
func (l *ledger) notes(pattern string) (numbers []int, err error) {
	files, err := filepath.Glob(filepath.Join(l.out, pattern))
	if err != nil {
		return nil, fmt.Errorf("list notes: %w", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read notes: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			if whole, ok := strings.CutSuffix(line, "\n"); ok {
				n, err := strconv.Atoi(whole)
				if err != nil {
					return nil, fmt.Errorf("read %s: %w", file, err)
				}
				numbers = append(numbers, n)
			}
		}
	}
	return numbers, nil
}

// processes are all that run in a folder of gust's but gust itself, workers and children those of them.
func (l *ledger) processes() []int {
	all, err := testbed.Running()
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(pid int) bool {
		cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		argv := testbed.Argv(pid)
		return err != nil || !strings.HasPrefix(cwd, l.dir) || len(argv) > 1 && argv[1] == "dev"
	})
}

func (l *ledger) workers() []int {
	return slices.DeleteFunc(l.processes(), func(pid int) bool {
		argv := testbed.Argv(pid)
		return len(argv) < 2 || argv[1] != "worker"
	})
}

func (l *ledger) children() []int {
	return slices.DeleteFunc(l.processes(), func(pid int) bool {
		argv := testbed.Argv(pid)
		return len(argv) < 2 || !strings.HasSuffix(argv[1], ".py")
	})
}

// signal sends one to some of them; one that has just ended is as good.
func (l *ledger) signal(pids []int, sig syscall.Signal) error {
	if len(pids) == 0 {
		return nil
	}
	pid := pids[l.random.IntN(len(pids))]
	if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %d: %w", pid, err)
	}
	return nil
}

func (l *ledger) killChild(context.Context) (string, error) {
	return "kill a child", l.signal(l.children(), syscall.SIGKILL)
}

// stopChild leaves a child that has to be found dead.
func (l *ledger) stopChild(context.Context) (string, error) {
	return "stop a child", l.signal(l.children(), syscall.SIGSTOP)
}

// killSome kills a worker, and one or two children at the same time.
func (l *ledger) killSome(context.Context) (string, error) {
	pids := l.children()
	for _, victims := range [][]int{l.workers(), pids, pids} {
		if err := l.signal(victims, syscall.SIGKILL); err != nil {
			return "kill a worker and children", err
		}
	}
	return "kill a worker and children", nil
}

// killGust ends all daemons, kills a child meanwhile, and lets gust adopt the workers.
func (l *ledger) killGust(ctx context.Context) (string, error) {
	const name = "kill gust"
	if err := l.gust.Kill(harness.Supervisor); err != nil {
		return name, err
	}
	if err := l.signal(l.children(), syscall.SIGKILL); err != nil {
		return name, err
	}
	return name, l.gust.Restart(ctx, harness.Supervisor)
}

// logs are the ends of the workers' logs.
func (l *ledger) logs() string {
	var all strings.Builder
	for _, pattern := range []string{"logs", "dev/logs"} {
		files, err := filepath.Glob(filepath.Join(l.dir, pattern, "workers-artifacts/*/*/worker.log"))
		if err != nil {
			return err.Error()
		}
		for _, file := range files {
			fmt.Fprintf(&all, "%s:\n%s\n", file, testbed.Tail(file))
		}
	}
	return all.String()
}
