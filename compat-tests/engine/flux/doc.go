// SPDX-License-Identifier: Apache-2.0

// Package flux lets Storm's Flux and topology/flux read the same files and compares the topologies.
package flux
