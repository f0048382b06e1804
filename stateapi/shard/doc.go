// SPDX-License-Identifier: Apache-2.0

// Package shard is the store of keyed state: namespaces with their sessions, prepared batches and commits, durable through one journal
// and snapshots, applied to tables in an arena that readers map. It is no server: who may do what over a socket is stateapi/server's.
// DESIGN.md tells the flow of a commit, what a restart does, and why images taken while writes go on are right. It stands for Redis in
// Storm's RedisKeyValueState.
package shard
