// SPDX-License-Identifier: Apache-2.0

// Package link carries tuples between workers: a [Server] for the port of a worker, a [Client] for each other worker. They stand for the Server,
// Client and Context of Storm's org.apache.storm.messaging.netty, and for its BackPressureTracker's messages. Peers may be Java workers: then
// it is Storm's frames and Kryo. Between two Go workers the same connection changes to package native, see messaging/DESIGN.md.
//
// A client only sends tuples, and a server only sends what it can take and how busy it is. Neither Send nor Deliver waits for the other
// worker: whoever may wait asks Blocked first. So back-pressure cannot go round in a circle.
package link
