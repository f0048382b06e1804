// SPDX-License-Identifier: Apache-2.0

package container

// This file ends everything that belongs to a worker.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killStep bounds one wait for processes, so that a cancelled context and kernels without pidfds are noticed.
const killStep = 50 * time.Millisecond

// ticksPerSecond is the unit of start times; Linux shows all programs a clock of 100 Hz, whatever its own.
const ticksPerSecond = 100

func (w *Worker) kill(ctx context.Context, grace time.Duration) error {
	ctxGrace, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if w.IsGo() {
		// It ends its children itself, and would take their death for a fault if it came first.
		if err := w.terminateMain(ctxGrace); err != nil {
			return err
		}
	}
	left, err := w.signalAll(ctxGrace, syscall.SIGTERM)
	for err == nil && left > 0 {
		if ctx.Err() != nil {
			return fmt.Errorf("%d processes are left: %w", left, context.Cause(ctx))
		}
		// What a process starts on its way out is found by looking again.
		round, cancel := context.WithTimeout(ctx, time.Second)
		left, err = w.signalAll(round, syscall.SIGKILL)
		cancel()
	}
	return err
}

// terminateMain asks the worker's own process to end and waits until it has or ctx ends.
func (w *Worker) terminateMain(ctx context.Context) error {
	h, ok := openProcess(w.main)
	if !ok {
		return nil
	}
	defer h.close()
	if err := h.signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("signal process %d: %w", w.main.pid, err)
	}
	waitGone(ctx, []*handle{h})
	return nil
}

// signalAll signals all members once and waits until they have ended or ctx does. It returns how many it found, or 0 if
// there is nothing left to do.
func (w *Worker) signalAll(ctx context.Context, sig syscall.Signal) (int, error) {
	members, err := w.members()
	if err != nil {
		return 0, err
	}
	var handles []*handle
	defer func() {
		for _, h := range handles {
			h.close()
		}
	}()
	var faults []error
	for _, member := range members {
		h, ok := openProcess(member)
		if !ok {
			continue
		}
		handles = append(handles, h)
		if err := h.signal(sig); err != nil {
			faults = append(faults, fmt.Errorf("signal process %d: %w", member.pid, err))
		}
	}
	if len(faults) > 0 {
		return len(handles), errors.Join(faults...)
	}
	waitGone(ctx, handles)
	return len(handles), nil
}

// waitGone waits until all processes have ended or ctx does.
func waitGone(ctx context.Context, handles []*handle) {
	waiting := append([]*handle{}, handles...)
	for len(waiting) > 0 && ctx.Err() == nil {
		fds := make([]unix.PollFd, 0, len(waiting))
		for _, h := range waiting {
			fds = append(fds, unix.PollFd{Fd: int32(h.pollFD()), Events: unix.POLLIN}) //nolint:gosec // a descriptor
		}
		_, _ = unix.Poll(fds, int(killStep.Milliseconds())) // whatever it says, who is gone is looked up below
		left := waiting[:0]
		for _, h := range waiting {
			if !h.gone() {
				left = append(left, h)
			}
		}
		waiting = left
	}
}

// startTime turns a start time in ticks since boot into a point of the wall clock.
func startTime(i identity) (time.Time, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}, err
	}
	for line := range strings.Lines(string(text)) {
		if seconds, ok := strings.CutPrefix(line, "btime "); ok {
			boot, err := strconv.ParseInt(strings.TrimSpace(seconds), 10, 64)
			since := time.Duration(i.start) * (time.Second / ticksPerSecond) //nolint:gosec // far below 2^63
			return time.Unix(boot, 0).Add(since), err
		}
	}
	return time.Time{}, errors.New("/proc/stat tells no boot time")
}
