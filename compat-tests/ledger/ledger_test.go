// SPDX-License-Identifier: Apache-2.0

// This file tests reading of ledgers.

package ledger_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/compat-tests/ledger"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestReadLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "count", "3.7-a.tsv"), "gust\t1\nföhn\t1\nhalf")
	write(t, filepath.Join(dir, "count", "3.9-b.tsv"), "gust\t1\n")
	write(t, filepath.Join(dir, "rows", "1.7-c.tsv"), "open\t2\nacked\t0\nacked\t0\nfailed\t1\n")
	book, err := ledger.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []ledger.Line{
		{Task: 3, Incarnation: "7-a", Cells: []string{"gust", "1"}},
		{Task: 3, Incarnation: "7-a", Cells: []string{"föhn", "1"}},
		{Task: 3, Incarnation: "9-b", Cells: []string{"gust", "1"}},
	}
	if diff := cmp.Diff(want, book["count"]); diff != "" {
		t.Errorf("count (-want +got):\n%s", diff)
	}
	acked := book.Verb("rows", "acked")
	if len(acked) != 2 || ledger.Distinct(acked, 0) != 1 || acked[0].Cells[0] != "0" {
		t.Errorf("acked: %v", acked)
	}
}

func TestReadNothingYet(t *testing.T) {
	t.Parallel()
	book, err := ledger.Read(filepath.Join(t.TempDir(), "later"))
	if err != nil || len(book) > 0 {
		t.Errorf("got %v, %v", book, err)
	}
}

func TestReadForeignFile(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"three.7-a.tsv", "3.tsv"} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "count", name), "gust\t1\n")
		if book, err := ledger.Read(dir); err == nil {
			t.Errorf("%s: got %v, want an error", name, book)
		}
	}
}
