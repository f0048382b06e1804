// SPDX-License-Identifier: Apache-2.0

// This file keeps the order of reads where the processor does not.

//go:build !amd64

package table

import "sync/atomic"

// fence keeps reads before it from being done after it: the release in Add holds back those before, the acquire in Load those behind.
func fence() {
	var n atomic.Uint32
	n.Add(1)
	n.Load()
}
