// SPDX-License-Identifier: Apache-2.0

package container

// This file lowers the priority of a twin while it loads, where it can be raised again.

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// twinNice is the priority of a twin: enough to yield to the worker, and not so low that it never comes up.
const twinNice = 15

// slowDown lowers the priority of a process that has just been started and says whether it did. It does so only if this
// process may raise priorities: a worker that stays slow would be worse than one that was started late.
func slowDown(pid int) bool {
	own, err := niceness(0)
	return err == nil && mayRaise(own) && unix.Setpriority(unix.PRIO_PROCESS, pid, twinNice) == nil
}

// speedUp gives all threads of a process this process's own priority.
func speedUp(pid int) error {
	own, err := niceness(0)
	if err != nil {
		return err
	}
	for {
		slow := false
		tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
		if err != nil {
			return fmt.Errorf("list threads: %w", err)
		}
		for _, task := range tasks {
			tid, err := strconv.Atoi(task.Name())
			if err != nil {
				continue
			}
			n, err := niceness(tid)
			if err == nil && n != own {
				// A new thread has its parent's priority, so look again until all have it.
				slow = true
				err = unix.Setpriority(unix.PRIO_PROCESS, tid, own)
			}
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("raise priority: %w", err)
			}
		}
		if !slow {
			return nil
		}
	}
}

// niceness is a thread's, or with 0 the caller's. The system call itself answers 20 less the value.
func niceness(tid int) (int, error) {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, tid)
	return 20 - raw, err
}

// mayRaise says whether this process may set another's niceness to n again.
func mayRaise(n int) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err == nil && sets[0].Effective&(1<<unix.CAP_SYS_NICE) != 0 {
		return true
	}
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NICE, &limit)
	return err == nil && limit.Cur >= uint64(20-n) //nolint:gosec // between 0 and 40
}
