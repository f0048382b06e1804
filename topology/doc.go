// SPDX-License-Identifier: Apache-2.0

// Package topology holds what can be said of a StormTopology by looking at it
// and its conf: is it valid, which components does the system add, which task
// ids and executors follow, what do its workers need. All of it is pure.
//
//   - [CheckName], [System], [CheckSize], [CheckHeap], [CheckRebalance]: is a submit or
//     rebalance acceptable; the errors are *storm.InvalidTopologyException with Storm's texts.
//   - [Normalize] writes each component's number of tasks into it, [NormalizeConf]
//     makes the conf that a topology is stored with.
//   - [System] adds acker, event logger, metrics consumers and the system bolt.
//   - [TasksOf] and [Executors]: which task belongs to which component, which
//     executor has which tasks. Workers compute task ids by themselves, so these
//     must be the same number for number.
//   - [RequestsOf] and [WorkerResources]: memory and CPU. A worker's heap comes from them.
//
// It is not a builder of topologies and knows nothing of running ones. It
// stands for Storm's StormCommon, parts of Thrift, ServerUtils and Nimbus, and
// NormalizedResourceRequest; compat-tests/topology asks those for the same
// topologies and compares. Nimbus and later the Go worker call it.
//
// What is read is never changed: functions that return a topology give a copy
// that shares the serialized objects and whatever they did not have to change.
package topology
