// SPDX-License-Identifier: Apache-2.0

package tuple

// This file holds the tuple and its source.

import "fmt"

// SystemTask is the task id of what no task of the topology sends, such as ticks.
const SystemTask = -1

// Streams and components that every topology has, by Storm's names.
const (
	DefaultStream   = "default"
	SystemComponent = "__system"
	TickStream      = "__tick"
	MetricsStream   = "__metrics"
	EventStream     = "__eventlog"
)

// The acker and its streams. Spouts and bolts tell it of trees on the first four; it answers the spout on the last three, which it has under the
// same names.
const (
	AckerComponent = "__acker"
	InitStream     = "__ack_init"
	AckStream      = "__ack_ack"
	FailStream     = "__ack_fail"
	ResetStream    = "__ack_reset_timeout"
)

// Source is where tuples come from. There is one for each task and stream, shared by all their tuples and never changed.
type Source struct {
	Component string
	Stream    string
	Task      int32
	// StreamID is the stream's place among the component's stream names in order, from 1, as Storm's wire names it; 0 if nobody needs it.
	StreamID int32
	// Fields names the values, in order.
	Fields []string
}

// OfTrees says whether the stream is one between an acker and others.
func (s *Source) OfTrees() bool {
	switch s.Stream {
	case InitStream, AckStream, FailStream, ResetStream:
		return true
	}
	return false
}

// Index is the place of a field among the values, -1 if there is none of that name.
func (s *Source) Index(field string) int {
	for i, name := range s.Fields {
		if name == field {
			return i
		}
	}
	return -1
}

// Anchor ties a tuple to one spout tuple: Root is the random id of the tree, Edge the id of this tuple in it. An acker XORs edges
// until they come to nothing.
type Anchor struct{ Root, Edge int64 }

// A tuple between an acker and others may have no Values, and in their place Anchor.Root as the tree, Anchor.Edge as the number that goes with
// it and Children as the spout's task: trees are most of what goes between workers, and numbers in Values cost memory.

// Tuple is one message. Whoever executes it may read it until it has acked or failed it, and keep it as long as it likes; nobody
// changes Values after the emit.
type Tuple struct {
	*Source
	Values []any

	// Anchor is the first tree that the tuple belongs to, Anchor.Root 0 if it is not tracked. Nearly all tuples have no other.
	Anchor Anchor
	// More are further trees, of a tuple with several anchors.
	More []Anchor
	// Children is the XOR of the edges of all tuples anchored on this one. Only the executor that runs the task touches it.
	Children int64
	// Started is the time of its execution in nanoseconds of a steady clock if it is one of those whose latency is measured, else 0.
	// It is Settled once the tuple was acked or failed.
	Started int64
	// ID is the tuple's name in the multilang protocol, "" where there is no child process.
	ID string
}

// Settled is what Started is of a tuple that was acked or failed.
const Settled = -1

// Message is a tuple on its way to a task.
type Message struct {
	Task  int32
	Tuple *Tuple
}

// Tracked says whether the tuple belongs to a tree.
func (t *Tuple) Tracked() bool { return t.Anchor.Root != 0 }

// Settled says whether the tuple was acked or failed by the executor that runs the task.
func (t *Tuple) Settled() bool { return t.Started == Settled }

// IsTick says whether the tuple is a tick.
func (t *Tuple) IsTick() bool { return t.Component == SystemComponent && t.Stream == TickStream }

// Value is the value of a field, and whether there is such a field.
func (t *Tuple) Value(field string) (any, bool) {
	i := t.Index(field)
	if i < 0 || i >= len(t.Values) {
		return nil, false
	}
	return t.Values[i], true
}

// Get is the value of a field as a T; an error names the field and what it holds instead. An int32 is an int64 too: small integers of
// Java and of child processes have 32 bits.
func Get[T any](t *Tuple, field string) (T, error) {
	v, ok := t.Value(field)
	if !ok {
		var none T
		return none, fmt.Errorf("tuple of %s, stream %s: no field %q among %q", t.Component, t.Stream, field, t.Fields)
	}
	out, ok := v.(T)
	if n, small := v.(int32); small && !ok {
		out, ok = any(int64(n)).(T)
	}
	if !ok {
		return out, fmt.Errorf("tuple of %s, stream %s: field %q is a %T, not a %T", t.Component, t.Stream, field, v, out)
	}
	return out, nil
}
