// SPDX-License-Identifier: Apache-2.0

// Package componenttest tests spouts and bolts without any Storm. NewBolt prepares a bolt, sends it tuples one by one, and says what each
// made it do; NewSpout does the same for a spout's commands. Emits are checked as a worker checks them.
//
// It runs a component on the test's own goroutine and knows no groupings, no time and no acker: what it emits goes nowhere.
package componenttest
