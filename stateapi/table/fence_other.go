// SPDX-License-Identifier: Apache-2.0

// This file keeps the order of reads and writes where the processor does not.

//go:build !amd64

package table

import "sync/atomic"

// fence keeps reads before it from being done after it: the release in Add holds back those before, the acquire in Load those behind.
func fence() {
	var n atomic.Uint32
	n.Add(1)
	n.Load()
}

// store writes a word that other processes read, after all that was written before it and before all that is written after: the acquire in Load, which
// comes after the store, holds back those behind.
func store(word *atomic.Uint64, value uint64) {
	word.Store(value)
	word.Load()
}
