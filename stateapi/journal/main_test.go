// SPDX-License-Identifier: Apache-2.0

// Shared by all tests: journals, and what is read back from them.

package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"
)

// childEnv makes this test binary a process that appends to the journal in this folder and can be killed.
const childEnv = "GUST_JOURNAL_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		fmt.Fprintln(os.Stderr, child(dir))
		os.Exit(1) //nolint:forbidigo // this process only appends
	}
	goleak.VerifyTestMain(m)
}

// child appends for ever and prints what is durable.
func child(dir string) error {
	j, err := Open(dir, Options{FileSize: 16 << 10}, zap.NewNop())
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	n := 0
	for record, err := range j.Read(j.Start()) {
		if err != nil {
			return err
		}
		if _, err := fmt.Sscanf(string(record.Body), "%d", &n); err != nil {
			return err
		}
	}
	for {
		n++
		_, end, err := j.Append(1, fmt.Appendf(nil, "%d %s", n, strings.Repeat("x", n%700)))
		if err != nil {
			return err
		}
		if n%3 == 0 {
			if err := j.Sync(context.Background(), end); err != nil {
				return err
			}
			fmt.Fprintln(out, n)
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

func open(t testing.TB, dir string, o Options) *Journal {
	t.Helper()
	j, err := Open(dir, o, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close(context.Background()) }) // a test that cares has closed it before
	return j
}

func add(t testing.TB, j *Journal, tag uint64, body string) uint64 {
	t.Helper()
	_, end, err := j.Append(tag, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return end
}

func flush(t testing.TB, j *Journal) {
	t.Helper()
	if err := j.Sync(context.Background(), j.End()); err != nil {
		t.Fatal(err)
	}
}

func closed(t testing.TB, j *Journal) {
	t.Helper()
	if err := j.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// read returns the bodies from a position on, and the damage.
func read(t testing.TB, j *Journal, from uint64) ([]string, []*Damage) {
	t.Helper()
	var bodies []string
	var damage []*Damage
	for record, err := range j.Read(from) {
		if d, ok := errors.AsType[*Damage](err); ok {
			damage = append(damage, d)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, string(record.Body))
	}
	return bodies, damage
}

// memory is a folder where fsync costs nothing, for tests that open a thousand times.
func memory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "journal")
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

// clone copies a journal's files, as a crash of the process leaves them.
func clone(t testing.TB, dir string) string {
	t.Helper()
	to := memory(t)
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// last is the path of the newest file.
func last(t testing.TB, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, filePrefix+"*"))
	if err != nil || len(names) == 0 {
		t.Fatal("no files", err)
	}
	return names[len(names)-1]
}
