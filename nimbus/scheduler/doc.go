// SPDX-License-Identifier: Apache-2.0

// Package scheduler decides which slot runs which executor. It is a pure
// function: [Schedule] takes everything it needs in an [Input] (supervisors,
// topologies with their current placement, the blacklist of the pass before,
// the time) and answers an [Output] with one [Outcome] a topology and the next
// blacklist. It reads no clock, opens nothing, logs nothing, starts nothing, so
// a thousand supervisors are scheduled in a unit test.
//
// It is not the place that decides who is alive (nimbus does, from heartbeats),
// that writes assignments, or that knows components and resources: the even
// scheduler looks at neither. Resource aware, isolation and multitenant
// scheduling are not here; [ParseKind] refuses their names.
//
// # What it stands for
//
// Storm's DefaultScheduler on top of EvenScheduler, Cluster, and the part of
// Nimbus that hides slots whose executors died; BlacklistScheduler for the
// blacklist, on purpose different. compat-tests/scheduler feeds generated
// clusters to Storm's classes and to this package and wants the same placement.
//
// # One pass
//
//  1. Read (pass.go). Executors that are wanted, placed and alive are kept. A
//     slot with a wanted executor that is not alive is hidden from this pass; the
//     next pass may use it again. Topologies marked Rebalance keep nothing.
//  2. Blacklist (blacklist.go). Supervisors that vanished, or have newly dead
//     slots, get a fault; three faults within 300 s take a supervisor out for
//     1800 s. When slots would be lacking, the one that is out longest comes back.
//  3. Place (even.go), in the order of Input.Topologies. A topology needs work
//     when it uses fewer slots than it may or has executors without a slot. Its
//     slots that hold a number of executors which an even split would not give
//     them are freed, then everything that needs work gets the next slots:
//     one port of the emptiest node, of the second emptiest, and so on, executor i
//     on slot i mod n.
//  4. Tell (outcome.go). Each topology says what is placed and why not the rest.
//
// # Invariants (scheduler_test.go checks them with generated clusters)
//
//   - A slot serves at most one topology, and only a supervisor's own ports are given.
//   - A slot has executors of one engine (engines.go): where a topology has several,
//     its workers are shared among them, and if they are fewer, it gets one each.
//   - An executor has at most one slot.
//   - The same input gives the same output.
//   - A live executor stays unless its topology is rebalanced or its slot is freed
//     in step 3; a second pass over the first one's output changes nothing.
//
// # Differences from Storm, and why
//
//   - The blacklist is per supervisor. Storm's blacklists the host, so one bad
//     supervisor takes its healthy neighbours with it, and slots stay unused.
//   - A supervisor that vanishes counts once, not once a pass: passes here are
//     driven by events, not by a ten-second tick. All vanishing together count nothing.
//   - Topologies are served in the order given (nimbus gives the oldest first).
//     Storm takes the order of a hash map, which changes with the Java release.
//   - A topology that asks for no worker but holds one is left alone; Storm's
//     pass dies of it.
//   - Where several slots hold the same number of executors and not all can
//     stay, Storm keeps those that come first in a hash map; hashorder.go follows it,
//     but for collisions inside one bucket (seen in 3 of 30,000 generated clusters).
package scheduler
