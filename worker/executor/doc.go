// SPDX-License-Identifier: Apache-2.0

// Package executor runs the executors of a worker: spouts, bolts and ackers, each on a goroutine of its own with the tasks that it owns. It stands for
// Storm's Executor, SpoutExecutor, BoltExecutor and Task.
//
// An [Engine] is made from a topology and the executors of this worker. It runs components that are linked into the binary by calling them, and
// all others as child processes through package multilang. What goes to other workers goes through a [transfer.Remote], what comes
// from them through [Engine.Deliver]. Package worker puts it under a supervisor, package worker/local runs a whole topology with one.
//
// It knows no cluster state, no socket and no assignment. DESIGN.md tells the flow and the invariants.
package executor
