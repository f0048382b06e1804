// SPDX-License-Identifier: Apache-2.0

package metrics

// This file holds the choice of the events that are counted.

import (
	"fmt"
	"math/rand/v2"
)

// Rate is how many events one counted event stands for, by topology.stats.sample.rate.
func Rate(sample float64) (int, error) {
	if !(sample > 0 && sample <= 1) {
		return 0, fmt.Errorf("topology.stats.sample.rate is %v: want more than 0 and at most 1", sample)
	}
	return int(1 / sample), nil
}

// Sampler picks one event of each row of as many as the rate, at a random place in it. Its user counts emits of a task with one, and
// with two more of the executor it picks the tuples whose latency of execution, and until the ack, is measured.
type Sampler struct {
	rate, at, target int
}

// NewSampler makes a sampler; a rate of 1 picks all.
func NewSampler(rate int) *Sampler {
	rate = max(1, rate)
	return &Sampler{rate: rate, at: -1, target: rand.IntN(rate)}
}

// Hit says whether the next event is counted.
func (s *Sampler) Hit() bool {
	s.at++
	if s.at >= s.rate {
		s.at, s.target = 0, rand.IntN(s.rate)
	}
	return s.at == s.target
}
