// SPDX-License-Identifier: Apache-2.0

// This file shares a machine with others who take turns by a file lock.

package measure

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"
)

// turn is how long the lock is kept over several measurements, since others
// may keep it long too: after that the next measurement queues again.
const turn = 2 * time.Minute

// Lock is a file lock that is held while something is measured.
type Lock struct {
	file *os.File
	held time.Time // since when, zero if not
}

// OpenLock opens the file; "" is a lock that nobody contends for.
func OpenLock(path string) (*Lock, error) {
	if path == "" {
		return &Lock{}, nil
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	return &Lock{file: file}, nil
}

// Hold runs do while the lock is held, and keeps it for the next call unless
// the turn is over. Child processes do not inherit it.
func (l *Lock) Hold(ctx context.Context, do func() error) error {
	if err := l.take(ctx); err != nil {
		return err
	}
	err := do()
	if l.file != nil && time.Since(l.held) > turn {
		_ = syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN) // the end of the process would do it too
		l.held = time.Time{}
	}
	return err
}

func (l *Lock) take(ctx context.Context) error {
	if l.file == nil || !l.held.IsZero() {
		return nil
	}
	// Waiting in the kernel keeps the place in the queue, which trying again and again would not.
	got := make(chan error, 1)
	go func() { got <- syscall.Flock(int(l.file.Fd()), syscall.LOCK_EX) }()
	select {
	case <-ctx.Done():
		return ctx.Err() // the program ends, and with it the wait
	case err := <-got:
		if err != nil {
			return fmt.Errorf("take the lock %s: %w", l.file.Name(), err)
		}
	}
	l.held = time.Now()
	return nil
}
