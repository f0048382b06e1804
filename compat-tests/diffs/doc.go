// SPDX-License-Identifier: Apache-2.0

// Package diffs lists the known differences between gust and Apache Storm,
// each numbered, in a file of its own, with a sentence for users. The
// comparison in package compat runs each as a test: both sides must answer
// exactly what stands here, so a difference that vanishes, or that changes,
// turns it red until the entry is removed or corrected.
//
// A Gap is a difference that gust does not want: an expected failure, which
// likewise turns red when it is fixed.
package diffs
