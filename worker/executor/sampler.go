// SPDX-License-Identifier: Apache-2.0

package executor

// This file chooses the events that are counted. It is metrics.Sampler, small enough to be compiled into the place where it is asked and to lie in
// its user's memory: it is asked several times for each tuple.

import "math/rand/v2"

// sampler picks one event of each row of as many as the rate, at a random place in it.
type sampler struct{ left, rest, rate int }

func newSampler(rate int) sampler {
	s := sampler{rate: max(1, rate)}
	s.draw()
	return s
}

// hit says whether the next event is counted.
func (s *sampler) hit() bool {
	s.left--
	return s.left < 0 && s.draw()
}

// draw chooses the next event: in the row that begins after this one.
func (s *sampler) draw() bool {
	place := rand.IntN(s.rate)
	s.left = s.rest + place
	s.rest = s.rate - 1 - place
	return true
}
