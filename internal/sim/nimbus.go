// SPDX-License-Identifier: Apache-2.0

// This file has Nimbus: it names epochs, owners and copies, sometimes wrongly informed, and every machine learns of it in its own time.

package sim

import (
	"slices"

	"github.com/gust-stream/gust/stateapi/replica"
)

// config is one word of Nimbus; here all shards change together.
type config struct {
	epoch    uint64
	owner    int
	opened   bool                   // the owner has the state: it says so before it answers for anything
	sources  [shards][]replica.Peer // where an owner that begins finds the state
	copies   [shards][]replica.Peer
	joining  [shards][]replica.Peer
	learners [shards][]replica.Peer
}

type nimbus struct {
	history []config
	wanted  int // copies
	down    bool
}

func (b *nimbus) current() config { return b.history[len(b.history)-1] }

// at is the newest word if it is of that epoch.
func (b *nimbus) at(epoch uint64) (config, bool) {
	c := b.current()
	return c, c.epoch == epoch
}

func (b *nimbus) begin(w *world) {
	b.wanted = 1 + w.rng.IntN(2)
	c := config{epoch: 1, owner: 0, opened: true}
	c.learners = b.place(w, c)
	b.history = []config{c}
	n := w.nodes[0]
	n.own = &ownDisk{epoch: 1}
	n.server = &server{epoch: 1, core: replica.NewOwner(n.own.at[:], replica.FirstNumber(1), replica.Record{})}
}

// place says who should keep copies besides those who do.
func (b *nimbus) place(w *world, c config) (learners [shards][]replica.Peer) {
	var candidates []replica.Candidate
	for _, n := range live(w.nodes) {
		candidates = append(candidates, replica.Candidate{Peer: peer(n.id)})
	}
	kept := make([][]replica.Peer, shards)
	for i := range shards {
		kept[i] = slices.Concat(c.copies[i], c.joining[i])
	}
	for i, peers := range replica.Place("task", shards, b.wanted, peer(c.owner), candidates, kept) {
		for _, p := range peers {
			if !slices.Contains(kept[i], p) {
				learners[i] = append(learners[i], p)
			}
		}
	}
	return learners
}

// report notes that a learner of an owner is in step.
func (b *nimbus) report(w *world, owner, shard int, p replica.Peer) {
	c := b.current()
	if c.owner != owner || !slices.Contains(c.learners[shard], p) {
		return
	}
	c.joining[shard] = append(slices.Clone(c.joining[shard]), p)
	c.learners[shard] = slices.DeleteFunc(slices.Clone(c.learners[shard]), func(x replica.Peer) bool { return x == p })
	b.write(w, c, "report")
}

// open notes that an owner has the state. False: there is a newer one.
func (b *nimbus) open(epoch uint64) bool {
	c := &b.history[len(b.history)-1]
	if c.epoch != epoch {
		return false
	}
	c.opened = true
	return true
}

func (b *nimbus) write(w *world, c config, why string) {
	c.epoch = b.current().epoch + 1
	b.history = append(b.history, c)
	w.tell("nimbus, %s: epoch %d owner %d copies %v joining %v learners %v", why, c.epoch, c.owner, c.copies, c.joining, c.learners)
}

// look is one pass of Nimbus: promote, drop the dead, move the owner.
func (b *nimbus) look(w *world) {
	if b.down {
		return
	}
	c := b.current()
	owner := w.nodes[c.owner]
	alive := func(p replica.Peer) bool { return w.node(p).up }
	switch {
	case !owner.up && (owner.gone || w.rng.IntN(3) == 0):
		b.succeed(w, c)
	case w.rng.IntN(12) == 0 && owner.up:
		b.succeed(w, c) // Nimbus is wrong, or moves the task: the old owner runs on until it learns of it
	default:
		next := c
		changed := false
		for i := range shards {
			keep := func(ps []replica.Peer) []replica.Peer {
				return slices.DeleteFunc(slices.Clone(ps), func(p replica.Peer) bool { return !alive(p) })
			}
			next.copies[i] = slices.Concat(keep(c.copies[i]), keep(c.joining[i]))
			next.joining[i] = nil
			changed = changed || !slices.Equal(next.copies[i], c.copies[i]) || len(c.joining[i]) > 0
		}
		next.learners = b.place(w, next)
		for i := range shards {
			changed = changed || !slices.Equal(next.learners[i], c.learners[i])
		}
		// A dead copy is taken out only while the owner lives, else the copy's disk may be needed.
		if changed && owner.up && c.opened {
			b.write(w, next, "repair")
		}
	}
}

// succeed names a new owner, if there is a living copy of every shard. An owner that never had the state leaves its own old copies as sources.
func (b *nimbus) succeed(w *world, c config) {
	next := c
	next.opened = false
	for i := range shards {
		sources := slices.Clone(c.copies[i])
		if !c.opened && slices.Contains(c.sources[i], peer(c.owner)) {
			sources = append(sources, peer(c.owner))
		}
		next.sources[i] = sources
		up := slices.DeleteFunc(slices.Clone(sources), func(p replica.Peer) bool { return !w.node(p).up })
		if len(up) == 0 {
			return
		}
	}
	candidates := slices.DeleteFunc(live(w.nodes), func(n *node) bool { return n.id == c.owner })
	if len(candidates) == 0 {
		return
	}
	next.owner = candidates[w.rng.IntN(len(candidates))].id
	for i := range shards {
		next.joining[i] = nil
		next.copies[i] = slices.DeleteFunc(slices.Clone(next.sources[i]), func(p replica.Peer) bool { return p == peer(next.owner) || !w.node(p).up })
	}
	next.learners = b.place(w, next)
	b.write(w, next, "succession")
}
