// SPDX-License-Identifier: Apache-2.0

// Package metrics counts what executors do. It stands for Storm's BoltExecutorStats and SpoutExecutorStats, which go to Nimbus with heartbeats
// and make the numbers of the UI, and for its TaskMetrics and the metrics that components register, which go to metrics consumers.
//
// An [Executor] has a [Task] for each task, and a task an [Output] for each stream that it emits on and an [Input] for each stream that it
// takes. The executor's goroutine counts on these, through counters that anybody may read. [Executor.Render] and [Task.Collect] read them
// and keep all windows and rates on the reader's side, so that counting is one addition.
//
// As in Storm, only a sample of events is counted, each for as many as it stands for: see [Sampler]. The package asks no clock.
package metrics
