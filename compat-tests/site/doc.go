// SPDX-License-Identifier: Apache-2.0

// Package site runs gust's daemons for tests that do harm to them: the cluster
// state, Nimbus and any number of supervisors, each a process of its own with a
// storm.yaml, a storm.local.dir and a log of its own, or all in one process
// (gust dev).
//
// The main types are Site (settings, folders, ports), Daemon (one process: start,
// kill -9, log, memory), Worker (a JVM that a supervisor started) and Steady (a
// topology that counts, and what is known about its counts). Package harness is
// its neighbour: it puts gust and stock Storm behind one interface; this package
// knows only gust and can address each of its parts. The packages faults and
// soak use it. It judges nothing.
package site
