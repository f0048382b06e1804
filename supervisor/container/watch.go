// SPDX-License-Identifier: Apache-2.0

package container

// This file waits for the end of any of the workers with one goroutine.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// lookEvery is how often workers are looked at where the kernel has no pidfds.
const lookEvery = 100 * time.Millisecond

// watch sleeps until a worker ends or it is woken.
type watch struct {
	event int // an eventfd
}

func newWatch() (*watch, error) {
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return &watch{event: event}, nil
}

// wake makes run look at the list of workers again.
func (w *watch) wake() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(w.event, one[:]) // it can only fail when it is full, and then run wakes anyway
}

func (w *watch) close() error { return unix.Close(w.event) }

// run reaps workers as they end, until ctx does.
func (w *watch) run(ctx context.Context, workers func() []*Worker) error {
	stop := context.AfterFunc(ctx, w.wake)
	defer stop()
	for ctx.Err() == nil {
		fds := []unix.PollFd{{Fd: int32(w.event), Events: unix.POLLIN}} //nolint:gosec // a descriptor
		timeout := -1
		watched := workers()
		for _, worker := range watched {
			fd := -1
			if worker.handle != nil {
				fd = worker.handle.pollFD()
			}
			if fd < 0 {
				timeout = int(lookEvery.Milliseconds())
				continue
			}
			fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}) //nolint:gosec // a descriptor
		}
		if _, err := unix.Poll(fds, timeout); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for workers: %w", err)
		}
		var drain [8]byte
		_, _ = unix.Read(w.event, drain[:]) // empty is fine
		for _, worker := range watched {
			if worker.ended() {
				worker.reap()
			}
		}
	}
	return nil
}
