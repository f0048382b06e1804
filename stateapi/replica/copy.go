// SPDX-License-Identifier: Apache-2.0

// This file has the rules of a copy: which records of a shard it takes, and from whom.

package replica

// MaxShards bounds the shards of a task, so that the shards of a record fit one word.
const MaxShards = 64

// Peer names a machine by its supervisor's id.
type Peer string

// Kind says what a record does.
type Kind uint8

// The kinds of records.
const (
	Prepare  Kind = iota + 1 // the batch is kept aside
	Commit                   // what was prepared becomes part of the state
	Rollback                 // what was prepared is dropped
	Write                    // a Prepare that counts as committed as soon as all its shards have it
)

// Record is a change of one task's state, without its batch.
type Record struct {
	Number   uint64 // counts the records of the task, from 1; never given twice
	Kind     Kind
	TxID     int64  // Storm's; no meaning for a Write
	Shards   uint64 // bit i: shard i has a part of it
	Prepares uint64 // Commit, Rollback: the number of the Prepare that is meant
}

// Touches says whether shard has a part of the record.
func (r Record) Touches(shard int) bool { return r.Shards>>shard&1 == 1 }

// Position is how far a shard has come. The zero value is a shard without a record.
type Position struct {
	Last        uint64 // the newest record's number
	Committed   uint64 // the number of the Prepare or Write that was committed last
	CommittedTx int64  // the txid committed last; Storm commits it again after failures
	Pending     Record // Prepare or Write that is neither committed nor rolled back; Number 0: none
}

// Copy is what a copy knows of one shard besides the keys. All of it is on disk before an answer leaves.
type Copy struct {
	Epoch    uint64 // the newest seen
	Complete bool   // the keys are here
	Position
}

// Verdict is a copy's answer to a record.
type Verdict uint8

// The verdicts.
const (
	Taken   Verdict = iota + 1 // on disk, or was already
	Refused                    // a newer epoch was seen
	Gap                        // an earlier record is missing: the owner must bring the copy in step
)

// Effect is what the caller does with the batches of a shard, in this order, in one step with the new Copy.
type Effect struct {
	CommitPending bool // apply what is pending
	DropPending   bool // forget what is pending
	Keep          bool // the record's own part becomes the pending one
}

// Append judges a record of an owner; previous is the number of the record that this shard should have got before.
func (c *Copy) Append(epoch uint64, r Record, previous uint64) (Verdict, Effect) {
	if epoch < c.Epoch {
		return Refused, Effect{}
	}
	c.Epoch = epoch
	switch {
	case !c.Complete, previous > c.Last:
		return Gap, Effect{}
	case r.Number <= c.Last:
		return Taken, Effect{}
	}
	return Taken, c.Advance(r)
}

// Advance moves a position on by a record; owners, who keep positions too, use it as copies do.
func (p *Position) Advance(r Record) Effect {
	var e Effect
	// An owner goes on only after a Write was everywhere, so its next record says that the Write is committed.
	if p.Pending.Kind == Write {
		e.CommitPending = true
		p.settle()
	}
	switch r.Kind {
	case Prepare, Write:
		e.DropPending = p.Pending.Number != 0
		e.Keep = true
		p.Pending = r
	case Commit:
		if p.Pending.Number != 0 && p.Pending.Number == r.Prepares {
			e.CommitPending = true
			p.settle()
		}
	case Rollback:
		e.DropPending = p.Pending.Number != 0
		p.Pending = Record{}
	}
	p.Last = r.Number
	return e
}

// settle makes the pending record the committed one.
func (p *Position) settle() {
	p.Committed = p.Pending.Number
	if p.Pending.Kind == Prepare {
		p.CommittedTx = p.Pending.TxID
	}
	p.Pending = Record{}
}

// Seal lets nobody with an older epoch write any more. It answers false when a newer one was seen.
func (c *Copy) Seal(epoch uint64) bool {
	if epoch < c.Epoch {
		return false
	}
	c.Epoch = epoch
	return true
}

// Sync brings a copy in step with an owner whose shard was at position p before the record under way (current, 0: none), if that takes no
// keys from elsewhere. Gap asks for an image.
func (c *Copy) Sync(epoch uint64, p Position, current uint64) (Verdict, Effect) {
	if epoch < c.Epoch {
		return Refused, Effect{}
	}
	c.Epoch = epoch
	if !c.Complete {
		return Gap, Effect{}
	}
	if current != 0 && c.Last == current {
		return Taken, Effect{} // it took the record in step, and numbers are never given twice
	}
	var e Effect
	switch {
	case c.Committed == p.Committed && c.Pending.Number == p.Pending.Number:
	case c.Committed == p.Committed && p.Pending.Number == 0:
		e.DropPending = true
	case c.Pending.Number != 0 && c.Pending.Number == p.Committed && p.Pending.Number == 0:
		e.CommitPending = true
	default:
		return Gap, Effect{}
	}
	c.Position = p
	return Taken, e
}

// Install replaces what the copy has by an image at position p, unless a newer epoch was seen.
func (c *Copy) Install(epoch uint64, p Position) bool {
	if epoch < c.Epoch {
		return false
	}
	*c = Copy{Epoch: epoch, Complete: true, Position: p}
	return true
}
