// SPDX-License-Identifier: Apache-2.0

// Package segment is the inside of one segment of keyed state: up to 8 Ki entries in one piece of bytes, in one of three kinds
// (fixed, packed, records) that ../DESIGN.md lays out byte by byte. It finds, puts, deletes and walks entries, chooses kind and size, rebuilds
// and checks. It is not concerned with where segments lie, with locks, sequence numbers or long values: its user is stateapi/table. It
// stands for the inside of Storm's InMemoryKeyValueState's HashMap.
//
// The stores of Put and Delete come in an order that keeps every other entry whole if the process dies between any two of them; where bytes must
// shift, the caller is told before, so that it can save them (Undo).
package segment
