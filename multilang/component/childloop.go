// SPDX-License-Identifier: Apache-2.0

package component

// This file holds what a child does after the handshake: a bolt takes tuples, a spout commands.

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/gust-stream/gust/tuple"
)

// heartbeat is the stream on which a parent asks whether the child lives.
const heartbeat = "__heartbeat"

// bolt feeds a bolt until the end.
func (c *child) bolt(b Bolt) error {
	out := NewOutput(c, c.streams)
	if p, ok := b.(Preparer); ok {
		if err := p.Prepare(&c.context, out); err != nil {
			return fmt.Errorf("prepare %s: %w", c.context.Component, err)
		}
	}
	for {
		m, err := c.next()
		if err != nil {
			return ending(b, err)
		}
		t, err := c.tuple(m)
		switch {
		case err != nil:
			c.Log(Warn, err.Error())
		case m.bad != nil:
			c.Report(fmt.Errorf("tuple of %s, stream %s: %w", t.Component, t.Stream, m.bad))
			c.Fail(t)
		case t.Stream == heartbeat && t.Task == tuple.SystemTask:
			if err := c.sync(); err != nil {
				return ending(b, err)
			}
		default:
			if err := b.Execute(t, out); err != nil {
				c.Report(err)
				c.Fail(t)
			}
			if t.IsTick() {
				c.Ack(t) // else the parent would remember it for ever
			}
		}
	}
}

// tuple makes a tuple of a message.
func (c *child) tuple(m incoming) (*Tuple, error) {
	if m.values == nil {
		return nil, unexpected(m)
	}
	at := place{component: m.component, stream: m.stream}
	var ok bool
	if at.task, ok = task(m.task); !ok {
		return nil, fmt.Errorf("the parent sent a tuple of task %v", m.task)
	}
	t := &Tuple{Values: m.values}
	switch id := m.id.(type) {
	case string:
		t.ID = id
	case int64:
		t.ID = strconv.FormatInt(id, 10)
	}
	if t.Source, ok = c.sources[at]; !ok {
		streams, _ := c.fields[at.component].(map[string]any)
		t.Source = &tuple.Source{Component: at.component, Stream: at.stream, Task: at.task, Fields: texts(streams[at.stream])}
		c.sources[at] = t.Source
	}
	return t, nil
}

// unexpected is an error for a message that has no place here.
func unexpected(m incoming) error {
	switch {
	case m.ids != nil:
		return fmt.Errorf("the parent sent task ids that nobody waits for: %v", m.ids)
	case m.command != "":
		return fmt.Errorf("the parent sent the unknown command %q", m.command)
	case m.values != nil:
		return fmt.Errorf("the parent sent a spout a tuple of %q", m.component)
	}
	return fmt.Errorf("the parent sent what is no message: %q", m.raw)
}

// spout does what the parent says until the end.
func (c *child) spout(s Spout) error {
	out := NewSpoutOutput(c, c.streams)
	if o, ok := s.(Opener); ok {
		if err := o.Open(&c.context, out); err != nil {
			return fmt.Errorf("open %s: %w", c.context.Component, err)
		}
	}
	for {
		m, err := c.next()
		if err != nil {
			return ending(s, err)
		}
		if m.ids != nil {
			c.Log(Warn, unexpected(m).Error())
			continue
		}
		c.command(s, out, m)
		if err := c.sync(); err != nil {
			return ending(s, err)
		}
	}
}

// command has a spout do one thing. An unknown one is answered all the same, since the parent waits.
func (c *child) command(s Spout, out *SpoutOutput, m incoming) {
	acker, _ := s.(Acker)
	activator, _ := s.(Activator)
	switch m.command {
	case "next":
		if err := s.Next(out); err != nil {
			c.Report(err)
		}
	case "ack":
		if acker != nil {
			acker.Ack(m.id)
		}
	case "fail":
		if acker != nil {
			acker.Fail(m.id)
		}
	case "activate":
		if activator != nil {
			activator.Activate()
		}
	case "deactivate":
		if activator != nil {
			activator.Deactivate()
		}
	default:
		c.Log(Warn, unexpected(m).Error())
	}
}

// ending closes a component at the end of its messages.
func ending(component any, why error) error {
	c, ok := component.(Closer)
	if !ok {
		return why
	}
	err := c.Close()
	if errors.Is(why, io.EOF) && err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return errors.Join(why, err)
}
