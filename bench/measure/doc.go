// SPDX-License-Identifier: Apache-2.0

// Package measure holds the rows of the bench: what is done on each side, what
// is timed, and what is to be reached. docs/bench.md tells the same for users.
//
// The main types are Group (rows that share clusters) and Run (one call of the
// bench). Both sides are measured in turns, stock first, so that a change of
// the machine's mood meets both.
package measure
