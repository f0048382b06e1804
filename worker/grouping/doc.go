// SPDX-License-Identifier: Apache-2.0

// Package grouping decides which tasks of a component get a tuple. It stands for Storm's GrouperFactory with its groupers,
// LoadAwareShuffleGrouping, ShuffleGrouping and PartialKeyGrouping, and makes the same choices as they: a Java worker and a Go worker of
// one topology send equal keys to the same task.
//
// A Grouping belongs to one executor, stream and target component, as in Storm, and is used by the executor's goroutine alone. The package
// knows no queue, clock or cluster: load and places come in as values.
//
// It differs from Java where Java's choice is no choice: a byte array inside a list has the hash of its bytes, not of its address.
package grouping
