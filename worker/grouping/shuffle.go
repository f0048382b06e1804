// SPDX-License-Identifier: Apache-2.0

package grouping

// This file holds the shuffle groupings.

import "slices"

// newShuffle makes the grouping of shuffle and local-or-shuffle.
func newShuffle(c *Context, tasks []int32) Grouping {
	r := newRandom(c.Seed)
	if c.Even {
		r.shuffle(tasks)
		return &shuffle{tasks, 0}
	}
	s := &loadAware{
		tasks: tasks, scopes: make([]scope, len(tasks)), weights: slices.Repeat([]int{maxWeight}, len(tasks)),
		ring: make([]int32, 1), random: r, high: c.HigherBound, low: c.LowerBound,
	}
	if len(tasks) > 1 {
		s.ring = make([]int32, max(1000, 5*len(tasks)))
	}
	if len(tasks) > 0 {
		s.update(nil, c.Places)
	}
	return s
}

// shuffle gives the tasks in turn.
type shuffle struct {
	tasks []int32
	last  int
}

// Choose appends one task.
func (s *shuffle) Choose(_ []any, into []int32) []int32 {
	if s.last++; s.last >= len(s.tasks) {
		s.last = 0
	}
	return append(into, s.tasks[s.last])
}

const maxWeight = 100

// loadAware gives the tasks of a ring in turn, in which a task is the more often the less it has been loaded. Only tasks of the current
// scope are in the ring: a wider scope is taken while the mean load is above high, a narrower while its mean is below low.
type loadAware struct {
	ring []int32
	next int

	tasks   []int32
	scopes  []scope // of each task, from the narrowest that it is in
	weights []int   // of each task
	scope   scope
	random  random

	high, low float64
}

// Choose appends one task.
func (s *loadAware) Choose(_ []any, into []int32) []int32 {
	if s.next >= len(s.ring) {
		s.next = 0
	}
	task := s.ring[s.next]
	s.next++
	return append(into, task)
}

// Refresh makes the ring anew.
func (s *loadAware) Refresh(load Load, at *Places) {
	if load == nil {
		load = Load{}
	}
	s.update(load, at)
}

func (s *loadAware) update(load Load, at *Places) {
	for i, task := range s.tasks {
		s.scopes[i] = at.scope(task)
	}
	before := s.scope
	s.scope = s.transition(load)
	if s.scope != before {
		for i := range s.weights {
			s.weights[i] = maxWeight
		}
	}
	order := s.within(s.scope)
	s.weigh(load, order)
	s.fill(order)
	s.random.shuffle(s.ring)
	s.next = 0
}

// within gives the indexes of the tasks in a scope, those of the widest part first, as Java puts them into the ring.
func (s *loadAware) within(wide scope) []int {
	order := make([]int, 0, len(s.tasks))
	for {
		for i := range s.tasks {
			if s.scopes[i] == wide {
				order = append(order, i)
			}
		}
		if wide == workerLocal {
			return order
		}
		wide = wide.narrower()
	}
}

// transition gives the scope for a load, nil at the start.
func (s *loadAware) transition(load Load) scope {
	in := s.within(s.scope)
	for len(in) == 0 && s.scope != everywhere {
		s.scope = s.scope.wider()
		in = s.within(s.scope)
	}
	if load == nil {
		return s.scope
	}
	if s.mean(load, in) > s.high {
		return s.scope.wider()
	}
	narrower := s.scope.narrower()
	if in := s.within(narrower); len(in) > 0 && s.mean(load, in) < s.low {
		return narrower
	}
	return s.scope
}

func (s *loadAware) mean(load Load, order []int) float64 {
	var sum float64
	for _, i := range order {
		sum += load.of(s.tasks[i])
	}
	return sum / float64(len(order))
}

// weigh lets tasks of up to 5 % above the least load grow slowly and shrinks the others fast.
func (s *loadAware) weigh(load Load, order []int) {
	least := 0.0
	if load != nil {
		least = load.of(s.tasks[order[0]])
		for _, i := range order {
			least = min(least, load.of(s.tasks[i]))
		}
	}
	for _, i := range order {
		if load == nil || load.of(s.tasks[i]) <= least+0.05 {
			s.weights[i] = min(maxWeight, s.weights[i]+1)
		} else {
			s.weights[i] = max(0, s.weights[i]-10)
		}
	}
}

// fill puts each task into the ring as its weight says; what rounding leaves over goes to tasks of the ring at random.
func (s *loadAware) fill(order []int) {
	sum := 0
	for _, i := range order {
		sum += s.weights[i]
	}
	at := 0
	for _, i := range order {
		count := int(float64(s.weights[i]) / float64(sum) * float64(len(s.ring)))
		for ; count > 0 && at < len(s.ring); count-- {
			s.ring[at] = s.tasks[i]
			at++
		}
	}
	for ; at < len(s.ring); at++ {
		s.ring[at] = s.ring[s.random.below(int32(at))]
	}
}
