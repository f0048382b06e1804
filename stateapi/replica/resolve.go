// SPDX-License-Identifier: Apache-2.0

// This file says what a successor makes of the copies that it finds, one of each shard.

package replica

import "fmt"

// Step is what a successor does with a shard's pending part.
type Step uint8

// The steps.
const (
	Leave Step = iota // there is none, or it stays prepared
	Apply
	Forget
)

// Decision is what a task's state is after the loss of its owner.
type Decision struct {
	At       []Position // by shard, after the steps
	Steps    []Step     // by shard
	Prepared Record     // what the bolt is handed at open; Number 0: nothing
}

// Resolve looks at one sealed, complete copy of every shard. A pending record that some shard has committed is committed in all. A Write that
// all its shards have, or after which the owner went on, is committed. A Prepare that all its shards have stays prepared. What only some
// have was never answered for, or was replaced, and is dropped.
func Resolve(found []Copy) (Decision, error) {
	d := Decision{At: make([]Position, len(found)), Steps: make([]Step, len(found))}
	var newest uint64
	committed := map[uint64]bool{}
	for i, c := range found {
		if !c.Complete {
			return Decision{}, fmt.Errorf("shard %d: the copy is not complete", i)
		}
		newest = max(newest, c.Last)
		committed[c.Committed] = true
	}
	for i, c := range found {
		p := c.Pending
		d.At[i] = c.Position
		switch {
		case p.Number == 0:
		case committed[p.Number], p.Kind == Write && (newest > p.Number || everywhere(found, p)):
			d.Steps[i] = Apply
			d.At[i].settle()
		case p.Kind == Prepare && newest == p.Number && everywhere(found, p):
			d.Prepared = p
		default:
			d.Steps[i] = Forget
			d.At[i].Pending = Record{}
		}
	}
	return d, nil
}

// everywhere says whether every shard of a record has it pending.
func everywhere(found []Copy, r Record) bool {
	for i, c := range found {
		if r.Touches(i) && c.Pending.Number != r.Number {
			return false
		}
	}
	return true
}
