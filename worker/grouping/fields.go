// SPDX-License-Identifier: Apache-2.0

package grouping

// This file holds the fields grouping.

// newFields makes the grouping by the values at some places.
func newFields(index []int, tasks []int32) Grouping {
	if len(index) == 1 {
		return &oneField{index[0], tasks}
	}
	return &fields{index, tasks}
}

// oneField is the usual case, a single field.
type oneField struct {
	index int
	tasks []int32
}

// Choose appends one task.
func (f *oneField) Choose(values []any, into []int32) []int32 {
	return append(into, f.tasks[floorMod(31+hash(values[f.index]), int32(len(f.tasks)))])
}

type fields struct {
	index []int
	tasks []int32
}

// Choose appends one task.
func (f *fields) Choose(values []any, into []int32) []int32 {
	h := int32(1)
	for _, i := range f.index {
		h = 31*h + hash(values[i])
	}
	return append(into, f.tasks[floorMod(h, int32(len(f.tasks)))])
}

// Index is the place among n tasks, sorted, of a tuple that is grouped by these values, as Storm's TupleUtils.chooseTaskIndex.
func Index(values []any, n int32) int32 {
	h := int32(1)
	for _, v := range values {
		h = 31*h + hash(v)
	}
	return floorMod(h, n)
}

func floorMod(h, n int32) int32 {
	m := h % n
	if m < 0 {
		m += n
	}
	return m
}
