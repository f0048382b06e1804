// SPDX-License-Identifier: Apache-2.0

// Package component is the SDK for spouts and bolts in Go. A component is written once. As a program of its own it speaks
// the multilang protocol to any Storm; linked into a topology's binary it runs inside gust's Go worker, where tuples pass
// between tasks as Go values.
//
// A component implements Spout or Bolt and whichever of Opener, Preparer, Acker, Activator, CredentialsListener and Closer it needs; Basic makes a bolt
// that acks by itself of a function. All methods of one instance are called by one goroutine at a time; outputs are used from within
// them only. MainBolt and MainSpout are the main function of a program that is one component, ServeBolt and ServeSpout are their parts
// that can be tested. NewTopology declares a whole topology, which package program makes a binary of. Package componenttest tests components without any Storm.
//
// What runs components is behind Runner and chosen through Registry. The package knows no worker; package multilang is the other end of
// its pipes. It stands for what storm.py and pystorm are for Python.
package component
