// SPDX-License-Identifier: Apache-2.0

// Package cluster is the one door to Storm's cluster state: every znode path and payload that Nimbus, Supervisor and
// the workers share, as typed calls over the ZooKeeper protocol.
//
// State holds one session. A value that is absent is nil with no error; removing what is not there succeeds. Payloads
// are gzip over a Thrift binary struct, as the Java workers write and expect them. Several writes that belong together
// go through a Batch, which is one atomic multi and so one fsync of the server.
//
// The package decides nothing and caches nothing: it stands for Storm's StormClusterStateImpl and is used by nimbus and
// supervisor. It does not care whether the server is gust's embedded one or an Apache ZooKeeper ensemble.
package cluster
