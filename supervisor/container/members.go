// SPDX-License-Identifier: Apache-2.0

package container

// This file tells which processes belong to a worker.

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gust-stream/gust/localstate"
)

// logWriter is the program that stock puts between supervisor and worker; it carries the worker's whole command line.
const logWriter = "org.apache.storm.LogWriter"

// findMain looks for the worker's own process: the one with the worker's id among its arguments.
func findMain(workerID string) (identity, bool, error) {
	running, err := processes()
	if err != nil {
		return identity{}, false, err
	}
	matches := map[int]status{}
	for pid, s := range running {
		if args := argv(pid); hasWorkerID(args, workerID) && !slices.Contains(args, logWriter) {
			matches[pid] = s
		}
	}
	for _, s := range matches {
		// A child that has not yet executed its program looks like its parent.
		if _, isChild := matches[s.parent]; !isChild {
			return s.identity, true, nil
		}
	}
	return identity{}, false, nil
}

func hasWorkerID(args []string, workerID string) bool {
	return slices.Contains(args, "-Dworker.id="+workerID) || isGoWorker(args, workerID)
}

// members lists the running processes that belong to the worker. The rules are in the package's documentation.
func (w *Worker) members() ([]identity, error) {
	running, err := processes()
	if err != nil {
		return nil, err
	}
	delete(running, os.Getpid())
	delete(running, 1)
	belongs := map[int]bool{}
	listed := w.listed()
	for pid, s := range running {
		belongs[pid] = w.isMember(s, listed[pid])
	}
	children := map[int][]int{}
	for pid, s := range running {
		children[s.parent] = append(children[s.parent], pid)
	}
	var found []identity
	var visit func(pid int)
	seen := map[int]bool{}
	visit = func(pid int) {
		s, ok := running[pid]
		if !ok || seen[pid] {
			return
		}
		seen[pid] = true
		found = append(found, s.identity)
		for _, child := range children[pid] {
			visit(child)
		}
	}
	for pid, yes := range belongs {
		if yes {
			visit(pid)
		}
	}
	return found, nil
}

func (w *Worker) isMember(s status, listedAt time.Time) bool {
	if s.identity == w.main {
		return true
	}
	older := s.start < w.main.start
	if w.main.pid != 0 && older {
		return hasWorkerID(argv(s.pid), w.id) // stock's log writer
	}
	return (w.main.pid != 0 && s.session == w.main.pid) ||
		slices.Contains(environ(s.pid), WorkerIDVariable+"="+w.id) ||
		hasWorkerID(argv(s.pid), w.id) ||
		(!listedAt.IsZero() && w.worksHere(s, listedAt))
}

// listed gives the pids that the worker wrote down, with the time of the entry.
func (w *Worker) listed() map[int]time.Time {
	dir := w.l.cfg.Layout.WorkerPids(w.id)
	pids, err := localstate.Pids(dir)
	if err != nil {
		return nil // the other rules still hold
	}
	listed := make(map[int]time.Time, len(pids))
	for _, pid := range pids {
		if info, err := os.Lstat(filepath.Join(dir, strconv.Itoa(pid))); err == nil {
			listed[pid] = info.ModTime()
		}
	}
	return listed
}

// worksHere says whether a listed process can be the one that was meant: it was started before its pid was written down and
// works in one of the supervisor's folders. It finds the children of a dead worker that stock had started.
func (w *Worker) worksHere(s status, listedAt time.Time) bool {
	dir, err := os.Readlink("/proc/" + strconv.Itoa(s.pid) + "/cwd")
	if err != nil || !strings.HasPrefix(dir, filepath.Clean(w.l.cfg.Layout.Local)+"/") {
		return false
	}
	started, err := startTime(s.identity)
	return err == nil && !started.After(listedAt.Add(time.Second))
}
