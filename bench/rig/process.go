// SPDX-License-Identifier: Apache-2.0

// This file asks /proc about processes.

package rig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gust-stream/gust/internal/testbed"
	"golang.org/x/sys/unix"
)

// jiffy is the unit of times in /proc, which is the same on all machines that Linux runs on today.
const jiffy = 10 * time.Millisecond

// stat gives a field of /proc/PID/stat by its number in proc(5), from 3 on.
func stat(pid int, fields ...int) (values []time.Duration, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, fmt.Errorf("look at process %d: %w", pid, err)
	}
	// The name before the last parenthesis may hold anything.
	cells := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	for _, field := range fields {
		if field-3 >= len(cells) {
			return nil, fmt.Errorf("look at process %d: its stat is short", pid)
		}
		n, err := strconv.ParseInt(cells[field-3], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("look at process %d: %w", pid, err)
		}
		values = append(values, time.Duration(n)*jiffy)
	}
	return values, nil
}

// CPU is the processor time that processes have used, without their children.
func CPU(pids ...int) (sum time.Duration, err error) {
	for _, pid := range pids {
		used, err := stat(pid, 14, 15)
		if err != nil {
			return 0, err
		}
		sum += used[0] + used[1]
	}
	return sum, nil
}

// StartedAt is when a process was forked, at most 10 ms too early.
func StartedAt(pid int) (time.Time, error) {
	since, err := stat(pid, 22)
	if err != nil {
		return time.Time{}, err
	}
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return time.Time{}, fmt.Errorf("ask how long the machine is up: %w", err)
	}
	return time.Now().Add(since[0] - time.Duration(up.Nano())), nil
}

// goWorkers are the pids of processes below a folder that a supervisor started as Go workers.
func goWorkers(dir string) (pids []int, err error) {
	all, err := testbed.Running()
	if err != nil {
		return nil, err
	}
	for _, pid := range all {
		argv := testbed.Argv(pid)
		if len(argv) < 2 || argv[1] != "worker" {
			continue
		}
		cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		switch {
		case errors.Is(err, os.ErrNotExist): // it has ended
		case err != nil:
			return nil, fmt.Errorf("look at process %d: %w", pid, err)
		case strings.HasPrefix(cwd, dir+string(filepath.Separator)):
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
