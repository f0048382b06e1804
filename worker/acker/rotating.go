// SPDX-License-Identifier: Apache-2.0

package acker

// This file holds what is known by root id in one flat piece of memory: its look-ups are most of what tracking a tuple costs.

import "math/bits"

const minPlaces = 1024

// Rotating is a map by root id whose entries grow old. It stands for Storm's RotatingMap. The zero value is not ready for use.
type Rotating[V any] struct {
	places []place[V] // a hash table with linear probing, at most three quarters full
	shift  uint
	count  int

	now, generations uint8 // now is that of new entries, from 1 to generations
}

type place[V any] struct {
	root       int64
	generation uint8 // 0 is a free place
	value      V
}

// NewRotating makes a map whose entries go with the given number of rotations after they were put.
func NewRotating[V any](generations int) *Rotating[V] {
	r := &Rotating[V]{now: 1, generations: uint8(generations)}
	r.clear(minPlaces)
	return r
}

// clear takes a power of two.
func (r *Rotating[V]) clear(places int) {
	r.places, r.count = make([]place[V], places), 0
	r.shift = uint(64 - bits.TrailingZeros(uint(places)))
}

// Len is how many entries there are.
func (r *Rotating[V]) Len() int { return r.count }

// home is where the search for a root begins. The multiplication keeps roots that somebody chose from all having the same.
func (r *Rotating[V]) home(root int64) int {
	return int(uint64(root) * 0x9e3779b97f4a7c15 >> r.shift)
}

// find gives the index of a root, or of the free place for it and false.
func (r *Rotating[V]) find(root int64) (int, bool) {
	mask := len(r.places) - 1
	for i := r.home(root) & mask; ; i = (i + 1) & mask {
		if p := &r.places[i]; p.generation == 0 {
			return i, false
		} else if p.root == root {
			return i, true
		}
	}
}

// Get gives the value of a root, nil if there is none. It is good until the next call of another method.
func (r *Rotating[V]) Get(root int64) *V {
	if i, ok := r.find(root); ok {
		return &r.places[i].value
	}
	return nil
}

// Put gives the value of a root, a new one if there is none. It is good until the next call of another method.
func (r *Rotating[V]) Put(root int64) (value *V, isNew bool) {
	i, ok := r.find(root)
	if ok {
		return &r.places[i].value, false
	}
	if 4*(r.count+1) > 3*len(r.places) {
		r.rebuild(2*len(r.places), nil)
		i, _ = r.find(root)
	}
	p := &r.places[i]
	p.root, p.generation = root, r.now
	r.count++
	return &p.value, true
}

// Touch makes the entry of a root young again.
func (r *Rotating[V]) Touch(root int64) {
	if i, ok := r.find(root); ok {
		r.places[i].generation = r.now
	}
}

// Remove takes the entry of a root out. Those behind it move up, so that no marks of the removed are needed.
func (r *Rotating[V]) Remove(root int64) (value V, ok bool) {
	hole, ok := r.find(root)
	if !ok {
		return value, false
	}
	value = r.places[hole].value
	r.count--
	mask := len(r.places) - 1
	for i := (hole + 1) & mask; r.places[i].generation != 0; i = (i + 1) & mask {
		// It may fill the hole unless its search begins behind the hole.
		if (i-r.home(r.places[i].root))&mask >= (i-hole)&mask {
			r.places[hole] = r.places[i]
			hole = i
		}
	}
	r.places[hole] = place[V]{}
	return value, true
}

// Rotate makes all entries older and takes the oldest out, telling old of each. old must not call the map.
func (r *Rotating[V]) Rotate(old func(root int64, value V)) {
	r.now = r.now%r.generations + 1
	kept := 0
	for i := range r.places {
		if g := r.places[i].generation; g != 0 && g != r.now {
			kept++
		}
	}
	if kept == r.count && len(r.places) <= max(minPlaces, 8*kept) {
		return
	}
	size := minPlaces
	for size < 2*kept {
		size *= 2
	}
	r.rebuild(size, old)
}

// Filter takes all entries out that are not to be kept. keep must not call the map.
func (r *Rotating[V]) Filter(keep func(value V) bool) {
	before := r.places
	r.clear(len(before))
	for i := range before {
		if p := &before[i]; p.generation != 0 && keep(p.value) {
			at, _ := r.find(p.root)
			r.places[at] = *p
			r.count++
		}
	}
}

// rebuild changes the size. With old, entries of the present generation are told to it instead of being kept.
func (r *Rotating[V]) rebuild(size int, old func(root int64, value V)) {
	before := r.places
	r.clear(size)
	for i := range before {
		p := &before[i]
		switch {
		case p.generation == 0:
		case old != nil && p.generation == r.now:
			old(p.root, p.value)
		default:
			at, _ := r.find(p.root)
			r.places[at] = *p
			r.count++
		}
	}
}
