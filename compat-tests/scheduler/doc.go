// SPDX-License-Identifier: Apache-2.0

// Package scheduler compares nimbus/scheduler with Storm's DefaultScheduler:
// the same generated clusters go to both, and the placements must be equal.
package scheduler
