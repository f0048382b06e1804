// SPDX-License-Identifier: Apache-2.0

// Package program is what the main function of a topology's own binary calls. The binary describes its topology to whoever submits
// it, is one of its components as a child of any Storm's worker, runs all of it in one process, or is a Go worker with the
// components linked.
//
// It stands for what the storm jar command and TopologyBuilder's main classes do in Java. Topologies are declared with package
// component; "gust submit" reads what --describe prints.
package program
