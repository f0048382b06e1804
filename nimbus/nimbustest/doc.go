// SPDX-License-Identifier: Apache-2.0

// Package nimbustest runs a whole Nimbus in a test's process: an embedded cluster state, the Nimbus, and supervisors that take
// assignments and beat for their workers without running any. Everything listens on loopback, on ports that the system chooses.
//
// It holds no assertions about Nimbus; tests of nimbus, of the command line and of supervisors use it. It stands for the server half
// of Storm's LocalCluster.
package nimbustest
