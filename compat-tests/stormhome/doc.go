// SPDX-License-Identifier: Apache-2.0

// Package stormhome tests scripts/storm-home and scripts/setup, with stand-ins
// for Maven, which copies nothing from anywhere, and for the package manager,
// which installs nothing. That real Storm versions are laid out so that they
// run is what every other test here shows.
package stormhome
