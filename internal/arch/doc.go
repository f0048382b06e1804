// SPDX-License-Identifier: Apache-2.0

// Package arch keeps the shape of the project by tests: which package may import which (layers.txt), that pure packages
// stay pure, that every package has one doc, and that every file opens with its licence and stays short.
//
// It holds no code of its own and is imported by nobody.
package arch
