// SPDX-License-Identifier: Apache-2.0

// Package tree is ZooKeeper's state as a pure value: znodes with data, ACLs and
// stats, sessions with their ephemeral znodes, watches, and the number of the last
// change (zxid). Requests go in, answers and watch events come out, and each
// change is also returned as bytes from which another tree can be brought to the
// same state.
//
// It has no clock, no file, no network and no goroutine: times come in as values
// and whoever holds a Tree must call it from one goroutine at a time. It does not
// expire sessions, keep anything durable, or know of connections beyond a Client
// handle; zookeeper/server does all that.
//
// Main types: Tree, Client (one connection as the tree sees it: session,
// identities, watches), Result (answer to one write), Event (a watch that fired).
//
// It stands for org.apache.zookeeper.server's DataTree, PrepRequestProcessor,
// FinalRequestProcessor and WatchManager.
package tree
