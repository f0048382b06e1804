// SPDX-License-Identifier: Apache-2.0

// This file has Nimbus: it names epochs, owners and copies, sometimes wrongly informed, and every machine learns of it in its own time.

package sim

import "github.com/gust-stream/gust/stateapi/replica"

type nimbus struct {
	word        replica.Config
	wanted      int // copies
	down        bool
	successions int
}

func (b *nimbus) begin(w *world) {
	b.wanted = 1 + w.rng.IntN(2)
	b.word = replica.First(b.site(w), peer(0))
	n := w.nodes[0]
	n.own = &ownDisk{epoch: b.word.Epoch}
	n.server = &server{epoch: b.word.Epoch, core: replica.NewOwner(n.own.at[:], replica.FirstNumber(b.word.Epoch), replica.Record{})}
	w.read(n)
}

func (b *nimbus) site(w *world) replica.Site {
	s := replica.Site{Task: "task", Shards: shards, Copies: b.wanted}
	for _, n := range w.nodes {
		if n.up {
			s.Live = append(s.Live, replica.Candidate{Peer: peer(n.id)})
		}
	}
	return s
}

func (b *nimbus) set(w *world, why string, c replica.Config, ok bool) {
	if ok {
		b.word = c
		w.tell("nimbus, %s: epoch %d owner %s copies %v joining %v learners %v", why, c.Epoch, c.Owner, c.Copies, c.Joining, c.Learners)
	}
}

// report notes that a learner of an owner is in step.
func (b *nimbus) report(w *world, owner *node, ready map[int][]replica.Peer) {
	c, ok := b.word.Reported(peer(owner.id), ready)
	b.set(w, "report", c, ok)
}

// open notes that an owner has the state. False: there is a newer one.
func (b *nimbus) open(w *world, epoch uint64) bool {
	c, ok := b.word.HasState(epoch)
	b.set(w, "opened", c, ok)
	return ok
}

// look is one pass of Nimbus: promote, drop the dead, move the owner, now and then for nothing: then the old one runs on until it learns of it.
func (b *nimbus) look(w *world) {
	owner := w.node(b.word.Owner)
	switch {
	case b.down:
	case !owner.up && (owner.gone || w.rng.IntN(3) == 0), owner.up && w.rng.IntN(12) == 0:
		next := w.nodes[w.rng.IntN(len(w.nodes))]
		if !next.up || next == owner {
			return
		}
		c, ok := b.word.Succeed(b.site(w), peer(next.id))
		b.set(w, "succession", c, ok)
		if ok {
			b.successions++
		}
	case owner.up:
		c, ok := b.word.Repair(b.site(w))
		b.set(w, "repair", c, ok)
	}
}
