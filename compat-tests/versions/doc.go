// SPDX-License-Identifier: Apache-2.0

// Package versions tests gust beside what is not the reference: older releases
// of Storm as Storm home and as client, the folders of an Apache Storm
// distribution, other JDKs, and stock's own daemons in the place of one of
// gust's, on one cluster and on one disk.
//
// It holds tests only. GUST_COMPAT=live runs all of them, else a
// representative cut runs; the doc comment of each test that is left out of
// the cut says so.
package versions
