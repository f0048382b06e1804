// SPDX-License-Identifier: Apache-2.0

package container

// Tests of bounding output files.

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func unzipped(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close() //nolint:errcheck // only read
	z, err := gzip.NewReader(f)
	must(t, err)
	text, err := io.ReadAll(z)
	must(t, err)
	return string(text)
}

// TestRotate writes through one open file, as a worker does, over several rounds.
func TestRotate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "real.out")
	link := filepath.Join(dir, "link.out")
	must(t, os.Symlink(path, link))
	must(t, rotate(path, 10, 2)) // no file is no error
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	must(t, err)
	defer f.Close() //nolint:errcheck // the test ends
	for _, part := range []string{"first part", "second part", "third part"} {
		_, err := f.WriteString(part)
		must(t, err)
		must(t, rotate(link, 10, 2))
	}
	_, err = f.WriteString("small")
	must(t, err)
	must(t, rotate(path, 10, 2))
	if c := content(t, path); c != "small" {
		t.Errorf("the file holds %q", c)
	}
	if a, b := unzipped(t, path+".1.gz"), unzipped(t, path+".2.gz"); a != "third part" || b != "second part" {
		t.Errorf("parts %q, %q", a, b)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 4 {
		t.Errorf("files %v, %v", names, err)
	}
}

// TestRotateCannotKeep empties the file even when there is no place for its content.
func TestRotateCannotKeep(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	must(t, os.WriteFile(path, []byte(strings.Repeat("x", 100)), 0o600))
	must(t, os.MkdirAll(path+".1.gz/in the way", 0o755))
	must(t, os.MkdirAll(path+".2.gz/in the way", 0o755))
	if err := rotate(path, 10, 2); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("rotate: %v", err)
	}
	if c := content(t, path); c != "" {
		t.Errorf("the file holds %d bytes", len(c))
	}
}
