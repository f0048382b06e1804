// SPDX-License-Identifier: Apache-2.0

// This file runs the state server as a process.

package state

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gust-stream/gust/internal/testbed"

	"github.com/gust-stream/gust/compat-tests/harness"
)

// newServed starts gust state serve with nothing in it.
func newServed(t testing.TB, d *driver, remote bool) *bed {
	t.Helper()
	binary, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	memory, err := os.MkdirTemp("/dev/shm", "gust-java-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(memory); err != nil {
			t.Error(err)
		}
	})
	dir := t.TempDir()
	argv := []string{binary, "state", "serve", "--dir", dir, "--memory-dir", memory, "--log-level", "warn"}
	b := &bed{driver: d, remote: remote, socket: filepath.Join(dir, "state.sock")}
	var process *testbed.Process
	with := func(more ...string) func() error {
		return func() (err error) {
			process, err = testbed.Start(testbed.Command{
				Name: "state server", Log: filepath.Join(dir, "serve.out"), Argv: append(argv[:len(argv):len(argv)], more...),
			})
			return err
		}
	}
	b.start, b.retire = with(), with("--new-arena")
	b.end = func() error {
		process.Stop()
		return nil
	}
	b.kill = func() error {
		process.Kill()
		return nil
	}
	b.begin(t)
	return b
}
