// SPDX-License-Identifier: Apache-2.0

// This file keeps the order of reads where the processor keeps it.

package table

// fence keeps reads before it from being done after it. This processor keeps their order.
func fence() {}
