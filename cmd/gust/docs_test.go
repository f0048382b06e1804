// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestPythonBoltPage does what docs/python-bolt.md says, with the files that it shows.
func TestPythonBoltPage(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "python-bolt.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, text []byte) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shown := regexp.MustCompile("(?s)`([a-z_/]+\\.(?:py|yaml))`:\n```[a-z]+\n(.*?)```\n").FindAllSubmatch(page, -1)
	if len(shown) != 5 {
		t.Fatalf("the page shows %d files", len(shown))
	}
	for _, file := range shown {
		write(string(file[1]), file[2])
	}
	if lines := bytes.Count(shown[0][2], []byte("\n")) + bytes.Count(shown[1][2], []byte("\n")); lines >= 40 {
		t.Errorf("a bolt and its test take %d lines", lines)
	}
	library, err := os.ReadFile(filepath.Join(root, "build", "multilang", "storm.py"))
	if err != nil {
		t.Fatalf("%v; make multilang-children makes it", err)
	}
	write("resources/storm.py", library)

	unit := exec.CommandContext(t.Context(), "python3", "-m", "unittest", "test_split")
	unit.Dir = filepath.Join(dir, "resources")
	if out, err := unit.CombinedOutput(); err != nil {
		t.Errorf("the bolt's test: %v\n%s", err, out)
	}
	cmd := newRun()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{filepath.Join(dir, "words.yaml"), "--for", "8s", "--json", "--log-level", "error"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	var done ran
	if err := json.Unmarshal(out.Bytes(), &done); err != nil {
		t.Fatal(err)
	}
	for _, c := range done.Components {
		if c.Acked == 0 || c.Failed > 0 || c.Errors > 0 {
			t.Errorf("%+v", c)
		}
	}
	if len(done.Components) != 3 {
		t.Errorf("ran %+v", done.Components)
	}
}
