// SPDX-License-Identifier: Apache-2.0

package metrics

// This file holds the windows of time that Storm's UI shows: 10 minutes, 3 hours, a day and all time.

import (
	"sync/atomic"
	"time"
)

// spans are the windows that end.
const spans = 3

// span is a window's length in milliseconds.
func span(window int) int64 { return [spans]int64{600_000, 10_800_000, 86_400_000}[window] }

// each has a number for each window, the last for all time.
type each [spans + 1]int64

// name is what Storm calls a window.
func name(window int) string {
	return [spans + 1]string{"600", "10800", "86400", ":all-time"}[window]
}

// calendar is when the buckets of all windows began. Those of all counters of an executor change at the same time.
type calendar struct {
	start time.Time      // of the current bucket
	size  [spans]int64   // how long a bucket of each window is at least
	times [spans][]int64 // how long the past buckets of each window are, the newest first
}

// newCalendar has one bucket more than what covers the window, as Storm.
func newCalendar(buckets int, now time.Time) *calendar {
	buckets = max(buckets, 2)
	c := &calendar{start: now}
	for i := range spans {
		c.size[i] = max(1, span(i)/int64(buckets-1))
		c.times[i] = make([]int64, buckets)
	}
	return c
}

// due says whether the current bucket is as long as those of the shortest window.
func (c *calendar) due(now time.Time) bool { return c.spent(now) >= c.size[0] }

// spent is how long the current bucket is, in milliseconds.
func (c *calendar) spent(now time.Time) int64 { return max(0, now.Sub(c.start).Milliseconds()) }

// turn ends the current bucket. It says which windows begin a new past bucket.
func (c *calendar) turn(now time.Time) (full [spans]bool) {
	spent := c.spent(now)
	c.start = now
	for i, times := range c.times {
		times[0] += spent
		if full[i] = times[0] >= c.size[i]; full[i] {
			shift(times)
		}
	}
	return full
}

func shift(a []int64) {
	copy(a[1:], a)
	a[0] = 0
}

// counter is a count of all time, and its windows.
type counter struct {
	total atomic.Int64

	done int64 // of total, what is in past buckets
	past [spans][]int64
}

// turn ends the current bucket.
func (n *counter) turn(c *calendar, full [spans]bool) {
	total := n.total.Load()
	if total == 0 {
		return // most streams of a task are never used: no buckets for them
	}
	for i := range n.past {
		if n.past[i] == nil {
			n.past[i] = make([]int64, len(c.times[i]))
		}
		n.past[i][0] += total - n.done
		if full[i] {
			shift(n.past[i])
		}
	}
	n.done = total
}

// read gives about what was counted within a window, by the part of the oldest bucket that is still in it.
func (n *counter) read(c *calendar, window int, now time.Time) int64 {
	left := span(window) - c.spent(now)
	sum := n.total.Load() - n.done
	for i, count := range n.past[window] {
		length := c.times[window][i]
		if left < length {
			return sum + int64(float64(max(left, 0))/float64(length)*float64(count))
		}
		sum += count
		left -= length
	}
	return sum
}

// windows gives what was counted within each window, and in all.
func (n *counter) windows(c *calendar, now time.Time) (out each) {
	for i := range spans {
		out[i] = n.read(c, i, now)
	}
	out[spans] = n.total.Load()
	return out
}

// reach is read with the whole of the oldest bucket, as Storm reads latencies.
func (n *counter) reach(c *calendar, window int, now time.Time) int64 {
	left := span(window) - c.spent(now)
	sum := n.total.Load() - n.done
	for i := 0; i < len(n.past[window]) && left > 0; i++ {
		sum += n.past[window][i]
		left -= c.times[window][i]
	}
	return sum
}

// latency is the sum of some times and how many they are.
type latency struct {
	nanos, count counter
}

func (l *latency) record(d time.Duration) {
	l.nanos.total.Add(int64(d))
	l.count.total.Add(1)
}

func (l *latency) turn(c *calendar, full [spans]bool) {
	l.nanos.turn(c, full)
	l.count.turn(c, full)
}
