// SPDX-License-Identifier: Apache-2.0

// Package javaobject reads what Java's object serialization wrote, without Java: class descriptors, fields and the blocks that
// a class writes itself. It makes nothing of them but values; no class is needed. It is for objects of a known few classes
// in bytes that nobody vouches for: size, depth and what an announced length may take are bounded.
//
// It does not read objects that write themselves in a form of their own without blocks (Externalizable before Java 1.2),
// exceptions inside a stream and resets; those are errors.
package javaobject
