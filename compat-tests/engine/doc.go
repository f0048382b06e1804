// SPDX-License-Identifier: Apache-2.0

// Package engine lets Java serialize components of many makes and looks at what topology/engine makes of the bytes and the classes.
package engine
