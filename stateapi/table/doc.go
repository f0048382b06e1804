// SPDX-License-Identifier: Apache-2.0

// Package table is the keyed state of one namespace in an arena: an extendible directory of segments, as ../DESIGN.md lays out. Table is the writer's
// end: it applies batches, lets segments grow, split, merge and change their kind, and makes and takes in images of segments. Reader is the end of
// other processes, which read without a lock: what was read holds only if nothing that led there has changed. How bytes lie in one segment
// is stateapi/segment's concern, durability stateapi/shard's. It stands for Storm's InMemoryKeyValueState's HashMap.
package table
