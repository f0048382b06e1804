// SPDX-License-Identifier: Apache-2.0

// Package compat holds the comparison of gust with Apache Storm: each scenario
// runs a Java topology (or a series of calls that must be refused) on a cluster
// and makes a record of what came of it; the records of both must be equal.
//
// By default gust is compared with what stock answered when it was recorded
// (transcripts/VERSION). GUST_COMPAT=record asks stock and writes transcripts;
// GUST_COMPAT=live runs both side by side. The script `run` knows these. Known
// differences are tests of their own in package diffs.
//
// Everything here is test code: scenarios_test.go is the list of scenarios,
// outcomes_test.go reads what topologies wrote, record_test.go makes and
// compares records, compat_test.go runs it all.
package compat
