// SPDX-License-Identifier: Apache-2.0

// This file lets twins of real workers take their places, under one gust dev.

package twin

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gust-stream/gust/compat-tests/harness"
)

// patience bounds each wait; a healthy machine needs some seconds.
const patience = 2 * time.Minute

// rig is a gust dev with a topology of one worker, whose spout writes down acks.
type rig struct {
	*harness.Gust
	t   *testing.T
	out string
}

func TestTwin(t *testing.T) {
	gust, err := harness.NewGust(t.TempDir(), "gust.worker.twin.enabled: true")
	check(t, err)
	t.Cleanup(func() {
		check(t, gust.Stop())
		left, err := gust.Workers()
		check(t, err)
		if len(left) > 0 {
			t.Errorf("processes %v are left", left)
		}
	})
	check(t, gust.Start(t.Context()))
	r := &rig{Gust: gust, t: t, out: filepath.Join(gust.Settings().Dir, "out")}
	_, err = harness.Submit(t.Context(), gust, harness.Submission{
		Main: "org.gust.compat.Bench", Args: []string{"bench", r.out, "topology.workers=1"},
	})
	check(t, err)

	worker := r.worker()
	for range 2 {
		twin := r.twinOf(worker)
		check(t, syscall.Kill(worker, syscall.SIGKILL))
		if next := r.workerOtherThan(worker); next != twin {
			t.Fatalf("process %d acks, not the twin %d", next, twin)
		}
		worker = twin
	}

	// A gust that is killed leaves the worker alone, and its twin ends with it.
	twin := r.twinOf(worker)
	check(t, gust.Kill(harness.Supervisor))
	r.await("the twin's end", func() (bool, error) { return !alive(twin), nil })
	check(t, gust.Restart(t.Context(), harness.Supervisor))
	if again := r.twinOf(worker); again == twin {
		t.Errorf("twin %d is there again", twin)
	}
	if acking := r.worker(); acking != worker {
		t.Errorf("worker %d was replaced by %d", worker, acking)
	}
}

// worker gives the process whose tuples are acked now.
func (r *rig) worker() int { return r.workerOtherThan(0) }

func (r *rig) workerOtherThan(old int) (pid int) {
	r.t.Helper()
	before := r.acks()
	r.await("acks of a worker", func() (bool, error) {
		for candidate, acks := range r.acks() {
			if candidate != old && acks > before[candidate] && alive(candidate) {
				pid = candidate
				return true, nil
			}
		}
		return false, nil
	})
	return pid
}

// twinOf waits for a second process, one that stands by and not only starts.
func (r *rig) twinOf(worker int) (twin int) {
	r.t.Helper()
	r.await("a twin", func() (bool, error) {
		pids, err := r.Workers()
		pids = slices.DeleteFunc(pids, func(pid int) bool { return pid == worker || !r.standsBy(pid) })
		if len(pids) == 1 {
			twin = pids[0]
		}
		return len(pids) == 1, err
	})
	return twin
}

// acks counts, by process, the lines that tell of acked tuples. The names of
// the files are <task>.<pid>-<something>.tsv.
func (r *rig) acks() map[int]int {
	r.t.Helper()
	files, err := filepath.Glob(filepath.Join(r.out, "bench", "*.tsv"))
	check(r.t, err)
	count := map[int]int{}
	for _, file := range files {
		_, name, _ := strings.Cut(filepath.Base(file), ".")
		name, _, _ = strings.Cut(name, "-")
		pid, err := strconv.Atoi(name)
		check(r.t, err)
		text, err := os.ReadFile(file)
		check(r.t, err)
		count[pid] += bytes.Count(text, []byte("acked"))
	}
	return count
}

func (r *rig) await(what string, holds func() (bool, error)) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	check(r.t, harness.Await(ctx, what, holds))
}

// standsBy says whether the supervisor has said so of a twin. How busy the process is would not tell: on a busy machine one that starts is idle too.
func (r *rig) standsBy(pid int) bool {
	r.t.Helper()
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return false // it has ended
	}
	_, id, _ := strings.Cut(string(args), "-Dworker.id=")
	id, _, _ = strings.Cut(id, "\x00")
	text, err := os.ReadFile(filepath.Join(r.Settings().Dir, "gust.out"))
	check(r.t, err)
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "twin stands by") && strings.Contains(line, id) {
			return true
		}
	}
	return false
}

func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(text, []byte(") Z "))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
