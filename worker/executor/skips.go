// SPDX-License-Identifier: Apache-2.0

package executor

// This file tells metrics consumers how long spouts were not asked for tuples, and why.

import (
	"time"

	"github.com/gust-stream/gust/worker/metrics"
)

// skips are counts of milliseconds by Storm's names.
type skips struct {
	pending, inactive, pressure *metrics.Count
	nanos                       [3]int64 // less than a millisecond, not yet counted
}

func (s *spout) countSkips() {
	t := s.tasks[0].stats
	s.skips.pending = t.Count("__skipped-max-spout-ms")
	s.skips.inactive = t.Count("__skipped-inactive-ms")
	s.skips.pressure = t.Count("__skipped-backpressure-ms")
}

// skipping is why spouts are not asked now: as place in skips, -1 if they are.
func (s *spout) skipping() int {
	switch {
	case !s.on:
		return 1
	case s.router.Full():
		return 2
	case !s.may():
		return 0
	}
	return -1
}

func (s *spout) skipped(why int, nanos int64) {
	if why < 0 {
		return
	}
	n := s.skips.nanos[why] + nanos
	s.skips.nanos[why] = n % int64(time.Millisecond)
	[...]*metrics.Count{s.skips.pending, s.skips.inactive, s.skips.pressure}[why].Add(n / int64(time.Millisecond))
}
