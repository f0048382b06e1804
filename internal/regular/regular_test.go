// SPDX-License-Identifier: Apache-2.0

package regular_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gust-stream/gust/internal/regular"
)

// TestOtherKinds opens what is no regular file, in all ways in which a store opens its files. An open that waits would hang the test.
func TestOtherKinds(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "regular") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	pipe, link, sock := filepath.Join(dir, "pipe"), filepath.Join(dir, "link"), filepath.Join(dir, "sock")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink(pipe, link)); err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	for path, want := range map[string]string{pipe: "a named pipe", link: "a named pipe", sock: "a socket", "/dev/zero": "a device", dir: "a folder"} {
		for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_CREATE, os.O_WRONLY | os.O_CREATE, os.O_WRONLY | os.O_APPEND} {
			f, err := regular.OpenFile(path, flag, 0o600)
			if err == nil {
				_ = f.Close()
			}
			if !errors.Is(err, regular.ErrNot) || !strings.Contains(err.Error(), path+" is "+want) {
				t.Errorf("open %s with flags %#x: %v", path, flag, err)
			}
		}
		if _, err := regular.ReadFile(path); !errors.Is(err, regular.ErrNot) {
			t.Errorf("read %s: %v", path, err)
		}
	}
}

func TestRegularFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if _, err := regular.ReadFile(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read what is not there: %v", err)
	}
	for _, size := range []int{0, 1, 511, 512, 1 << 20} {
		want := bytes.Repeat([]byte{'x'}, size)
		f, err := regular.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(want); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := regular.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("read %d bytes: got %d, %v", size, len(got), err)
		}
	}
	// A file of /proc tells no size.
	if got, err := regular.ReadFile("/proc/self/cmdline"); err != nil || len(got) == 0 {
		t.Errorf("read a file that tells no size: %q, %v", got, err)
	}
}
