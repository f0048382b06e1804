// SPDX-License-Identifier: Apache-2.0

package metrics

// This file reports on the worker's process, under the names that Storm's SystemBolt has for a JVM.

import (
	"runtime"
	"syscall"
	"time"

	"github.com/gust-stream/gust/tuple"
)

// Process makes the task, which is task -1 of __system, report on the process. Children of components are not part of it.
func (t *Task) Process() {
	start := t.executor.config.Start
	t.groups = append(t.groups, &process{start: start, asked: start, before: cpuTime()})
}

type process struct {
	start  time.Time
	asked  time.Time
	before time.Duration // of the processors, when asked last
	told   bool          // that the worker is new
}

func (p *process) points(points []tuple.DataPoint, now time.Time) []tuple.DataPoint {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	heap := int64(m.HeapSys - m.HeapReleased)
	whole := int64(m.Sys - m.HeapReleased)
	used := whole - int64(m.HeapIdle-m.HeapReleased) - int64(m.HeapInuse-m.HeapAlloc)
	spent := cpuTime()
	usage := 0.0
	if elapsed := now.Sub(p.asked); elapsed > 0 {
		usage = float64(spent-p.before) / float64(elapsed)
	}
	p.asked, p.before = now, spent
	isNew := int32(1)
	if p.told {
		isNew = 0
	}
	p.told = true
	return append(
		points,
		tuple.DataPoint{Name: "uptimeSecs", Value: int64(now.Sub(p.start) / time.Second)},
		tuple.DataPoint{Name: "startTimeSecs", Value: p.start.Unix()},
		tuple.DataPoint{Name: "newWorkerEvent", Value: isNew},
		tuple.DataPoint{Name: "workerCpuUsage", Value: usage}, // in processors
		tuple.DataPoint{Name: "memory.heap.used", Value: int64(m.HeapAlloc)},
		tuple.DataPoint{Name: "memory.heap.committed", Value: heap},
		tuple.DataPoint{Name: "memory.non-heap.used", Value: used - int64(m.HeapAlloc)},
		tuple.DataPoint{Name: "memory.non-heap.committed", Value: whole - heap},
		tuple.DataPoint{Name: "memory.total.used", Value: used},
		tuple.DataPoint{Name: "memory.total.committed", Value: whole},
		tuple.DataPoint{Name: "GC.Go.count", Value: int64(m.NumGC)},
		tuple.DataPoint{Name: "GC.Go.time", Value: int64(m.PauseTotalNs) / int64(time.Millisecond)},
		tuple.DataPoint{Name: "threads.count", Value: int32(runtime.NumGoroutine())}, // goroutines are a Go worker's threads
	)
}

// cpuTime is what the process used of the processors.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0 // it fails on no system that has it
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
