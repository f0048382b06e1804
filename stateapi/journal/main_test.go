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

func open(tb testing.TB, dir string, o Options) *Journal {
	tb.Helper()
	j, err := Open(dir, o, zap.NewNop())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = j.Close(context.Background()) }) // a test that cares has closed it before
	return j
}

func add(tb testing.TB, j *Journal, tag uint64, body string) uint64 {
	tb.Helper()
	_, end, err := j.Append(tag, []byte(body))
	if err != nil {
		tb.Fatal(err)
	}
	return end
}

func flush(tb testing.TB, j *Journal) {
	tb.Helper()
	if err := j.Sync(context.Background(), j.End()); err != nil {
		tb.Fatal(err)
	}
}

func closed(tb testing.TB, j *Journal) {
	tb.Helper()
	if err := j.Close(context.Background()); err != nil {
		tb.Fatal(err)
	}
}

// read returns the bodies from a position on, and the damage.
func read(tb testing.TB, j *Journal, from uint64) ([]string, []*DamageError) {
	tb.Helper()
	var bodies []string
	var damage []*DamageError
	for record, err := range j.Read(from) {
		if d, ok := errors.AsType[*DamageError](err); ok {
			damage = append(damage, d)
			continue
		}
		if err != nil {
			tb.Fatal(err)
		}
		bodies = append(bodies, string(record.Body))
	}
	return bodies, damage
}

// memory is a folder where fsync costs nothing, for tests that open a thousand times.
func memory(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "journal") //nolint:usetesting // on tmpfs
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

// clone copies a journal's files, as a crash of the process leaves them.
func clone(tb testing.TB, dir string) string {
	tb.Helper()
	to := memory(tb)
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		tb.Fatal(err)
	}
	return to
}

// last is the path of the newest file.
func last(tb testing.TB, dir string) string {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join(dir, filePrefix+"*"))
	if err != nil || len(names) == 0 {
		tb.Fatal("no files", err)
	}
	return names[len(names)-1]
}
