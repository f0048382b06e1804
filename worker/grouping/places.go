// SPDX-License-Identifier: Apache-2.0

package grouping

// This file holds what load-aware groupings are told: load and places.

// Load is how full tasks are, from 0 to 1. One that is missing counts as full, as in Storm while nothing is known of it. A Load is not
// changed once it is handed out.
type Load map[int32]float64

func (l Load) of(task int32) float64 {
	if load, known := l[task]; known {
		return load
	}
	return 1
}

// Place is the worker that a task is in.
type Place struct {
	Node string
	Port int32
}

// Places is where tasks are, seen from one worker. It is not changed once it is handed out.
type Places struct {
	// Here is the worker itself.
	Here  Place
	Tasks map[int32]Place
	// Racks gives the rack of a node, by storm.network.topography.plugin; a node without one shares its rack with none.
	Racks map[string]string
}

// scope is how near a task is.
type scope uint8

const (
	workerLocal scope = iota
	hostLocal
	rackLocal
	everywhere
)

func (s scope) wider() scope {
	if s == everywhere {
		return s
	}
	return s + 1
}

func (s scope) narrower() scope {
	if s == workerLocal {
		return s
	}
	return s - 1
}

// scope is the narrowest that a task is in.
func (p *Places) scope(task int32) scope {
	if p == nil {
		return workerLocal
	}
	place, known := p.Tasks[task]
	switch {
	case !known:
		return everywhere
	case place == p.Here:
		return workerLocal
	case place.Node == p.Here.Node:
		return hostLocal
	}
	rack, known := p.Racks[p.Here.Node]
	if other, has := p.Racks[place.Node]; known && has && rack == other {
		return rackLocal
	}
	return everywhere
}
