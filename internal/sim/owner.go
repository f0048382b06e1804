// SPDX-License-Identifier: Apache-2.0

// This file has what an owner's process does: recover, bring copies in step, put records on disk, send them.

package sim

import "github.com/gust-stream/gust/stateapi/replica"

// pump does what an owner's process would do whenever something changed.
func (w *world) pump(n *node) {
	s := n.server
	if s == nil || !n.up {
		return
	}
	if s.core == nil {
		w.recover(n)
		return
	}
	if ready := s.core.Ready(); len(ready) > 0 {
		w.nimbus.report(w, n, ready)
	}
	for _, to := range w.nodes {
		if w.quiet(n.id, to.id) {
			for _, y := range s.core.Syncs(peer(to.id)) {
				w.sync(n, s, y)
			}
			for _, x := range s.core.Sends(peer(to.id)) {
				w.append(n, s, x)
			}
		}
	}
	w.finish(n)
}

func (w *world) sync(n *node, s *server, y replica.Sync) {
	to := w.node(y.To)
	w.send(n.id, to.id, "sync", func() {
		c := &to.copies[y.Shard]
		verdict, effect := c.Sync(y.Epoch, y.Position, y.Current)
		apply(effect, &c.keys, &c.pending, nil)
		w.send(to.id, n.id, "synced", func() {
			switch {
			case n.server != s:
			case verdict == replica.Taken:
				s.core.Synced(y.To, y.Shard, y.Epoch, y.Position)
			case verdict == replica.Gap:
				w.image(n, s, y)
			case verdict == replica.Refused:
				s.core.Answered(y.To, y.Shard, y.Epoch, 0, replica.Refused)
			}
		})
	})
}

// image sends a shard as it is on the owner's disk now, without the record under way.
func (w *world) image(n *node, s *server, y replica.Sync) {
	to := w.node(y.To)
	at, have, held := n.own.at[y.Shard], clone(n.own.keys[y.Shard]), clone(n.own.held[y.Shard])
	w.send(n.id, to.id, "image", func() {
		c := &to.copies[y.Shard]
		if c.Install(y.Epoch, at) {
			c.keys, c.pending = have, held
		}
		ok := c.Epoch == y.Epoch
		w.send(to.id, n.id, "installed", func() {
			if n.server == s && ok {
				s.core.Synced(y.To, y.Shard, y.Epoch, at)
			}
		})
	})
}

func (w *world) append(n *node, s *server, x replica.Send) {
	to := w.node(x.To)
	part := n.own.part(x.Shard)
	w.send(n.id, to.id, "append", func() {
		c := &to.copies[x.Shard]
		verdict, effect := c.Append(x.Epoch, x.Record, x.Previous)
		apply(effect, &c.keys, &c.pending, part)
		w.send(to.id, n.id, "answer", func() {
			if n.server == s {
				s.core.Answered(x.To, x.Shard, x.Epoch, x.Record.Number, verdict)
			}
		})
	})
}

// part is what the record under way has for a shard.
func (d *ownDisk) part(shard int) keys {
	part := keys{}
	for k, v := range d.batch {
		if k%shards == shard {
			part[k] = v
		}
	}
	return part
}

// propose puts a record on the owner's disk. What it touches is taken from the batch or, for Commit and Rollback, from the Prepare.
func (w *world) propose(n *node, kind replica.Kind, txid int64, batch keys, prepares replica.Record) {
	var touched uint64
	for k := range batch {
		touched |= 1 << (k % shards)
	}
	touched |= prepares.Shards
	n.own.last = n.server.core.Propose(kind, txid, touched, prepares.Number)
	n.own.batch = batch
}

// finish answers for the record under way when it is everywhere.
func (w *world) finish(n *node) {
	s := n.server
	record := s.core.Current()
	if s.core.Fenced() {
		w.tell("%d finds itself fenced", n.id)
		n.server, n.own = nil, nil
		w.client.leave(n.id)
		return
	}
	if !s.core.Done() {
		return
	}
	for i := range shards {
		if record.Touches(i) {
			part := n.own.part(i)
			apply(n.own.at[i].Advance(record), &n.own.keys[i], &n.own.held[i], part)
		}
	}
	n.own.last, n.own.batch = replica.Record{}, nil
	n.own.number = record.Number
	w.tell("%d: record %d is done", n.id, record.Number)
	if w.client.at == n.id {
		w.client.answered(record)
	}
}

// recover asks one copy of each shard, sealing it, and makes the state out of what they say.
func (w *world) recover(n *node) {
	s := n.server
	c := w.nimbus.word
	if c.Epoch != s.epoch {
		n.server = nil
		return
	}
	for shard := range shards {
		if _, ok := s.found[shard]; ok {
			continue
		}
		from := w.source(c, shard)
		if from == nil || !w.quiet(n.id, from.id) && w.rng.IntN(10) > 0 {
			continue
		}
		w.fetch(n, s, from, shard)
	}
	if len(s.found) < shards {
		return
	}
	found := make([]replica.Copy, shards)
	for i := range shards {
		found[i] = s.found[i].Copy
	}
	d, err := replica.Resolve(found)
	if err != nil {
		w.fail("resolve: %v", err)
		return
	}
	own := &ownDisk{epoch: s.epoch}
	for i := range shards {
		f := s.found[i]
		own.keys[i], own.held[i] = clone(f.keys), clone(f.pending)
		apply(replica.Effect{CommitPending: d.Steps[i] == replica.Apply, DropPending: d.Steps[i] == replica.Forget}, &own.keys[i], &own.held[i], nil)
		own.at[i] = d.At[i]
	}
	if !w.nimbus.open(w, s.epoch) {
		n.server = nil
		return
	}
	n.own = own
	s.core = replica.NewOwner(own.at[:], replica.FirstNumber(s.epoch), replica.Record{})
	w.configure(n)
	w.tell("%d has recovered with epoch %d: %v", n.id, s.epoch, d)
}

// source is a machine that was a copy of the epoch before and can be asked now.
func (w *world) source(c replica.Config, shard int) *node {
	var up []*node
	for _, p := range c.Sources[shard] {
		if n := w.node(p); n.up && !n.gone {
			up = append(up, n)
		}
	}
	if len(up) == 0 {
		return nil
	}
	return up[w.rng.IntN(len(up))]
}

func (w *world) fetch(n *node, s *server, from *node, shard int) {
	w.send(n.id, from.id, "fetch", func() {
		c := &from.copies[shard]
		if !c.Seal(s.epoch) || !c.Complete {
			return
		}
		f := diskCopy{Copy: c.Copy, keys: clone(c.keys), pending: clone(c.pending)}
		w.send(from.id, n.id, "fetched", func() {
			if n.server == s && s.core == nil {
				s.found[shard] = f
			}
		})
	})
}
