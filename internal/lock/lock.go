// SPDX-License-Identifier: Apache-2.0

// Package lock keeps two processes from working in one folder.
//
// A lock is a file that one process holds. The kernel gives it back when that process ends, however that happens, and no child
// inherits it. The file holds the number of the process, for those who find it taken. The package stands for no Storm class; the
// daemons use it, each for its own folder.
package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gust-stream/gust/internal/clock"
	"github.com/gust-stream/gust/internal/regular"
)

// again is the pause between two tries to take a lock.
const again = 100 * time.Millisecond

// Lock is a lock that this process holds.
type Lock struct{ file *os.File }

// BusyError tells that another process holds a lock.
type BusyError struct {
	// Dir is the folder that the lock is for.
	Dir string
	// PID is the process that holds it, 0 if it does not say.
	PID int
}

// Error names folder and process.
func (e *BusyError) Error() string {
	if e.PID == 0 {
		return e.Dir + " is in use by another process"
	}
	return fmt.Sprintf("%s is in use by process %d", e.Dir, e.PID)
}

// Try takes the lock of a folder, which is made where it is missing, or fails with a *BusyError.
func Try(dir string) (*Lock, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	file, err := regular.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer file.Close() //nolint:errcheck // only looked at
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &BusyError{Dir: dir, PID: holder(file)}
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	if err := errors.Join(file.Truncate(0), write(file)); err != nil && !errors.Is(err, unix.ENOSPC) { // the number is a help, no more
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), file.Close())
	}
	return &Lock{file: file}, nil
}

func write(file *os.File) error {
	_, err := file.WriteAt(strconv.AppendInt(nil, int64(os.Getpid()), 10), 0)
	return err
}

func holder(file *os.File) int {
	text := make([]byte, 20)
	n, _ := file.ReadAt(text, 0) // as far as it goes
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		return 0
	}
	return pid
}

// Take takes the lock of a folder, and waits for it as long as another process holds it. waits is told whom it waits for, once for
// each process.
func Take(ctx context.Context, dir string, waits func(*BusyError)) (*Lock, error) {
	told := -1
	for {
		l, err := Try(dir)
		busy, ok := errors.AsType[*BusyError](err)
		if !ok {
			return l, err
		}
		if busy.PID != told {
			told = busy.PID
			waits(busy)
		}
		if err := clock.Wait(ctx, again); err != nil {
			return nil, fmt.Errorf("wait for the end of another process: %w (%w)", err, busy)
		}
	}
}

// Release gives the lock back.
func (l *Lock) Release() error {
	// Closing alone would leave the lock with any child that is just being forked.
	return errors.Join(unix.Flock(int(l.file.Fd()), unix.LOCK_UN), l.file.Close())
}
