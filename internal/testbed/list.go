// SPDX-License-Identifier: Apache-2.0

// This file finds the processes that belong to a cluster, and what they take.

package testbed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Running lists the pids of this machine but this process's.
func Running() ([]int, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer func() { _ = proc.Close() }() // only read
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// Argv is a process's command line, nil when it is gone. Between fork and exec it is its parent's.
func Argv(pid int) []string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// Of lists the processes that belong to the cluster in dir: those that name something in it on their command line, or work in it.
func Of(dir string) ([]int, error) {
	return matching(func(pid int) bool {
		cwd, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
		return err == nil && strings.HasPrefix(cwd, dir+"/") || names(Argv(pid), dir)
	})
}

// Workers lists the worker JVMs that name something in dir, without stock's log writers.
func Workers(dir string) ([]int, error) {
	return matching(func(pid int) bool { return IsWorker(Argv(pid), dir) })
}

// IsWorker tells whether a command line is that of a worker JVM which names something in dir. Stock's log writer, which carries
// the worker's line, is none.
func IsWorker(argv []string, dir string) bool {
	return slices.Contains(argv, "org.apache.storm.daemon.worker.Worker") && !slices.Contains(argv, "org.apache.storm.LogWriter") && names(argv, dir)
}

func names(argv []string, dir string) bool {
	return slices.ContainsFunc(argv, func(arg string) bool { return strings.Contains(arg, dir+"/") })
}

func matching(belongs func(pid int) bool) ([]int, error) {
	pids, err := Running()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(pids, func(pid int) bool { return !belongs(pid) }), nil
}

// Sweep is kill -9 of every process that belongs to the cluster in dir.
func Sweep(dir string) error {
	pids, err := Of(dir)
	if err != nil {
		return err
	}
	var faults []error
	for _, pid := range pids {
		if err := Kill(pid); err != nil && !errors.Is(err, syscall.ESRCH) {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// Kill is kill -9 of one process; the error wraps ESRCH when it is gone already.
func Kill(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill process %d: %w", pid, err)
	}
	return nil
}

// PSS sums the memory of processes in bytes, with what they share with others counted in parts.
func PSS(pids ...int) (int64, error) {
	var sum int64
	for _, pid := range pids {
		kib, err := pss(pid)
		if err != nil {
			return 0, fmt.Errorf("read memory of process %d: %w", pid, err)
		}
		sum += kib << 10
	}
	return sum, nil
}

// PSS is the process's memory in bytes, with what it shares with others counted in parts.
func (p *Process) PSS() (int64, error) { return PSS(p.PID()) }

func pss(pid int) (kib int64, err error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "Pss:" {
			return strconv.ParseInt(fields[1], 10, 64)
		}
	}
	return 0, errors.New("smaps_rollup has no line Pss")
}
