// SPDX-License-Identifier: Apache-2.0

// Command statetable measures gust's state table, or Go's map in its place, with one load and in a process of its own, and prints figures as lines
// of JSON. StateSizes.java beside it does the same with Java's HashMap and Storm's InMemoryKeyValueState.
package main
