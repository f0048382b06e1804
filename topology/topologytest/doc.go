// SPDX-License-Identifier: Apache-2.0

// Package topologytest makes topologies with confs, good and bad ones, in a
// JSON form that compat-tests/topology hands to Storm's own classes, and
// compares what package topology makes of them with Storm's answers. Answers are
// recorded in topology/testdata. It is for tests only and stands for no Storm class.
package topologytest
