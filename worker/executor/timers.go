// SPDX-License-Identifier: Apache-2.0

package executor

// This file sets the timers that a topology's conf asks for.

import (
	"time"

	"github.com/gust-stream/gust/tuple"
)

const second = int64(time.Second)

// setTimers sets those that all executors have. Kinds add their own.
func (c *core) setTimers() {
	c.timers.clear()
	now := c.now()
	c.timers.add(now, 30*second, func(int64) { c.meter.Turn(time.Now()) })
	if c.refreshes {
		c.timers.add(now, second, c.refresh)
	}
	if c.tasks[0].metrics.route.Empty() {
		return
	}
	for _, interval := range c.tasks[0].stats.Intervals() {
		c.timers.add(now, int64(interval)*second, func(int64) { c.collect(interval) })
	}
}

// tickTimer has the component's ticks made.
func (c *core) tickTimer(tick func(now int64)) {
	if c.tickSecs > 0 {
		c.timers.add(c.now(), c.tickSecs*second, tick)
	}
}

// refresh tells groupings about load and places, as Storm does each second.
func (c *core) refresh(now int64) {
	load, places := c.engine.loads(now), c.engine.places.Load()
	for _, r := range c.routes {
		r.Refresh(load, places)
	}
}

// collect sends the data points of all tasks to the metrics consumers.
func (c *core) collect(interval int) {
	now := time.Now()
	for _, t := range c.tasks {
		c.sendPoints(&t.metrics, t.stats.Collect(now, interval), t.id, interval, now)
	}
	if s := c.system; s != nil {
		c.sendPoints(&s.out, s.stats.Collect(now, interval), tuple.SystemTask, interval, now)
	}
}

func (c *core) sendPoints(o *out, points []tuple.DataPoint, task int32, interval int, now time.Time) {
	if len(points) == 0 {
		return
	}
	list := make([]any, len(points))
	for i, p := range points {
		list[i] = p
	}
	cfg := &c.engine.config
	values := []any{tuple.TaskInfo{
		Host: cfg.Host, Port: int32(cfg.Port), Component: o.source.Component, Task: task,
		Time: now.Unix(), Interval: int32(interval),
	}, list}
	to, err := o.route.Choose(values, nil)
	if err != nil {
		return // a direct grouping, which no metrics consumer has
	}
	o.stats.Emitted(len(to))
	for _, task := range to {
		c.router.Send(task, c.tuple(o.source, values))
	}
}
