// SPDX-License-Identifier: Apache-2.0

package localstate_test

// Tests of pids, file replacement and names.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/localstate"
)

func TestPids(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"200", "31", "1", "0", "-5", "x", "99999999999999999999"} {
		write(t, filepath.Join(dir, name), "")
	}
	pids, err := localstate.Pids(dir)
	if diff := cmp.Diff([]int{31, 200}, pids); err != nil || diff != "" {
		t.Errorf("Pids() %v: %s", err, diff)
	}
	if pids, err := localstate.Pids(filepath.Join(dir, "none")); err != nil || pids != nil {
		t.Errorf("Pids() of nothing = %v, %v", pids, err)
	}
}

func TestWriteFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for i, mode := range []os.FileMode{0o644, 0o600, 0o666} {
		content := strings.Repeat("x", i)
		must(t, localstate.WriteFile(path, []byte(content), mode))
		info, err := os.Stat(path)
		must(t, err)
		got, err := os.ReadFile(path)
		if err != nil || string(got) != content || info.Mode().Perm() != mode {
			t.Errorf("file is %q with mode %v, %v", got, info.Mode(), err)
		}
	}
	if diff := cmp.Diff([]string{"f"}, names(t, dir)); diff != "" {
		t.Errorf("files: %s", diff)
	}
	// Where a folder stands in the way the write fails and leaves nothing.
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	if err := localstate.WriteFile(filepath.Join(dir, "d"), nil, 0o600); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if diff := cmp.Diff([]string{"d", "f"}, names(t, dir)); diff != "" {
		t.Errorf("files after a failure: %s", diff)
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "..a", "a..", "wc-1-1700000000", "ü b\t_.-", strings.Repeat("x", 255)} {
		if err := localstate.CheckName("name", good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", ".", "..", "a/b", "/a", `a\b`, "a\x00", strings.Repeat("x", 256)} {
		if err := localstate.CheckName("local name", bad); err == nil || !strings.HasPrefix(err.Error(), "local name") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
