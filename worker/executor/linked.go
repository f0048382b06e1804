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
