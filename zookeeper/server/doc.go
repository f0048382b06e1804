// SPDX-License-Identifier: Apache-2.0

// Package server is the embedded cluster state: a single ZooKeeper server, as
// Java's client 3.9, Curator 5.9 and go-zookeeper/zk use one, in tens of
// megabytes. It listens, keeps sessions alive or expires them, and makes each
// change durable before it is answered.
//
// It is not an ensemble: no peers, no reconfig, no observers, and no SASL. The state
// itself is zookeeper/tree, the wire zookeeper/jute; this package only adds what
// they must not have: sockets, clocks, goroutines and files.
//
// Main types: Config, Server (New, Listen, Run). A Server runs in-process in
// `gust dev` and alone as `gust zookeeper`; it stands for
// org.apache.zookeeper.server.ZooKeeperServerMain. DESIGN.md in the parent folder
// draws the threads and the files.
package server
