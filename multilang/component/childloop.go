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
func (c *child) tuple(m any) (*Tuple, error) {
	message, ok := m.(map[string]any)
	values, list := message["tuple"].([]any)
	if !ok || !list {
		if ids, ok := m.([]any); ok {
			return nil, fmt.Errorf("the parent sent task ids that nobody waits for: %v", ids)
		}
		return nil, fmt.Errorf("the parent sent what is no tuple: %.200v", m)
	}
	t := &Tuple{Values: values, ID: text(message["id"])}
	if n, ok := message["id"].(int64); ok {
		t.ID = strconv.FormatInt(n, 10)
	}
	at := place{component: text(message["comp"]), stream: text(message["stream"])}
	if at.task, ok = task(message["task"]); !ok {
		return nil, fmt.Errorf("the parent sent a tuple of task %v", message["task"])
	}
	if t.Source, ok = c.sources[at]; !ok {
		streams, _ := c.fields[at.component].(map[string]any)
		t.Source = &tuple.Source{Component: at.component, Stream: at.stream, Task: at.task, Fields: texts(streams[at.stream])}
		c.sources[at] = t.Source
	}
	return t, nil
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
		if ids, ok := m.([]any); ok {
			c.Log(Warn, fmt.Sprintf("the parent sent task ids that nobody waits for: %v", ids))
			continue
		}
		message, _ := m.(map[string]any)
		c.command(s, out, text(message["command"]), message)
		if err := c.sync(); err != nil {
			return ending(s, err)
		}
	}
}

// command has a spout do one thing. An unknown one is answered all the same, since the parent waits.
func (c *child) command(s Spout, out *SpoutOutput, command string, message map[string]any) {
	acker, _ := s.(Acker)
	activator, _ := s.(Activator)
	switch command {
	case "next":
		if err := s.Next(out); err != nil {
			c.Report(err)
		}
	case "ack":
		if acker != nil {
			acker.Ack(message["id"])
		}
	case "fail":
		if acker != nil {
			acker.Fail(message["id"])
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
		c.Log(Warn, fmt.Sprintf("the parent sent what is no command: %.200v", message))
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
