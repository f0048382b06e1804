// SPDX-License-Identifier: Apache-2.0

// Package container compares the command line and environment that gust gives a
// worker with what Storm's own BasicContainer would execute for the same conf,
// topology and assignment. It is not for import.
package container
