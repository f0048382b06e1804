// SPDX-License-Identifier: Apache-2.0

package component

// This file declares groupings: how a stream's tuples are spread over a bolt's tasks.

import "github.com/gust-stream/gust/thrift/storm"

// input is a stream that a bolt takes.
type input struct {
	component, stream string
	grouping          *storm.Grouping // nil until it is said
	keyed             bool            // by fields, which are
	fields            []string
	direct            bool
}

// Input is a stream of a bolt whose grouping is being declared.
type Input struct {
	bolt  *BoltSpec
	input *input
}

func (i *Input) by(g *storm.Grouping) *BoltSpec {
	i.input.grouping = g
	return i.bolt
}

// Shuffle spreads tuples evenly.
func (i *Input) Shuffle() *BoltSpec { return i.by(&storm.Grouping{Shuffle: storm.NewNullStruct()}) }

// LocalOrShuffle spreads tuples evenly over the tasks of the sender's worker, if it has any.
func (i *Input) LocalOrShuffle() *BoltSpec {
	return i.by(&storm.Grouping{LocalOrShuffle: storm.NewNullStruct()})
}

// Fields sends tuples with the same values in these fields to the same task.
func (i *Input) Fields(names ...string) *BoltSpec {
	i.input.keyed, i.input.fields = true, names
	return i.by(&storm.Grouping{Fields: append([]string{}, names...)})
}

// PartialKey is Fields with two tasks for each combination of values, of which the less busy one gets a tuple.
func (i *Input) PartialKey(names ...string) *BoltSpec {
	i.input.keyed, i.input.fields = true, names
	return i.by(&storm.Grouping{CustomSerialized: partialKey(names)})
}

// All sends each tuple to every task.
func (i *Input) All() *BoltSpec { return i.by(&storm.Grouping{All: storm.NewNullStruct()}) }

// Global sends all tuples to the task with the lowest id.
func (i *Input) Global() *BoltSpec { return i.by(&storm.Grouping{Fields: []string{}}) }

// None leaves it to Storm, which takes a random task.
func (i *Input) None() *BoltSpec { return i.by(&storm.Grouping{None: storm.NewNullStruct()}) }

// Direct leaves it to the sender, which names the task.
func (i *Input) Direct() *BoltSpec {
	i.input.direct = true
	return i.by(&storm.Grouping{Direct: storm.NewNullStruct()})
}
