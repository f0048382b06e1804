// SPDX-License-Identifier: Apache-2.0

package localstate_test

// This file holds what the package's tests share.

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gust-stream/gust/localstate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// at returns a clock that stands at ms milliseconds after 1970 until it is moved.
type clock struct{ now time.Time }

func at(ms int64) *clock { return &clock{now: time.UnixMilli(ms)} }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) move(d time.Duration) { c.now = c.now.Add(d) }

// newStore returns a store in dir and what it logs.
func newStore(dir string, c *clock) (*localstate.Store, *observer.ObservedLogs) {
	core, logs := observer.New(zap.DebugLevel)
	return localstate.New(dir, c.Now, zap.New(core)), logs
}

// stock copies a folder that Storm 2.8.3 wrote, so that a test may change it.
func stock(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "stock-2.8.3", name))); err != nil {
		t.Fatalf("copy what stock wrote: %v", err)
	}
	return dir
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
