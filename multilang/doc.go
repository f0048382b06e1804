// SPDX-License-Identifier: Apache-2.0

// Package multilang runs spouts and bolts that are programs of their own: the parent's side of the multilang protocol. It stands
// for Storm's ShellBolt, ShellSpout and ShellProcess.
//
// A Bolt or Spout is driven by the goroutine of an executor. Its Run owns the child and everything that waits for it; what the child
// says arrives as Batches on a channel that the executor selects on, and Batch.Apply carries it out by calling the component.Runner on
// the executor's goroutine. DESIGN.md tells the flow.
//
// It is not the child's side, which is package component, and knows nothing of inboxes, acker or wire.
package multilang
