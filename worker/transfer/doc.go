// SPDX-License-Identifier: Apache-2.0

// Package transfer carries tuples between the executors of a worker, and hands over what goes to other workers. It stands for Storm's WorkerState,
// WorkerTransfer, JCQueue and BackPressureTracker.
//
// An executor has one [Inbox], and a [Router] to send with. A router collects tuples for each receiver and hands over a [Batch] when it is full or
// when its executor says Flush. So a tuple costs no lock.
//
// Inboxes have a mark instead of a bound: what is handed over is always taken. A router whose receiver is above its mark is Full, and its executor
// stops until there is Room. Which receivers count is worked out from the graph of components by [Gates], so that executors never wait for
// each other in a circle.
//
// Nothing here starts a goroutine or asks a clock.
package transfer
