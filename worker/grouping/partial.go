// SPDX-License-Identifier: Apache-2.0

package grouping

// This file holds the partial key grouping: a key goes to two tasks, to the one of them that got less so far.

// partial stands for PartialKeyGrouping with its usual parts, RandomTwoTaskAssignmentCreator and BalancedTargetSelector.
type partial struct {
	index []int // of the key's fields; nil means the text of the first value
	tasks []int32
	sent  []int64 // how many tuples each task got
	text  []byte
}

func newPartial(index []int, tasks []int32) *partial {
	return &partial{index: index, tasks: tasks, sent: make([]int64, len(tasks))}
}

// Choose appends one task, none if there is no value.
func (p *partial) Choose(values []any, into []int32) []int32 {
	if len(values) == 0 {
		return into
	}
	n := int32(len(p.tasks))
	r := newRandom(int64(p.key(values)))
	first, second := r.below(n), r.below(n)
	if first == second {
		second = (second + 1) % n
	}
	if p.sent[second] < p.sent[first] {
		first = second
	}
	p.sent[first]++
	return append(into, p.tasks[first])
}

// key is the hash of the key's bytes: the hash codes of its fields, the highest byte first, or the first value's text.
func (p *partial) key(values []any) int32 {
	h := int32(1)
	if p.index == nil {
		p.text = appendText(p.text[:0], values[0])
		for _, b := range p.text {
			h = 31*h + int32(int8(b))
		}
		return h
	}
	for _, i := range p.index {
		code := hash(values[i])
		for shift := 24; shift >= 0; shift -= 8 {
			h = 31*h + int32(int8(code>>shift))
		}
	}
	return h
}
