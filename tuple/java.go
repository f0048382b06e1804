// SPDX-License-Identifier: Apache-2.0

package tuple

// This file holds what Java has a class for and Go has no type of its own. A HashMap with keys other than strings is a
// map[any]any, a BigInteger a *big.Int.

// Char is Java's Character, a unit of UTF-16.
type Char uint16

// Set is Java's HashSet, in no particular order and without repeats.
type Set []any

// DataPoint is one metric of a task, as metrics consumers take it.
type DataPoint struct {
	Name       string
	Value      any
	Dimensions map[string]string
}

// TaskInfo says whose data points they are.
type TaskInfo struct {
	Host      string
	Port      int32
	Component string
	Task      int32
	// Time is in seconds since 1970, Interval in seconds.
	Time     int64
	Interval int32
}
