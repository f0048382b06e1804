// SPDX-License-Identifier: Apache-2.0

// This file has the rules of an owner: to whom a record goes and when it is answered for.

package replica

import (
	"cmp"
	"slices"
)

// numberBits are left for counting below the epoch that an owner began with; see FirstNumber.
const numberBits = 40

// FirstNumber is what the numbers of an owner go on after: a number holds the highest epoch of the owner's beginning, so that no two owners give the same.
func FirstNumber(epoch uint64) uint64 { return epoch << numberBits }

// Send is a record's part on its way to one copy of one shard.
type Send struct {
	To       Peer
	Shard    int
	Epoch    uint64
	Record   Record
	Previous uint64 // the number of the record that the shard got before this one
}

// Sync asks a peer to bring a shard in step: first by Copy.Sync, and by an image where that answers Gap.
type Sync struct {
	To       Peer
	Shard    int
	Epoch    uint64
	Position Position
	Current  uint64 // the record under way that touches the shard, 0: none
}

// Owner is what the owner of a task's state knows of its shards and their copies. It has at most one record under way. The caller has
// a record on its own disk before it sends what Propose returned.
type Owner struct {
	shards  []ownedShard
	number  uint64
	current Record // the record under way; Number 0: none
	inStep  bool   // every copy of every shard was in step once
	fenced  bool
}

type ownedShard struct {
	epoch   uint64
	at      Position // before the record under way
	members []*member
}

// member is a peer of a shard. A learner is sent everything and not waited for.
type member struct {
	peer     Peer
	learner  bool
	reported bool
	synced   bool
	taken    uint64 // the newest record that it has
}

// NewOwner makes the owner of a task whose shards are at the given positions. Its records are numbered from number + 1 on; current is the record
// that an earlier process of the same owner had on its disk and was not done with.
func NewOwner(at []Position, number uint64, current Record) *Owner {
	o := &Owner{shards: make([]ownedShard, len(at)), number: max(number, current.Number), current: current}
	for i := range at {
		o.shards[i].at = at[i]
	}
	return o
}

// Configure tells the owner a shard's epoch and peers as Nimbus named them; an epoch that is not newer is ignored. joining are learners that were
// reported to be in step. New peers are to be brought in step: see Syncs.
func (o *Owner) Configure(shard int, epoch uint64, copies, joining, learners []Peer) {
	s := &o.shards[shard]
	if epoch <= s.epoch {
		return
	}
	s.epoch = epoch
	old := s.members
	s.members = nil
	add := func(names []Peer, learner, reported bool) {
		for _, name := range names {
			m := &member{peer: name}
			if i := slices.IndexFunc(old, func(m *member) bool { return m.peer == name }); i >= 0 {
				m = old[i]
			}
			// Who is waited for stays so: it may have been reported a moment ago.
			m.learner, m.reported = learner && !m.reported, m.reported || reported
			s.members = append(s.members, m)
		}
	}
	add(copies, false, false)
	add(joining, false, true)
	add(learners, true, false)
}

// Syncs lists the shards of a peer, or with an empty name of all, that are to be brought in step.
func (o *Owner) Syncs(to Peer) []Sync {
	var out []Sync
	o.each(to, func(shard int, s *ownedShard, m *member) {
		if !m.synced {
			y := Sync{To: m.peer, Shard: shard, Epoch: s.epoch, Position: s.at}
			if o.current.Touches(shard) {
				y.Current = o.current.Number
			}
			out = append(out, y)
		}
	})
	return out
}

// Synced takes note that a peer's shard is in step with position at, which a Sync or an image had brought along.
func (o *Owner) Synced(from Peer, shard int, epoch uint64, at Position) {
	s := &o.shards[shard]
	if epoch != s.epoch || at.Last != s.at.Last {
		return // the shard has moved on meanwhile: the next Sync will do
	}
	o.each(from, func(i int, _ *ownedShard, m *member) {
		if i == shard {
			m.synced, m.taken = true, at.Last
		}
	})
}

