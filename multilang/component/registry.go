// SPDX-License-Identifier: Apache-2.0

package component

// This file holds what workers ask a binary for.

// Registry makes instances of the components that are linked into this binary.
type Registry interface {
	// NewSpout makes the spout for one task, nil if no spout of that id is linked.
	NewSpout(id string) Spout
	// NewBolt makes the bolt for one task, nil if no bolt of that id is linked.
	NewBolt(id string) Bolt
}
