// SPDX-License-Identifier: Apache-2.0

package executor

// This file sets the timers that a topology's conf asks for.

import (
	"maps"
	"time"

	"github.com/gust-stream/gust/multilang/component"
)

// tickTimer has the component's ticks made.
func (c *core) tickTimer(tick func(now int64)) {
	if c.tickSecs > 0 {
		c.timers.add(c.now(), c.tickSecs*int64(time.Second), tick)
	}
}

func (c *core) metricTimers() {}

// context is what a linked component is told about itself.
func (t *task) context() *component.Context {
	return &component.Context{
		Topology: t.engine.config.TopologyID, Component: t.component, Task: t.id,
		Conf: maps.Clone(map[string]any(t.engine.config.Conf)), Tasks: t.engine.config.Tasks.Map(), Dir: t.engine.config.Resources,
	}
}
