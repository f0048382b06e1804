// SPDX-License-Identifier: Apache-2.0

// Package multilang compares what a child is told at the handshake with what Storm's own TopologyContext tells it.
package multilang
