// SPDX-License-Identifier: Apache-2.0

// Package soak does to gust for minutes or hours, in random order, what package
// faults does once: it kills parts and all, stops them for a while, fills disks,
// submits and kills topologies, and counts the tuples of a topology that runs
// through all of it. After each round everything acknowledged must be there, and
// daemons must not grow. Another run does the same to Python components on Go
// workers: children, workers and gust are killed or stand still, each number has to be
// acked and to have arrived, and task ids have to be those of their emits.
//
// Its tests need the build tag soak and are run by `make soak`; -soak.for says how
// long each takes, -soak.seed repeats a run's order of faults.
package soak
