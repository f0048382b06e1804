// SPDX-License-Identifier: Apache-2.0

package metrics

// This file gives the system's own metrics of a task, under the names of Storm's second metrics API.

import (
	"time"

	"github.com/gust-stream/gust/tuple"
)

// minute is what rates are over.
const minute = time.Minute

// rate is how fast a count grew over the last minute.
type rate struct {
	past []reached
}

type reached struct {
	at    time.Time
	total int64
}

// next gives the rate a second and keeps the total for later ones. A count that is younger than a minute began at 0 a minute ago, as in Storm.
func (r *rate) next(now time.Time, total int64) float64 {
	for len(r.past) > 1 && now.Sub(r.past[1].at) >= minute {
		r.past = r.past[1:]
	}
	old := reached{at: now.Add(-minute)}
	if len(r.past) > 0 {
		old = r.past[0]
	}
	r.past = append(r.past, reached{now, total})
	return float64(total-old.total) / max(minute, now.Sub(old.at)).Seconds()
}

// recent is the mean of what was measured since the last call, or what it was then. Storm gives that of the last three measured.
type recent struct {
	nanos, count int64
	mean         float64
}

func (r *recent) next(l *latency) float64 {
	nanos, count := l.nanos.total.Load(), l.count.total.Load()
	if count > r.count {
		r.mean = millis(nanos-r.nanos, count-r.count)
	}
	r.nanos, r.count = nanos, count
	return r.mean
}

// Queue is what an executor's inbox tells. Arrived, Refused and Dropped are of all time: tuples that came, tuples that had to wait since it was
// full, and tuples that were lost. Overflow is how many are in it beyond its capacity.
type Queue struct {
	Capacity, Population, Overflow int
	Arrived, Refused, Dropped      int64
}

// queue makes gauges of a Queue.
type queue struct {
	prefix           string
	read             func() Queue
	arrived, refused rate
}

// Queue makes the task report the executor's inbox, as receive-queue in Storm.
func (t *Task) Queue(prefix string, read func() Queue) {
	t.groups = append(t.groups, &queue{prefix: prefix, read: read})
}

func (q *queue) points(points []tuple.DataPoint, now time.Time) []tuple.DataPoint {
	v := q.read()
	arrival := q.arrived.next(now, v.Arrived)
	for _, p := range []tuple.DataPoint{
		{Name: "-capacity", Value: int32(v.Capacity)},
		{Name: "-pct_full", Value: float32(v.Population) / float32(max(1, v.Capacity))},
		{Name: "-population", Value: int32(v.Population)},
		{Name: "-arrival_rate_secs", Value: arrival},
		// How long a tuple stays, if as many leave as come.
		{Name: "-sojourn_time_ms", Value: float64(v.Population) / max(arrival, 0.00001) * 1000},
		{Name: "-insert_failures", Value: q.refused.next(now, v.Refused)},
		{Name: "-dropped_messages", Value: v.Dropped},
		{Name: "-overflow", Value: int32(v.Overflow)},
	} {
		p.Name = q.prefix + p.Name
		points = append(points, p)
	}
	return points
}

// system appends the points of all streams.
func (t *Task) system(points []tuple.DataPoint, now time.Time) []tuple.DataPoint {
	p := pointer{points, now}
	for _, o := range t.outputs {
		if o.emitted.total.Load() > 0 {
			p.count("__emit-count-"+o.stream, o.emitted.total.Load(), &o.rates[0])
			p.count("__transfer-count-"+o.stream, o.transferred.total.Load(), &o.rates[1])
		}
		p.used("__ack-count-"+o.stream, &o.acked, &o.rates[2])
		p.used("__fail-count-"+o.stream, &o.failed, &o.rates[3])
		p.latency("__complete-latency-"+o.stream, &o.complete, &o.recent)
	}
	for _, in := range t.inputs {
		key := in.component + ":" + in.stream
		p.used("__execute-count-"+key, &in.executed, &in.rates[0])
		p.used("__ack-count-"+key, &in.acked, &in.rates[1])
		p.used("__fail-count-"+key, &in.failed, &in.rates[2])
		p.latency("__execute-latency-"+key, &in.execute, &in.recents[0])
		p.latency("__process-latency-"+key, &in.process, &in.recents[1])
	}
	for _, c := range t.counts {
		p.count(c.name, c.total.Load(), &c.rate)
	}
	if t.first && t.executor.config.Bolt {
		p.points = append(p.points, tuple.DataPoint{Name: "__capacity", Value: t.executor.capacity(now)})
	}
	return p.points
}

// pointer makes data points.
type pointer struct {
	points []tuple.DataPoint
	now    time.Time
}

func (p *pointer) count(name string, total int64, r *rate) {
	p.points = append(
		p.points, tuple.DataPoint{Name: name, Value: total}, tuple.DataPoint{Name: name + ".m1_rate", Value: r.next(p.now, total)},
	)
}

// used is count for what counted anything.
func (p *pointer) used(name string, n *counter, r *rate) {
	if total := n.total.Load(); total > 0 {
		p.count(name, total, r)
	}
}

func (p *pointer) latency(name string, l *latency, r *recent) {
	if l.count.total.Load() > 0 {
		p.points = append(p.points, tuple.DataPoint{Name: name, Value: r.next(l)})
	}
}
