// SPDX-License-Identifier: Apache-2.0

// Package stateapi is the contract of keyed state: who a state belongs to, what a client can do with it, and how a batch of
// changes is written down. It holds types only; the engine is in its sub-packages and DESIGN.md tells the layout, the protocol
// and the rooms. It stands for Storm's KeyValueState and StateProvider. Clients in Go, Java and Python pass the
// same contract tests (statetest).
package stateapi
