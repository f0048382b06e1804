// SPDX-License-Identifier: Apache-2.0

package lock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gust-stream/gust/internal/lock"
	"github.com/gust-stream/gust/internal/regular"
)

// TestOtherProcess is the other process of TestWaitsForAnotherProcess: it holds the lock until it is killed.
func TestOtherProcess(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("LOCK_DIR")
	if dir == "" {
		return // this is the process of all the other tests
	}
	if _, err := lock.Try(dir); err != nil {
		t.Fatal(err)
	}
	_, _ = os.Stdout.WriteString("locked\n") // else the other side waits in vain, and says so
	select {}
}

func TestWaitsForAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "folder")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	other := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestOtherProcess$")
	other.Env = append(os.Environ(), "LOCK_DIR="+dir)
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	var word string
	if _, err := fmt.Fscan(out, &word); err != nil || word != "locked" {
		t.Fatalf("the other process says %q, %v", word, err)
	}
	_, err = lock.Try(dir)
	if busy, ok := errors.AsType[*lock.BusyError](err); !ok || busy.PID != other.Process.Pid || busy.Dir != dir {
		t.Fatalf("Try = %v", err)
	}
	told := 0
	l, err := lock.Take(ctx, dir, func(busy *lock.BusyError) {
		told++
		if want := fmt.Sprintf("%s is in use by process %d", dir, other.Process.Pid); busy.Error() != want {
			t.Errorf("told %q, want %q", busy, want)
		}
		_ = other.Process.Kill() // by that the lock is free
		_ = other.Wait()
	})
	if err != nil || told != 1 {
		t.Fatalf("Take = %v, told %d times", err, told)
	}
	if _, err := lock.Try(dir); err == nil || err.Error() != fmt.Sprintf("%s is in use by process %d", dir, os.Getpid()) {
		t.Errorf("Try of what this process holds = %v", err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
	if l, err = lock.Try(dir); err != nil {
		t.Fatalf("Try after Release = %v", err)
	}
	ended, stop := context.WithCancel(ctx)
	stop()
	if _, err := lock.Take(ended, dir, func(*lock.BusyError) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("Take with an ended context = %v", err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

func TestPipeInPlaceOfTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "lock"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Try(dir); !errors.Is(err, regular.ErrNot) {
		t.Errorf("Try = %v", err)
	}
}
