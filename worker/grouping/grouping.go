// SPDX-License-Identifier: Apache-2.0

package grouping

// This file makes a grouping from what the topology says.

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gust-stream/gust/thrift/storm"
)

// Grouping chooses the tasks of one component that get a tuple.
type Grouping interface {
	// Choose appends the chosen tasks. values are as many as the stream has fields.
	Choose(values []any, into []int32) []int32
}

// Refresher is a Grouping that follows load and places. Storm refreshes it once a second.
type Refresher interface {
	Refresh(load Load, places *Places)
}

// Context is what a grouping works with.
type Context struct {
	// Fields are the fields of the stream, in order.
	Fields []string
	// Tasks are the tasks of the target component.
	Tasks []int32
	// Local are the tasks of this worker, of any component.
	Local []int32
	// Places is where tasks are when the grouping is made. nil means that all are in this worker.
	Places *Places
	// Even is topology.disable.loadaware.messaging: shuffles look at neither load nor place.
	Even bool
	// HigherBound and LowerBound are topology.localityaware.higher.bound and lower.bound: the mean load of a scope above which the next
	// wider one is taken, and below which a narrower one is.
	HigherBound, LowerBound float64
	// Seed starts the random choices.
	Seed int64
}

// ErrCustom is within the error for a grouping that only Java code knows.
var ErrCustom = errors.New("only a Java worker can run it; the component that emits the stream must stay on Java")

// New makes the grouping that spec says. The error names a field that the stream does not declare or a class of a grouping that is unknown here.
func New(spec *storm.Grouping, c Context) (Grouping, error) {
	tasks := slices.Clone(c.Tasks)
	slices.Sort(tasks)
	g, err := choose(spec, &c, tasks)
	if err != nil {
		return nil, err
	}
	if len(tasks) == 0 && !IsDirect(g) {
		return all(nil), nil
	}
	return g, nil
}

func choose(spec *storm.Grouping, c *Context, tasks []int32) (Grouping, error) {
	switch {
	case spec == nil:
		return nil, errors.New("grouping: none is set")
	case spec.Fields != nil && len(spec.Fields) == 0:
		return all(tasks[:min(1, len(tasks))]), nil // Storm's global grouping is one by no fields
	case spec.Fields != nil:
		index, err := places(spec.Fields, c.Fields)
		if err != nil {
			return nil, fmt.Errorf("fields grouping: %w", err)
		}
		return newFields(index, tasks), nil
	case spec.Shuffle != nil:
		return newShuffle(c, tasks), nil
	case spec.LocalOrShuffle != nil:
		local := slices.DeleteFunc(slices.Clone(tasks), func(task int32) bool { return !slices.Contains(c.Local, task) })
		if len(local) > 0 {
			return newShuffle(c, local), nil
		}
		return newShuffle(c, tasks), nil
	case spec.All != nil:
		return all(tasks), nil
	case spec.None != nil:
		return &none{tasks: tasks, random: newRandom(c.Seed)}, nil
	case spec.Direct != nil:
		return direct{}, nil
	case spec.CustomObject != nil:
		return nil, fmt.Errorf("custom grouping %s: %w", spec.CustomObject.FullClassName, ErrCustom)
	case spec.CustomSerialized != nil:
		return newCustom(spec.CustomSerialized, c, tasks)
	}
	return nil, errors.New("grouping: none is set")
}

// places are the indexes of some fields among all, in their order.
func places(some, fields []string) ([]int, error) {
	index := make([]int, len(some))
	for i, field := range some {
		if slices.Contains(some[:i], field) {
			return nil, fmt.Errorf("field %q is named twice", field)
		}
		if index[i] = slices.Index(fields, field); index[i] < 0 {
			return nil, fmt.Errorf("the stream declares no field %q, only %q", field, fields)
		}
	}
	return index, nil
}

// all is the all grouping, and the global one of a single task.
type all []int32

// Choose appends all tasks.
func (a all) Choose(_ []any, into []int32) []int32 { return append(into, a...) }

// none is Storm's none grouping: any task at random, with no memory.
type none struct {
	tasks  []int32
	random random
}

// Choose appends one task.
func (n *none) Choose(_ []any, into []int32) []int32 {
	return append(into, n.tasks[n.random.below(int32(len(n.tasks)))])
}

// direct is the grouping of streams whose emitter names the task.
type direct struct{}

// Choose appends nothing.
func (direct) Choose(_ []any, into []int32) []int32 { return into }

// IsDirect says whether the emitter names the task. Storm refuses a regular emit on a stream with such a grouping, and a direct emit to a
// task whose component has another.
func IsDirect(g Grouping) bool {
	_, is := g.(direct)
	return is
}
