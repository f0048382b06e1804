// SPDX-License-Identifier: Apache-2.0

// This file keeps the order of reads and writes where the processor keeps it.

package table

import (
	"sync/atomic"
	"unsafe"
)

// fence keeps reads before it from being done after it. This processor keeps their order.
func fence() {}

// store writes a word that other processes read, after all that was written before it and before all that is written after. This processor keeps
// the order of writes, and a locked instruction would have the next operation's cache misses wait.
//
//go:noinline
func store(word *atomic.Uint64, value uint64) { *(*uint64)(unsafe.Pointer(word)) = value }
