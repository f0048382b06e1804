// SPDX-License-Identifier: Apache-2.0

// Package replica holds the rules by which a task's keyed state lives on several machines: what an owner sends and what it waits for
// (Owner), what a copy accepts and refuses (Copy), what a successor makes of the copies that it finds (Resolve), and where copies go
// (Place). It decides and never acts: messages, clocks and disks are the caller's (stateapi/peer), or a simulator's (internal/sim).
//
// Nimbus alone names a shard's epoch, owner and copies; every change is a new epoch. An owner has a record on its own disk before it
// sends it, so copies never know more than it does. It sends one record at a time, to the copies of the shards that the record touches
// and always to those of shard 0, so that a record without keys leaves a trace too; it answers for a record when every copy of the
// epoch has it on disk, and for nothing before every copy was brought in step once (Sync). A copy that has seen a newer epoch refuses. So one
// complete copy of each shard is enough for a successor: it has all that was ever answered for, and once it is sealed
// with the successor's epoch the old owner can answer for nothing more.
//
// A new copy is first a learner: it is sent an image and then every record, and nobody waits for it. When it is in step it is
// waited for like a copy, then it is reported, and only then Nimbus names it a copy. What was reported stays waited for, also after
// the owner's process started anew, until Nimbus says otherwise.
package replica
