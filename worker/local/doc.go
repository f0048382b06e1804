// SPDX-License-Identifier: Apache-2.0

// Package local runs a whole topology in one process, with the semantics that it has on a cluster: the same system components, task ids,
// executors and ackers as Nimbus gives it. Storm's LocalCluster does that with all daemons; here is only what runs the tuples. `gust run` and tests
// of topologies call it.
package local
