// SPDX-License-Identifier: Apache-2.0

// This file sees a worker process appear.

package rig

import (
	"context"
	"time"

	"github.com/gust-stream/gust/internal/testbed"
)

// settle is how long the command line of a new process may still change:
// between fork and exec it is its parent's.
const settle = 3 * time.Second

// Watch sees new worker processes of a cluster.
type Watch struct {
	dir   string
	every time.Duration
	first map[int]time.Time // pid -> first seen
	known map[int]bool      // pids that are no news
}

// NewWatch takes what runs now as known. It will look every so often, which
// takes some 0.1 ms of processor time each.
func (c *Cluster) NewWatch(every time.Duration) (*Watch, error) {
	w := &Watch{dir: c.dir, every: every, first: map[int]time.Time{}, known: map[int]bool{}}
	pids, err := testbed.Running()
	if err != nil {
		return nil, err
	}
	for _, pid := range pids {
		w.known[pid] = true
	}
	return w, nil
}

// Next waits for a worker process that was not there before and gives its pid
// and the moment it was seen.
func (w *Watch) Next(ctx context.Context) (pid int, at time.Time, err error) {
	err = testbed.Await(ctx, "a worker process", w.every, func() (bool, error) {
		pids, err := testbed.Running()
		if err != nil {
			return false, err
		}
		now := time.Now()
		for _, each := range pids {
			if w.known[each] {
				continue
			}
			if testbed.IsWorker(testbed.Argv(each), w.dir) {
				w.known[each] = true
				pid, at = each, now
				return true, nil
			}
			if first, ok := w.first[each]; !ok {
				w.first[each] = now
			} else if now.Sub(first) > settle {
				w.known[each] = true
			}
		}
		return false, nil
	})
	return pid, at, err
}
