// SPDX-License-Identifier: Apache-2.0

// Package testbed holds what tests and benchmarks need to run gust and Storm as processes on this machine: the places of what
// make targets lay out ([Home], [Stock], [Find]), free ports ([Ports]), processes that end with the test ([Start], [Process]),
// the processes that a cluster left behind ([Of], [Sweep], [Workers]), and a wait for a condition ([Await]).
//
// It is no part of the product: compat-tests, bench and tests import it, nothing else does. It knows no cluster; what a daemon
// is started with is its callers' business. It stands for no Storm class.
package testbed
