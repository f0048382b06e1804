// SPDX-License-Identifier: Apache-2.0

// This file has the bolt: it prepares and commits as Storm's checkpoints make it, and knows what it was answered.

package sim

import (
	"maps"

	"github.com/gust-stream/gust/stateapi/replica"
)

// keyCount is how many keys there are, spread over the shards.
const keyCount = 12

type phase int

const (
	idle phase = iota
	preparing
	prepared
	committing
	writing
	rollingBack
)

// client is the one bolt of the task, wherever it runs.
type client struct {
	at      int // the machine, -1: nowhere
	phase   phase
	truth   keys // every value that was answered for
	batch   keys // of the txid under way
	value   int
	prepare replica.Record
	commits int
}

// leave takes note that the server on a machine is no more the bolt's.
func (c *client) leave(machine int) {
	if c.at == machine {
		c.at = -1
	}
}

// step lets the bolt do something: open where Nimbus says that the owner is, or go on.
func (c *client) step(w *world) {
	if c.truth == nil {
		c.truth = keys{}
	}
	if c.at < 0 {
		c.open(w)
		return
	}
	n := w.nodes[c.at]
	if n.server == nil || n.server.core == nil || n.server.core.Current().Number != 0 {
		return
	}
	switch c.phase {
	case idle:
		c.value++
		c.batch = keys{}
		for range w.rng.IntN(5) {
			c.batch[w.rng.IntN(keyCount)] = c.value
		}
		c.phase = preparing
		kind := replica.Prepare
		if w.rng.IntN(4) == 0 {
			c.phase, kind = writing, replica.Write
		}
		w.propose(n, kind, int64(c.value), c.batch, replica.Record{})
		c.prepare = n.own.last
	case prepared:
		c.phase = committing
		kind := replica.Commit
		if w.rng.IntN(6) == 0 {
			c.phase, kind = rollingBack, replica.Rollback
		}
		w.propose(n, kind, int64(c.value), nil, c.prepare)
	case preparing, committing, writing, rollingBack:
	}
}

// answered takes the answer to what the bolt had asked for.
func (c *client) answered(r replica.Record) {
	switch {
	case c.phase == preparing && r.Kind == replica.Prepare:
		c.phase = prepared
	case c.phase == writing && r.Kind == replica.Write, c.phase == committing && r.Kind == replica.Commit:
		maps.Copy(c.truth, c.batch)
		c.commits++
		c.phase = idle
	case c.phase == rollingBack && r.Kind == replica.Rollback:
		c.phase = idle
	}
}

// open is newState at the present owner: the state must hold all that was answered for, and what was under way wholly or not at all.
func (c *client) open(w *world) {
	n := w.node(w.nimbus.word.Owner)
	if !n.up || n.server == nil || n.server.core == nil || n.server.core.Fenced() || n.server.core.Current().Number != 0 {
		return // a record of the server before is still under way: the new process sees to it first
	}
	have := keys{}
	var pending replica.Record
	var committedTx int64
	for i := range shards {
		p := n.server.core.Position(i)
		maps.Copy(have, n.own.keys[i])
		switch p.Pending.Kind {
		case replica.Write:
			maps.Copy(have, n.own.held[i])
		case replica.Prepare:
			pending = p.Pending
		default:
		}
		if i == 0 {
			committedTx = p.CommittedTx
		}
	}
	c.at = n.id
	with := maps.Clone(c.truth)
	maps.Copy(with, c.batch)
	whole := maps.Equal(have, with)
	switch c.phase {
	case idle, rollingBack, preparing, prepared:
		c.check(w, have, c.truth)
	case committing:
		if committedTx == int64(c.value) {
			c.check(w, have, with)
		} else {
			c.check(w, have, c.truth)
		}
	case writing:
		if !whole {
			c.check(w, have, c.truth)
		}
	}
	c.resume(w, n, pending, committedTx, whole)
}

// resume goes on as Storm does: a commit is repeated until it succeeds, anything else begins with a rollback.
func (c *client) resume(w *world, n *node, pending replica.Record, committedTx int64, whole bool) {
	switch {
	case c.phase == committing && committedTx == int64(c.value), c.phase == writing && whole:
		maps.Copy(c.truth, c.batch)
		c.phase = idle
	case c.phase == committing && pending.TxID == int64(c.value) && pending.Number != 0:
		c.prepare = pending
		w.propose(n, replica.Commit, int64(c.value), nil, pending)
	case c.phase == committing:
		w.fail("batch %d was prepared and is gone", c.value)
	case c.phase == prepared && (pending.Number == 0 || pending.TxID != int64(c.value)):
		w.fail("prepared batch %d was answered for and is gone", c.value)
	case pending.Number != 0:
		c.phase = rollingBack
		w.propose(n, replica.Rollback, pending.TxID, nil, pending)
	default:
		c.phase = idle
	}
	w.tell("the bolt opens at %d, phase %d", n.id, c.phase)
}

func (c *client) check(w *world, have, want keys) {
	if !maps.Equal(have, want) {
		w.fail("the state is %v, answered for was %v, under way %v in phase %d", have, want, c.batch, c.phase)
	}
}
