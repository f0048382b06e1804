// SPDX-License-Identifier: Apache-2.0

// Package rpc carries Thrift calls the way Storm's daemons and clients do:
// frames with a four-byte length, each holding one TBinaryProtocol message.
//
// Server runs a generated processor behind one TCP or TLS listener. It stands
// for Storm's SimpleTransportPlugin with Thrift's THsHaServer below it: frames
// are bounded in both directions, calls share a bounded number of places,
// unknown methods and faults of a handler become the TApplicationException
// that Storm's own server would send, and no peer can end the daemon, hold a
// place for ever, or make it take memory for bytes that it has not sent.
//
// Client is one connection to such a server and implements thrift.TClient, so
// it fits every generated client constructor. It stands for the transport half
// of Storm's ThriftClient; finding the leader and trying again are the
// caller's business.
//
// Encode and Config.Encoded let a handler answer with bytes that it has made
// before. Peer tells a handler who calls.
//
// The package knows no Thrift service, does no SASL and decides no access: it
// is used by cmd/gust, nimbus, supervisor and their tests, and what they serve
// comes in as a thrift.TProcessor.
package rpc
