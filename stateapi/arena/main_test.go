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
func memoryDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "gust-arena-test-") //nolint:usetesting // on tmpfs
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	return dir
}

func create(tb testing.TB, dir string) *Arena {
	tb.Helper()
	a, err := Create(dir, Region)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := a.Close(); err != nil {
			tb.Error(err)
		}
	})
	return a
}

// taken is how much memory the file takes, as the system says.
func taken(tb testing.TB, a *Arena) uint64 {
	tb.Helper()
	info, err := os.Stat(a.Path())
	if err != nil {
		tb.Fatal(err)
	}
	return blocks(info)
}

func blocks(info os.FileInfo) uint64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(stat.Blocks) * 512
}
