// SPDX-License-Identifier: Apache-2.0

package executor

// This file counts.

import (
	"sync/atomic"
	"time"

	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/metrics"
)

// counts are a task's, exact. Its executor counts without the cost of sharing, and now and then shows what it has.
type counts struct {
	Counts

	shown [5]atomic.Int64
}

func (c *counts) show() {
	for i, n := range [...]int64{c.Executed, c.Emitted, c.Acked, c.Failed, c.Errors} {
		if c.shown[i].Load() != n {
			c.shown[i].Store(n)
		}
	}
}

func (c *counts) read() Counts {
	return Counts{
		Executed: c.shown[0].Load(), Emitted: c.shown[1].Load(), Acked: c.shown[2].Load(),
		Failed: c.shown[3].Load(), Errors: c.shown[4].Load(),
	}
}

// show makes the counts of all tasks known.
func (c *core) show() {
	for _, t := range c.tasks {
		t.counts.show()
	}
	if n := int64(c.self.waiting()); n != c.underway.Load() {
		c.underway.Store(n)
	}
}

// input is where a task counts tuples like this one.
func (t *task) input(of *tuple.Tuple) *metrics.Input {
	in := t.inputs[of.Source]
	if in == nil {
		in = t.stats.Input(of.Component, of.Stream)
		t.inputs[of.Source] = in
	}
	return in
}

func (c *core) since(started int64) time.Duration { return time.Duration(c.now() - started) }
