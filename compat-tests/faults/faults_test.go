// SPDX-License-Identifier: Apache-2.0

// This file holds what the tests of this package share: limits, checks, file systems.

package faults

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/compat-tests/harness"
	"github.com/gust-stream/gust/compat-tests/site"
)

// Limits of single steps on a busy machine of two cores.
const (
	// jvmLimit is what a worker takes to start, and numbers to flow.
	jvmLimit = 60 * time.Second
	// lostLimit is until all numbers that a dead worker held have been sent again
	// (between one and two message timeouts), behind a start.
	lostLimit = jvmLimit + 2*site.MessageTimeout
	// atOnce is the limit of what gust sees at once and stock only after 30 s or
	// more.
	atOnce = 15 * time.Second
)

// open lays out a site and ends it with the test.
func open(t *testing.T, o site.Options) *site.Site {
	t.Helper()
	s, err := site.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			tails(t, s)
		}
	})
	return s
}

// tails shows the ends of what the daemons wrote.
func tails(t *testing.T, s *site.Site) {
	t.Helper()
	for _, name := range []string{site.Dev, site.ZooKeeper, site.Nimbus, supA, supB, supC} {
		if d := s.Daemon(name); d != nil {
			text, err := os.ReadFile(d.Log)
			t.Logf("end of %s (%v):\n%s", d.Log, err, text[max(0, len(text)-6000):])
		}
	}
}

// check fails the test on an error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// same fails when two values differ.
func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// await waits for a condition.
func await(t *testing.T, limit time.Duration, what string, holds func(ctx context.Context) (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	check(t, harness.Await(ctx, what, func() (bool, error) { return holds(ctx) }))
}

// smallDisk mounts a file system of so many bytes and gives its folder.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	unmount, err := site.MountDisk(dir, size)
	check(t, err)
	t.Cleanup(func() {
		if err := unmount(); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill takes up all space of a folder's file system until the function that it
// gives is called, or the test ends.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	filler, err := site.Fill(dir)
	free = func() {
		t.Helper()
		if err := os.Remove(filler); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
	t.Cleanup(free)
	check(t, err)
	return free
}

// contains fails when a text lacks one of the words.
func contains(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%s does not say %q: %s", what, word, text)
		}
	}
}
