// SPDX-License-Identifier: Apache-2.0

package frame

// This file holds who sends on which streams. A stream travels as its place among the names of its component's streams, sorted.

import (
	"maps"
	"slices"

	"github.com/gust-stream/gust/tuple"
)

// maxTasks bounds what a table is made for; a frame cannot name more.
const maxTasks = MaxTask + 1

// Sources knows each task's streams. It does not change, so all goroutines may share it.
type Sources struct {
	// tasks[t+1] are the streams of task t, in order: the system's own task is -1.
	tasks [][]source
}

type source struct {
	tuple.Source
	// trees says that its tuples are messages about trees.
	trees bool
}

// OfTrees says whether the tuples of a stream are messages to or from an acker. Those need no Values: where they have none, Anchor.Root
// is the id of the tree, Anchor.Edge the value after it, and Children the task of an Init. They are read so, too.
func OfTrees(stream string) bool {
	switch stream {
	case tuple.InitStream, tuple.AckStream, tuple.FailStream, tuple.ResetStream:
		return true
	}
	return false
}

// NewSources makes the table of a topology: tasks with their components (tuple.SystemTask too if it sends), and the fields of each
// component's streams, those that Storm adds included.
func NewSources(tasks map[int32]string, streams map[string]map[string][]string) *Sources {
	s := &Sources{}
	for task, component := range tasks {
		if task < tuple.SystemTask || task >= maxTasks {
			continue
		}
		for int(task)+1 >= len(s.tasks) {
			s.tasks = append(s.tasks, nil)
		}
		names := slices.Sorted(maps.Keys(streams[component]))
		all := make([]source, 0, len(names))
		for i, name := range names {
			fields := streams[component][name]
			all = append(all, source{
				Source: tuple.Source{Component: component, Stream: name, StreamID: int32(i) + 1, Task: task, Fields: fields}, //nolint:gosec // a place
				trees:  OfTrees(name) && len(fields) >= 1 && len(fields) <= 3,
			})
		}
		s.tasks[task+1] = all
	}
	return s
}

// Of is the source for a task and the name of a stream, nil if there is none.
func (s *Sources) Of(task int32, stream string) *tuple.Source {
	all := s.of(task)
	i, ok := slices.BinarySearchFunc(all, stream, func(src source, name string) int {
		switch {
		case src.Stream < name:
			return -1
		case src.Stream > name:
			return 1
		}
		return 0
	})
	if !ok {
		return nil
	}
	return &all[i].Source
}

// At is the source for a task and a place among its streams, counted from 1, nil if there is none; trees if it is OfTrees.
func (s *Sources) At(task int32, place uint32) (src *tuple.Source, trees bool) {
	all := s.of(task)
	if i := place - 1; i < uint32(len(all)) { //nolint:gosec // a length
		return &all[i].Source, all[i].trees
	}
	return nil, false
}

func (s *Sources) of(task int32) []source {
	if i := int(task) + 1; i >= 0 && i < len(s.tasks) {
		return s.tasks[i]
	}
	return nil
}

// Tasks is one above the largest task id.
func (s *Sources) Tasks() int { return max(len(s.tasks)-1, 0) }
