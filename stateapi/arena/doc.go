// SPDX-License-Identifier: Apache-2.0

// Package arena is the file in shared memory in which keyed state lies: a sparse file of its full size on tmpfs, cut into slots, cells and runs as
// ../DESIGN.md lays out. One process writes it (Arena): it takes pieces and gives them back, page by page, so that the file takes no more memory than
// what lies in it. Others map it and read in place (View). What the pieces hold is stateapi/table's concern. It stands for the Java heap in which
// Storm's InMemoryKeyValueState keeps its HashMap.
//
// A writer that was killed leaves a file that the next one adopts: tables claim what they reach, and Sweep gives back the rest.
package arena
