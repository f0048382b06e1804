// SPDX-License-Identifier: Apache-2.0

// Package client tests the command line: the classes behind Storm's own storm
// script against gust, compared with what the same commands print on stock
// Storm (testdata/VERSION.txt), and gust's own storm jar.
//
// It holds tests only. GUST_COMPAT=record asks stock and writes testdata,
// GUST_COMPAT=live asks both, else gust is compared with what was recorded.
package client
