// SPDX-License-Identifier: Apache-2.0

// This file runs a word count of Python components on Go workers.

package goworker

import (
	"slices"
	"syscall"
	"testing"
)

func TestWordCount(t *testing.T) {
	r := newRig(t)
	r.submit(map[string]any{"gust.topology.engines": map[string]any{"sentences": "go", "split": "go", "count": "go", "__acker": "go"}})
	r.await("a worker", func() bool { return len(r.workers()) == 1 })
	worker := r.workers()[0]
	check(t, syscall.Kill(worker, syscall.SIGKILL))
	r.await("another worker", func() bool { now := r.workers(); return len(now) == 1 && !slices.Contains(now, worker) })
}
