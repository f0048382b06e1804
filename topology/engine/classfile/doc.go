// SPDX-License-Identifier: Apache-2.0

// Package classfile reads of a compiled Java class what tells whether its code matters where it is loaded: names, super class,
// interfaces, methods, and the code of the static initializer. It is no verifier and runs nothing. Class files come out of
// JARs that users upload, so all lengths are checked.
package classfile
