// SPDX-License-Identifier: Apache-2.0

package component

// This file is what a child does for its component: it is the Runner behind the outputs.

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

var _ Runner = (*child)(nil)

// Emit sends values to the parent, and waits for the tasks that it went to if they are asked for.
func (c *child) Emit(s *Stream, anchor *Tuple, more []*Tuple, id any, values []any, want bool) ([]int32, error) {
	if err := c.emission(s, anchor, more, id, values, nil, want); err != nil || !want {
		return nil, err
	}
	for {
		m, err := c.fresh()
		if err != nil {
			return nil, fmt.Errorf("wait for task ids: %w", err)
		}
		if m.ids == nil {
			c.waiting = append(c.waiting, m)
			continue
		}
		tasks := make([]int32, len(m.ids))
		for i, id := range m.ids {
			var ok bool
			if tasks[i], ok = task(id); !ok {
				return nil, fmt.Errorf("emit on stream %q: the parent's task ids are %v", s.Name, m.ids)
			}
		}
		return tasks, nil
	}
}

// EmitDirect sends values to the parent for one task.
func (c *child) EmitDirect(task int32, s *Stream, anchor *Tuple, more []*Tuple, id any, values []any) error {
	return c.emission(s, anchor, more, id, values, task, false)
}

// emission sends an emit, checked as the parent would, which ends the child over what is wrong.
func (c *child) emission(s *Stream, anchor *Tuple, more []*Tuple, id any, values []any, task any, want bool) error {
	if s.Fields != nil && len(s.Fields) != len(values) {
		return fmt.Errorf("emit on stream %q: %d values for the fields %q", s.Name, len(values), s.Fields)
	}
	c.anchors = c.anchors[:0]
	if anchor != nil {
		c.anchors = append(c.anchors, anchor.ID)
	}
	for _, t := range more {
		c.anchors = append(c.anchors, t.ID)
	}
	if slices.Contains(c.anchors, any("")) {
		return fmt.Errorf("emit on stream %q: %w", s.Name, errDone)
	}
	c.out.begin("emit")
	c.out.text("stream", s.Name)
	if len(c.anchors) > 0 {
		c.out.value("anchors", c.anchors)
	}
	if id != nil {
		c.out.value("id", id)
	}
	if task != nil {
		c.out.value("task", task)
	}
	c.out.value("need_task_ids", want)
	c.out.value("tuple", values)
	if err := c.out.end(); err != nil {
		return fmt.Errorf("emit on stream %q: %w", s.Name, err)
	}
	return nil
}

// errDone is the use of a tuple that the parent has forgotten.
var errDone = errors.New("anchored on a tuple that is acked or failed already")

// Ack tells the parent that a tuple is done.
func (c *child) Ack(t *Tuple) { c.settle("ack", t) }

// Fail tells the parent that a tuple could not be processed.
func (c *child) Fail(t *Tuple) { c.settle("fail", t) }

// settle takes the tuple's id from it: to the parent it is unknown from then on, and a second ack would end the child.
func (c *child) settle(command string, t *Tuple) {
	if t.ID == "" {
		return
	}
	c.out.begin(command)
	c.out.text("id", t.ID)
	_ = c.out.end() // the loop sees a broken pipe
	t.ID = ""
}

// Report tells the parent of an error.
func (c *child) Report(err error) {
	c.out.begin("error")
	c.out.text("msg", strings.ToValidUTF8(err.Error(), "\ufffd"))
	_ = c.out.end() // the loop sees a broken pipe
}

// Log has the parent write a line.
func (c *child) Log(level Level, text string) {
	c.out.begin("log")
	c.out.text("msg", strings.ToValidUTF8(text, "\ufffd"))
	c.out.value("level", int(level))
	_ = c.out.end() // the loop sees a broken pipe
}

// Metric adds a value to a metric.
func (c *child) Metric(name string, value any) {
	c.out.begin("metrics")
	c.out.text("name", name)
	c.out.value("params", value)
	if err := c.out.end(); err != nil {
		c.Report(fmt.Errorf("metric %q: %w", name, err))
	}
}

// sync says that a command is done, or that the child lives.
func (c *child) sync() error {
	c.out.begin("sync")
	return c.out.end()
}
