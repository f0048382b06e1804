// SPDX-License-Identifier: Apache-2.0

// Package enginetest holds Java objects for tests: how they are recorded, and what they look like to the engine's rules.
package enginetest
