// SPDX-License-Identifier: Apache-2.0

package executor

// This file holds what linked components are given and how they are put away.

import (
	"fmt"
	"maps"

	"github.com/gust-stream/gust/multilang/component"
)

// context is what a linked component is told about itself.
func (t *task) context() *component.Context {
	cfg := &t.engine.config
	return &component.Context{
		Topology: cfg.TopologyID, Component: t.component, Task: t.id, Conf: maps.Clone(map[string]any(t.conf)), Tasks: cfg.Tasks.Map(), Dir: cfg.Resources,
	}
}

// introduce tells a linked component the credentials before anything else.
func (c *core) introduce(linked any) {
	if l, ok := linked.(component.CredentialsListener); ok && c.credentials != nil {
		l.SetCredentials(maps.Clone(*c.credentials))
	}
}

// attend does what has come due beside tuples. Linked components are told of renewed credentials.
func (c *core) attend(now int64) {
	c.timers.run(now)
	if latest := c.engine.credentials.Load(); latest != c.credentials {
		c.credentials = latest
		for _, t := range c.tasks {
			c.introduce(t.linked)
		}
	}
}

// close closes linked components.
func (c *core) close() {
	for _, t := range c.tasks {
		if closer, ok := t.linked.(component.Closer); ok {
			if err := guard(closer.Close); err != nil {
				t.Report(fmt.Errorf("close: %w", err))
			}
		}
		t.linked = nil
	}
}
