// SPDX-License-Identifier: Apache-2.0

// Package component is the SDK for spouts and bolts in Go. A component is written once. As a program of its own it speaks
// the multilang protocol to any Storm; linked into a topology's binary it runs inside gust's Go worker, where tuples pass
// between tasks as Go values.
//
// A component implements Spout or Bolt and whichever of Opener, Preparer, Acker, Activator and Closer it needs. All methods of one
// instance are called by one goroutine at a time; outputs are used from within them only.
package component
