// SPDX-License-Identifier: Apache-2.0

// Command bench measures stock Storm and gust side by side: in one run, on one
// machine, with the same JAR and the same conf, in turns, and prints the
// ratios beside what is to be reached.
//
// It stands for no class of Storm. "make bench" calls it; docs/bench.md says
// how each row is measured.
package main
