// SPDX-License-Identifier: Apache-2.0

// Package groupingtest has questions about groupings that Storm's own classes and gust's both answer: the comparison in compat-tests asks
// both, and the unit test of package grouping replays what Storm answered. It is for tests only.
package groupingtest
