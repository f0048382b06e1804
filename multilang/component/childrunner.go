// SPDX-License-Identifier: Apache-2.0

package component

// This file is what a child does for its component: it is the Runner behind the outputs.

import (
	"errors"
	"fmt"
)

var _ Runner = (*child)(nil)

// Emit sends values to the parent, and waits for the tasks that it went to if they are asked for.
func (c *child) Emit(s *Stream, anchor *Tuple, more []*Tuple, id any, values []any, want bool) ([]int32, error) {
	m, err := emission(s, anchor, more, id, values)
	if err != nil {
		return nil, err
	}
	if err := c.out.send(append(m, entry{"need_task_ids", want})); err != nil {
		return nil, fmt.Errorf("emit on stream %q: %w", s.Name, err)
	}
	if !want {
		return nil, nil
	}
	for {
		m, err := c.fresh()
		if err != nil {
			return nil, fmt.Errorf("wait for task ids: %w", err)
		}
		list, ok := m.([]any)
		if !ok {
			c.waiting = append(c.waiting, m)
			continue
		}
		tasks := make([]int32, len(list))
		for i := range list {
			if tasks[i], ok = task(list[i]); !ok {
				return nil, fmt.Errorf("emit on stream %q: the parent's task ids are %v", s.Name, list)
			}
		}
		return tasks, nil
	}
}

// EmitDirect sends values to the parent for one task.
func (c *child) EmitDirect(task int32, s *Stream, anchor *Tuple, more []*Tuple, id any, values []any) error {
	m, err := emission(s, anchor, more, id, values)
	if err != nil {
		return err
	}
	if err := c.out.send(append(m, entry{"task", task}, entry{"need_task_ids", false})); err != nil {
		return fmt.Errorf("emit on stream %q: %w", s.Name, err)
	}
	return nil
}

// emission is the message of an emit, checked as the parent would, which ends the child over what is wrong.
func emission(s *Stream, anchor *Tuple, more []*Tuple, id any, values []any) (message, error) {
	if s.Fields != nil && len(s.Fields) != len(values) {
		return nil, fmt.Errorf("emit on stream %q: %d values for the fields %q", s.Name, len(values), s.Fields)
	}
	m := append(make(message, 0, 8), entry{"command", "emit"}, entry{"stream", s.Name}, entry{"tuple", values})
	if id != nil {
		m = append(m, entry{"id", id})
	}
	if anchor == nil {
		return m, nil
	}
	anchors := make([]string, 0, 1+len(more))
	for _, t := range append([]*Tuple{anchor}, more...) {
		if t.ID == "" {
			return nil, fmt.Errorf("emit on stream %q: %w", s.Name, errDone)
		}
		anchors = append(anchors, t.ID)
	}
	return append(m, entry{"anchors", anchors}), nil
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
	_ = c.out.send(message{{"command", command}, {"id", t.ID}}) // the loop sees a broken pipe
	t.ID = ""
}

// Report tells the parent of an error.
func (c *child) Report(err error) {
	_ = c.out.send(message{{"command", "error"}, {"msg", err.Error()}}) // the loop sees a broken pipe
}

// Log has the parent write a line.
func (c *child) Log(level Level, text string) {
	_ = c.out.send(message{{"command", "log"}, {"msg", text}, {"level", int(level)}}) // the loop sees a broken pipe
}

// Metric adds a value to a metric.
func (c *child) Metric(name string, value any) {
	if err := c.out.send(message{{"command", "metrics"}, {"name", name}, {"params", value}}); err != nil {
		c.Report(fmt.Errorf("metric %q: %w", name, err))
	}
}

// sync says that a command is done, or that the child lives.
func (c *child) sync() error { return c.out.send(message{{"command", "sync"}}) }
