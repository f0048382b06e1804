// SPDX-License-Identifier: Apache-2.0

// This file has what the tests of arenas share.

package arena

import (
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memoryDir is a new directory on tmpfs.
func memoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "gust-arena-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func create(t testing.TB, dir string, capacity uint64) *Arena {
	t.Helper()
	a, err := Create(dir, capacity)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// taken is how much memory the file takes, as the system says.
func taken(t testing.TB, a *Arena) uint64 {
	t.Helper()
	info, err := os.Stat(a.Path())
	if err != nil {
		t.Fatal(err)
	}
	return blocks(info)
}

func blocks(info os.FileInfo) uint64 { return uint64(info.Sys().(*syscall.Stat_t).Blocks) * 512 }
