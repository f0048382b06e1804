// SPDX-License-Identifier: Apache-2.0

// Package stormhome tests scripts/storm-home, with a stand-in for Maven that
// copies nothing from anywhere. That real Storm versions are laid out so that
// they run is what every other test here shows.
package stormhome
