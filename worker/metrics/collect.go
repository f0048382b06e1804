// SPDX-License-Identifier: Apache-2.0

package metrics

// This file collects the data points of a task for metrics consumers.

import (
	"fmt"
	"math/big"
	"sync/atomic"
	"time"

	"github.com/gust-stream/gust/tuple"
)

// reading is a metric whose value is asked for.
type reading struct {
	name string
	read func() any
}

// group is some metrics of the system's that come together.
type group interface {
	points(points []tuple.DataPoint, now time.Time) []tuple.DataPoint
}

// Register makes the task report a value at Config.Interval; read is called by the executor's goroutine, and nil is no data point.
func (t *Task) Register(name string, read func() any) {
	t.reads = append(t.reads, reading{name, read})
}

// Gauge is Register for a metric of the system, which is reported at Config.V2. Such values are numbers.
func (t *Task) Gauge(name string, read func() any) {
	t.gauges = append(t.gauges, reading{name, read})
}

// Count is a count of the system's, such as __skipped-max-spout-ms, reported as its sum and its rate.
type Count struct {
	name  string
	total atomic.Int64
	rate  rate
}

// Count gives the count of some name; the caller keeps it.
func (t *Task) Count(name string) *Count {
	c := &Count{name: name}
	t.counts = append(t.counts, c)
	return c
}

// Add counts.
func (c *Count) Add(n int64) { c.total.Add(n) }

// user is a metric of a component, which comes to be when the component first names it.
type user struct {
	name string
	kind kind
	// sum and n are of what was added since the last data point, last is what an assigned one has.
	sum   int64
	mean  float64
	n     int64
	value any
}

// kind is which of Storm's metrics a component's metric is.
type kind uint8

const (
	counting  kind = iota // CountMetric
	averaging             // ReducedMetric of a MeanReducer
	assigning             // AssignableMetric
)

// Add takes a value for a metric of the component's. The first value makes it: of a whole number or nil, which is 1, it adds up; of another
// number it gives the mean; of anything else the last one. A value that the metric cannot take is an error.
func (t *Task) Add(name string, value any) error {
	u := t.named[name]
	whole, decimal, is := parse(value)
	if u == nil {
		u = &user{name: name, kind: assigning}
		switch is {
		case wholeNumber:
			u.kind = counting
		case decimalNumber:
			u.kind = averaging
		case noNumber:
		}
		t.named[name] = u
		t.users = append(t.users, u)
	}
	switch {
	case u.kind == assigning:
		u.value = value
	case is == noNumber:
		return fmt.Errorf("metric %s: it takes numbers, not a %T", name, value)
	case u.kind == counting:
		u.sum += whole
	default:
		u.mean += decimal
		u.n++
	}
	return nil
}

type number uint8

const (
	noNumber number = iota
	wholeNumber
	decimalNumber
)

// parse gives a number both ways.
func parse(v any) (int64, float64, number) {
	switch v := v.(type) {
	case nil:
		return 1, 1, wholeNumber
	case int64:
		return v, float64(v), wholeNumber
	case int:
		return int64(v), float64(v), wholeNumber
	case int32:
		return int64(v), float64(v), wholeNumber
	case uint64:
		return int64(v), float64(v), wholeNumber
	case float64:
		return int64(v), v, decimalNumber
	case float32:
		return int64(v), float64(v), decimalNumber
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return v.Int64(), f, decimalNumber
	case time.Duration:
		return v.Milliseconds(), float64(v) / float64(time.Millisecond), decimalNumber
	default:
		return 0, 0, noNumber
	}
}

// Intervals are the seconds between two calls of Collect, each once.
func (t *Task) Intervals() []int {
	c := t.executor.config
	if c.V2 == 0 || c.V2 == c.Interval {
		return []int{c.Interval}
	}
	return []int{c.Interval, c.V2}
}

// Collect gives the data points that are due after an interval in seconds; with none there is nothing to send. The executor's goroutine
// calls it.
func (t *Task) Collect(now time.Time, interval int) []tuple.DataPoint {
	var points []tuple.DataPoint
	c := t.executor.config
	if interval == c.Interval {
		for _, u := range t.users {
			if v := u.take(); v != nil {
				points = append(points, tuple.DataPoint{Name: u.name, Value: v})
			}
		}
		points = read(points, t.reads)
	}
	if interval == c.V2 {
		points = read(points, t.gauges)
		for _, g := range t.groups {
			points = g.points(points, now)
		}
		points = t.system(points, now)
	}
	return points
}

// take gives the value since the last one.
func (u *user) take() any {
	switch u.kind {
	case counting:
		sum := u.sum
		u.sum = 0
		return sum
	case averaging:
		if u.n == 0 {
			return nil
		}
		mean := u.mean / float64(u.n)
		u.mean, u.n = 0, 0
		return mean
	default:
		return u.value
	}
}

func read(points []tuple.DataPoint, from []reading) []tuple.DataPoint {
	for _, r := range from {
		if v := r.read(); v != nil {
			points = append(points, tuple.DataPoint{Name: r.name, Value: v})
		}
	}
	return points
}
