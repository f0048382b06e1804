// SPDX-License-Identifier: Apache-2.0

// Package state tests the Java plug-in for keyed state: its reader and its client against ours, its answers against those of Storm's own states, and bolts
// that use it in stock workers.
package state
