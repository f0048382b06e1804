// SPDX-License-Identifier: Apache-2.0

// Package tuple is what flows between the tasks of a topology: values, where they come from, and the trees that they are
// tracked in. It stands for Storm's TupleImpl and MessageId. It knows no queue, no wire and no clock: workers, the multilang
// protocol and linked Go components share it.
//
// A value is nil, bool, int32, int64, float64, string, []byte, []any or map[string]any. An int32 is Java's Integer, as which Storm
// reads an integer of a child process that fits. Other integers and floats of Go are allowed where a linked component emits them.
package tuple
