// SPDX-License-Identifier: Apache-2.0

// Package thrift compares gust's Thrift code with Storm's own: every struct of
// thrift/storm with the Java class that it was made from, in both directions,
// and the server and client of thrift/rpc with those of Storm.
//
// It is tests only. The Java programs in java/ are compiled against the jars
// of a Storm home when the tests run.
package thrift
