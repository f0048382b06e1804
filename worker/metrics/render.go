// SPDX-License-Identifier: Apache-2.0

package metrics

// This file renders what an executor counted as Storm's ExecutorStats, for heartbeats.

import (
	"time"

	"github.com/gust-stream/gust/thrift/storm"
)

// Turn begins a new bucket of the windows if the current one is full. Render does so itself; who renders less often than every half minute
// gets finer windows by calling it now and then.
func (e *Executor) Turn(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.turn(now)
}

func (e *Executor) turn(now time.Time) {
	if !e.calendar.due(now) {
		return
	}
	full := e.calendar.turn(now)
	for _, t := range e.tasks {
		for _, o := range t.outputs {
			for _, n := range o.counters() {
				n.turn(e.calendar, full)
			}
			o.complete.turn(e.calendar, full)
		}
		for _, in := range t.inputs {
			for _, n := range in.counters() {
				n.turn(e.calendar, full)
			}
			in.execute.turn(e.calendar, full)
			in.process.turn(e.calendar, full)
		}
	}
}

// Render gives the statistics of the executor. Any goroutine may call it.
func (e *Executor) Render(now time.Time) *storm.ExecutorStats {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.turn(now)
	emitted, transferred, acked, failed := table[string]{}, table[string]{}, table[string]{}, table[string]{}
	complete := means[string]{}
	for _, t := range e.tasks {
		for _, o := range t.outputs {
			if emitted.add(e.calendar, now, o.stream, &o.emitted) {
				transferred.put(o.stream, o.transferred.windows(e.calendar, now)) // 0 too: Storm sends that nobody takes the stream
			}
			acked.add(e.calendar, now, o.stream, &o.acked)
			failed.add(e.calendar, now, o.stream, &o.failed)
			complete.add(e.calendar, now, o.stream, &o.complete)
		}
	}
	out := &storm.ExecutorStats{
		Emitted: emitted.flip(), Transferred: transferred.flip(), Specific: &storm.ExecutorSpecificStats{}, Rate: float64(e.config.Rate),
	}
	if e.config.Bolt {
		out.Specific.Bolt = e.bolt(now)
	} else {
		out.Specific.Spout = &storm.SpoutStats{Acked: acked.flip(), Failed: failed.flip(), CompleteMsAvg: complete.flip()}
	}
	return out
}

func (e *Executor) bolt(now time.Time) *storm.BoltStats {
	type id = *storm.GlobalStreamId
	ids := map[storm.GlobalStreamId]id{} // one pointer each, since they are keys
	acked, failed, executed := table[id]{}, table[id]{}, table[id]{}
	execute, process := means[id]{}, means[id]{}
	for _, t := range e.tasks {
		for _, in := range t.inputs {
			value := storm.GlobalStreamId{ComponentId: in.component, StreamId: in.stream}
			if ids[value] == nil {
				ids[value] = &value
			}
			key := ids[value]
			executed.add(e.calendar, now, key, &in.executed)
			acked.add(e.calendar, now, key, &in.acked)
			failed.add(e.calendar, now, key, &in.failed)
			execute.add(e.calendar, now, key, &in.execute)
			process.add(e.calendar, now, key, &in.process)
		}
	}
	return &storm.BoltStats{
		Acked: acked.flip(), Failed: failed.flip(), ProcessMsAvg: process.flip(), Executed: executed.flip(), ExecuteMsAvg: execute.flip(),
	}
}

// capacity is the part of the last ten minutes that the executor executed for.
func (e *Executor) capacity(now time.Time) float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	uptime := min(now.Sub(e.config.Start).Milliseconds(), span(0))
	if uptime <= 0 {
		return 0
	}
	var busy float64
	for _, t := range e.tasks {
		for _, in := range t.inputs {
			if n := in.execute.count.reach(e.calendar, 0, now); n > 0 {
				mean := millis(in.execute.nanos.reach(e.calendar, 0, now), n)
				busy += mean * float64(in.executed.read(e.calendar, 0, now))
			}
		}
	}
	return busy / float64(uptime)
}

// table has the counts of each key.
type table[K comparable] map[K]*each

// add adds a counter, if it counted anything.
func (t table[K]) add(c *calendar, now time.Time, key K, n *counter) bool {
	if n.total.Load() == 0 {
		return false
	}
	t.put(key, n.windows(c, now))
	return true
}

func (t table[K]) put(key K, add each) {
	if t[key] == nil {
		t[key] = new(each)
	}
	for i, n := range add {
		t[key][i] += n
	}
}

// flip gives it by window and key, empty if there is no key.
func (t table[K]) flip() map[string]map[K]int64 {
	out := map[string]map[K]int64{}
	for key, counts := range t {
		for i, n := range counts {
			if out[name(i)] == nil {
				out[name(i)] = make(map[K]int64, len(t))
			}
			out[name(i)][key] = n
		}
	}
	return out
}

// means has the latencies of each key.
type means[K comparable] map[K]*struct{ nanos, count each }

func (m means[K]) add(c *calendar, now time.Time, key K, l *latency) {
	if l.count.total.Load() == 0 {
		return
	}
	if m[key] == nil {
		m[key] = &struct{ nanos, count each }{}
	}
	for i := range spans {
		m[key].nanos[i] += l.nanos.reach(c, i, now)
		m[key].count[i] += l.count.reach(c, i, now)
	}
	m[key].nanos[spans] += l.nanos.total.Load()
	m[key].count[spans] += l.count.total.Load()
}

func (m means[K]) flip() map[string]map[K]float64 {
	out := map[string]map[K]float64{}
	for key, sums := range m {
		for i := range sums.count {
			if out[name(i)] == nil {
				out[name(i)] = make(map[K]float64, len(m))
			}
			out[name(i)][key] = millis(sums.nanos[i], sums.count[i])
		}
	}
	return out
}

// millis is a mean in milliseconds, 0 of none.
func millis(nanos, count int64) float64 {
	if count <= 0 {
		return 0
	}
	return float64(nanos) / 1e6 / float64(count)
}
