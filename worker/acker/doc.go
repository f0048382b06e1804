// SPDX-License-Identifier: Apache-2.0

// Package acker knows which tuple trees are done. It stands for Storm's Acker bolt, message by message, and is pure: it sends nothing and asks
// no clock. A worker's acker executor feeds it and sends its answers to the spouts.
//
// A tree is a root id and the XOR of what was told about it: spouts tell the edges of the tuples that they sent, bolts those of a tuple that they
// acked and of all that they anchored on it. Each edge is told twice, so a tree with nothing under way comes to 0. Messages of a tree may arrive in
// any order.
package acker
