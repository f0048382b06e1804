// SPDX-License-Identifier: Apache-2.0

// Package jute is the wire codec of the ZooKeeper client protocol: big-endian
// integers, length-prefixed strings and buffers, vectors, and the records that
// clients and servers exchange.
//
// It is pure: bytes in, values out. It opens no connection, knows no znode and
// decides nothing; zookeeper/server reads frames and zookeeper/tree gives them
// meaning. A length found in the input never makes it allocate: every length is
// held against the bytes that are really there first.
//
// Main types: Decoder (reads, remembers the first error), the Append functions
// (write), Op (request kinds), Code (ZooKeeper's error numbers), Stat, ACL, ID,
// Write (any request that changes a znode), ConnectRequest and ConnectResponse.
//
// It stands for org.apache.jute and the generated records of
// org.apache.zookeeper.proto and org.apache.zookeeper.data.
package jute