// Lost takes note that the connection to a peer is gone.
func (o *Owner) Lost(peer Peer) {
	o.each(peer, func(_ int, _ *ownedShard, m *member) { m.synced = false })
}

// Propose begins a record for the shards that its keys touch; there must be none under way. It is sent by Sends once it is on the owner's disk.
func (o *Owner) Propose(kind Kind, txid int64, shards, prepares uint64) Record {
	o.number++
	o.current = Record{Number: o.number, Kind: kind, TxID: txid, Shards: shards | 1, Prepares: prepares}
	return o.current
}

// Abandon forgets the record under way. Nothing of it may have been sent or be on the owner's disk.
func (o *Owner) Abandon() { o.current = Record{} }

// Sends lists the parts of the record under way that a peer, or with an empty name all, lacks; also to send it again after a Lost.
func (o *Owner) Sends(to Peer) []Send {
	var out []Send
	o.each(to, func(shard int, s *ownedShard, m *member) {
		if m.synced && o.current.Touches(shard) && m.taken < o.current.Number {
			out = append(out, Send{To: m.peer, Shard: shard, Epoch: s.epoch, Record: o.current, Previous: s.at.Last})
		}
	})
	return out
}

// Answered takes a copy's verdict on a record. A refusal fences the owner for good: a successor has begun.
func (o *Owner) Answered(from Peer, shard int, epoch, number uint64, v Verdict) {
	if v == Refused {
		o.fenced = o.fenced || epoch == o.shards[shard].epoch
		return
	}
	o.each(from, func(i int, s *ownedShard, m *member) {
		switch {
		case i != shard || epoch != s.epoch:
		case v == Gap:
			m.synced = false
		default:
			m.taken = max(m.taken, number)
		}
	})
}

// Done says whether the record under way is where it must be; never before Configure named every shard's copies. If so it becomes part of the shards' positions and is no longer under way.
func (o *Owner) Done() bool {
	unnamed := slices.ContainsFunc(o.shards, func(s ownedShard) bool { return s.epoch == 0 })
	if o.fenced || unnamed || o.current.Number == 0 || len(o.Waiting()) > 0 {
		return false
	}
	o.inStep = true
	for i := range o.shards {
		if !o.current.Touches(i) {
			continue
		}
		o.shards[i].at.Advance(o.current)
		for _, m := range o.shards[i].members { // learners that nobody waited for: the record is not sent to them any more
			m.synced = m.synced && m.taken >= o.current.Number
		}
	}
	o.current = Record{}
	return true
}

// Waiting names the peers that the record under way waits for, in order; before the first record also those that are not in step.
func (o *Owner) Waiting() []Peer {
	var names []Peer
	o.each("", func(shard int, _ *ownedShard, m *member) {
		lacks := o.current.Touches(shard) && m.taken < o.current.Number
		if !m.learner && (lacks || !o.inStep && !m.synced) {
			names = append(names, m.peer)
		}
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// Ready lists the learners that have everything, by shard. From now on they are waited for; the caller reports them to Nimbus.
func (o *Owner) Ready() map[int][]Peer {
	ready := map[int][]Peer{}
	o.each("", func(shard int, s *ownedShard, m *member) {
		want := s.at.Last
		if o.current.Touches(shard) {
			want = o.current.Number
		}
		if m.learner && m.synced && m.taken >= want {
			m.learner, m.reported = false, true
			ready[shard] = append(ready[shard], m.peer)
		}
	})
	return ready
}

// Fenced says whether a copy has refused this owner.
func (o *Owner) Fenced() bool { return o.fenced }

// Current is the record under way; its Number is 0 when there is none.
func (o *Owner) Current() Record { return o.current }

// Position is how far a shard has come, without the record under way.
func (o *Owner) Position(shard int) Position { return o.shards[shard].at }

func (o *Owner) each(peer Peer, do func(shard int, s *ownedShard, m *member)) {
	for i := range o.shards {
		s := &o.shards[i]
		for _, m := range s.members {
			if cmp.Or(peer, m.peer) == m.peer {
				do(i, s, m)
			}
		}
	}
}
