// SPDX-License-Identifier: Apache-2.0

package executor

// This file works through what an executor took from its inbox, in a way that survives a panic in the middle.

import (
	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/transfer"
)

// input is what was taken and is being worked through. It always is at the next message to do.
type input struct {
	taken []*transfer.Batch
	batch int // in taken
	at    int // in the batch
}

// more takes what has come if all before is done; false says that there is nothing to do.
func (c *core) more() bool {
	in := &c.in
	if in.batch < len(in.taken) {
		return true
	}
	if c.inbox.Size() == 0 {
		return false
	}
	in.taken = c.inbox.Take(in.taken)
	in.batch, in.at = 0, 0
	return len(in.taken) > 0
}

// finish is called when the batch at hand is done.
func (c *core) finish() {
	n := c.in.taken[c.in.batch].Len()
	c.moved()
	c.inbox.Done(n)
}

// moved is finish of a batch whose messages are elsewhere now, and not done yet.
func (c *core) moved() {
	in := &c.in
	c.engine.pool.Put(in.taken[in.batch])
	in.taken[in.batch] = nil
	in.batch++
	in.at = 0
}

// last is the tuple that was at hand last, nil if none is.
func (in *input) last() *tuple.Tuple {
	if in.batch >= len(in.taken) || in.at == 0 || in.at > len(in.taken[in.batch].Tuples) {
		return nil
	}
	return in.taken[in.batch].Tuples[in.at-1].Tuple
}
