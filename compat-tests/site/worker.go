// SPDX-License-Identifier: Apache-2.0

// This file finds the site's worker JVMs.

package site

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// workerClass is the main class of a worker JVM.
const workerClass = "org.apache.storm.daemon.worker.Worker"

// Worker is a running worker JVM, as its command line describes it.
type Worker struct {
	PID        int
	ID         string
	Topology   string // id
	Supervisor string // name in the site
	Port       int
	Local      string // storm.local.dir
}

// Workers are the worker JVMs of all supervisors, by pid.
func (s *Site) Workers() ([]Worker, error) {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	var found []Worker
	for _, line := range lines {
		text, err := os.ReadFile(line)
		if err != nil {
			continue // gone meanwhile
		}
		argv := bytes.Split(bytes.TrimSuffix(text, []byte{0}), []byte{0})
		at := slices.IndexFunc(argv, func(arg []byte) bool { return string(arg) == workerClass })
		if at < 0 || len(argv) < at+6 {
			continue
		}
		pid, err1 := strconv.Atoi(filepath.Base(filepath.Dir(line)))
		port, err2 := strconv.Atoi(string(argv[at+4]))
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("read worker %s: %w", line, err)
		}
		w := Worker{PID: pid, ID: string(argv[at+5]), Topology: string(argv[at+1]), Port: port}
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
	if err := syscall.Kill(w.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill worker %d: %w", w.PID, err)
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
