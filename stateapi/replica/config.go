// SPDX-License-Identifier: Apache-2.0

// This file has what Nimbus decides: a task's epoch, owner and copies, and how they change.

package replica

import "slices"

// Config is Nimbus's word on one task's state. Every change has a new epoch. Lists are by shard.
type Config struct {
	Epoch    uint64   `json:"epoch"`
	Owner    Peer     `json:"owner"`
	Opened   bool     `json:"opened"`             // the owner has the state: it says so before it answers for anything
	Sources  [][]Peer `json:"sources,omitempty"`  // where an owner that begins finds the state; empty: it begins with nothing
	Copies   [][]Peer `json:"copies,omitempty"`   // what every answer waits for
	Joining  [][]Peer `json:"joining,omitempty"`  // learners that the owner reported to be in step: waited for too
	Learners [][]Peer `json:"learners,omitempty"` // sent everything, not waited for
}

// Site is what Nimbus knows when it decides.
type Site struct {
	Task   string      // the task's name, for Place
	Shards int         // of the task
	Copies int         // wanted
	Live   []Candidate // the peers that it takes to be alive
}

func (s Site) alive(p Peer) bool {
	return slices.ContainsFunc(s.Live, func(c Candidate) bool { return c.Peer == p })
}

// First is the word on a task that never had a state: its owner begins with nothing.
func First(s Site, owner Peer) Config {
	c := Config{Epoch: 1, Owner: owner, Opened: true}.sized(s.Shards)
	return c.withLearners(s)
}

// sized gives every list its length, in copies that nobody shares.
func (c Config) sized(shards int) Config {
	for _, lists := range []*[][]Peer{&c.Sources, &c.Copies, &c.Joining, &c.Learners} {
		next := make([][]Peer, shards)
		for i := range min(shards, len(*lists)) {
			next[i] = slices.Clone((*lists)[i])
		}
		*lists = next
	}
	return c
}

// withLearners names those who should keep a copy and do not yet.
func (c Config) withLearners(s Site) Config {
	kept := make([][]Peer, s.Shards)
	for i := range kept {
		kept[i] = slices.Concat(c.Copies[i], c.Joining[i], c.Learners[i])
	}
	for i, peers := range Place(s.Task, s.Shards, s.Copies, c.Owner, s.Live, kept) {
		c.Learners[i] = slices.DeleteFunc(peers, func(p Peer) bool {
			return slices.Contains(c.Copies[i], p) || slices.Contains(c.Joining[i], p)
		})
	}
	return c
}

// Reported notes that learners of an owner are in step, by shard. False: it is not the owner, or nothing changes.
func (c Config) Reported(owner Peer, ready map[int][]Peer) (Config, bool) {
	if c.Owner != owner {
		return c, false
	}
	next, changed := c.sized(len(c.Copies)), false
	for shard, peers := range ready {
		for _, p := range peers {
			if shard < len(next.Learners) && slices.Contains(next.Learners[shard], p) {
				next.Joining[shard] = append(next.Joining[shard], p)
				next.Learners[shard] = slices.DeleteFunc(next.Learners[shard], func(x Peer) bool { return x == p })
				changed = true
			}
		}
	}
	next.Epoch++
	return next, changed
}

// HasState notes that the owner of an epoch has the state. False: the epoch has passed.
func (c Config) HasState(epoch uint64) (Config, bool) {
	if c.Epoch != epoch {
		return c, false
	}
	c.Opened = true
	return c, true
}

// Repair makes copies of what has joined, takes dead ones out and names others in their place. It must not be asked while the owner is dead or
// has not got the state: then the dead ones' disks may be needed. False: nothing changes.
func (c Config) Repair(s Site) (Config, bool) {
	if !c.Opened {
		return c, false
	}
	next, changed := c.sized(s.Shards), false
	dead := func(p Peer) bool { return !s.alive(p) }
	for i := range next.Copies {
		next.Copies[i] = slices.DeleteFunc(slices.Concat(next.Copies[i], next.Joining[i]), dead)
		next.Learners[i] = slices.DeleteFunc(next.Learners[i], dead)
		next.Joining[i] = nil
	}
	next = next.withLearners(s)
	for i := range next.Copies {
		changed = changed || i >= len(c.Copies) || !slices.Equal(next.Copies[i], c.Copies[i]) || !slices.Equal(next.Learners[i], c.Learners[i])
	}
	next.Epoch++
	return next, changed
}

// Succeed names another owner. False: of some shard no living peer has all that was answered for, so the task has to wait for one to come
// back. An owner that never had the state leaves its own old copies among the sources.
func (c Config) Succeed(s Site, owner Peer) (Config, bool) {
	next := c.sized(s.Shards)
	next.Epoch, next.Owner, next.Opened = c.Epoch+1, owner, false
	for i := range next.Copies {
		sources := next.Copies[i]
		if !c.Opened && slices.Contains(next.Sources[i], c.Owner) {
			sources = append(slices.Clone(sources), c.Owner)
		}
		next.Sources[i] = sources
		next.Copies[i] = slices.DeleteFunc(slices.Clone(sources), func(p Peer) bool { return !s.alive(p) })
		if len(next.Copies[i]) == 0 {
			return c, false
		}
		next.Copies[i] = slices.DeleteFunc(next.Copies[i], func(p Peer) bool { return p == owner })
		next.Joining[i], next.Learners[i] = nil, nil
	}
	return next.withLearners(s), true
}
