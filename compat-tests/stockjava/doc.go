// SPDX-License-Identifier: Apache-2.0

// Package stockjava asks Storm's own classes: it compiles a small Java driver
// against the jars of a stock Storm home, feeds it one question a line and
// gives back one answer a line. Tests of pure parts (scheduler, topology)
// use it; it starts no Storm daemon. It is for tests only.
package stockjava
