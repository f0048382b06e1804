// SPDX-License-Identifier: Apache-2.0

// This file finds the site's workers.

package site

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/gust-stream/gust/internal/testbed"
)

// workerClass is the main class of a worker JVM.
const workerClass = "org.apache.storm.daemon.worker.Worker"

// goWord is the first argument of a Go worker; the rest is as after the main class.
const goWord = "worker"

// Worker is a running worker, as its command line describes it.
type Worker struct {
	PID        int
	ID         string
	Topology   string // id
	Supervisor string // name in the site
	Port       int
	Local      string // storm.local.dir
}

// Workers are the workers of all supervisors, by pid.
func (s *Site) Workers() ([]Worker, error) {
	pids, err := testbed.Running()
	if err != nil {
		return nil, err
	}
	var found []Worker
	for _, pid := range pids {
		argv := testbed.Argv(pid)
		at := slices.Index(argv, workerClass)
		if len(argv) == 7 && argv[1] == goWord {
			at = 1
		}
		if at < 0 || len(argv) < at+6 {
			continue
		}
		port, err := strconv.Atoi(argv[at+4])
		if err != nil {
			return nil, fmt.Errorf("read worker %d: %w", pid, err)
		}
		w := Worker{PID: pid, ID: argv[at+5], Topology: argv[at+1], Port: port}
		for name := range s.Supervisors {
			if slices.Contains(s.SlotPorts(name), port) {
				w.Supervisor, w.Local = name, s.LocalDir(name)
				found = append(found, w)
			}
		}
	}
	slices.SortFunc(found, func(a, b Worker) int { return cmp.Compare(a.PID, b.PID) })
	return found, nil
}

// WorkersOf are the workers of one topology.
func (s *Site) WorkersOf(topology string) ([]Worker, error) {
	all, err := s.Workers()
	return slices.DeleteFunc(all, func(w Worker) bool { return w.Topology != topology }), err
}

// Kill is kill -9 of the worker.
func (w Worker) Kill() error {
	if err := testbed.Kill(w.PID); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// Started is when the process was started, by the clock of the file system.
func (w Worker) Started() (time.Time, error) {
	info, err := os.Stat(filepath.Join("/proc", strconv.Itoa(w.PID)))
	if err != nil {
		return time.Time{}, fmt.Errorf("stat worker: %w", err)
	}
	return info.ModTime(), nil
}

// Beats tells whether the worker has written a heartbeat.
func (w Worker) Beats() (bool, error) {
	entries, err := os.ReadDir(filepath.Join(w.Local, "workers", w.ID, "heartbeats"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("read heartbeats: %w", err)
	}
	return len(entries) > 0, nil
}
