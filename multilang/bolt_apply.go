// SPDX-License-Identifier: Apache-2.0

package multilang

// This file carries out what a bolt's child says.

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/gust-stream/gust/multilang/codec"
	"github.com/gust-stream/gust/tuple"
)

func (b *Bolt) start() {}

func (b *Bolt) apply(m *message) error {
	b.silent = 0
	switch m.kind {
	case kindEmit:
		return b.emit(m)
	case kindAck, kindFail:
		s, place, ok := b.find(m.ref)
		if !ok {
			return fmt.Errorf("%w: it %s id %q, which is not outstanding", ErrProtocol, map[kind]string{kindAck: "acked", kindFail: "failed"}[m.kind], m.named())
		}
		t := s.tuple
		b.release(place)
		switch {
		case t == nil: // failed before, by us
		case m.kind == kindAck:
			b.runner.Ack(t)
		default:
			b.runner.Fail(t)
		}
		return nil
	case kindLog:
		b.unsaid(m)
	default:
	}
	return b.say(m)
}

// named is the id that a message names, as the child wrote it.
func (m *message) named() string {
	if m.ref != 0 {
		return strconv.FormatUint(uint64(m.ref), 10)
	}
	return m.text
}

func (b *Bolt) emit(m *message) error {
	anchor, more, err := b.anchors(m)
	if err != nil {
		return err
	}
	if m.badText != nil {
		b.failRefs(m.refs, fmt.Errorf("the child emitted %w", m.badText))
		if m.want && !m.direct {
			b.ids = appendTaskIDs(b.ids, b.child.out.format, nil)
		}
		return nil
	}
	tasks, err := b.executorSide.emit(m, anchor, more, nil)
	if err == nil && m.want && !m.direct {
		b.ids = appendTaskIDs(b.ids, b.child.out.format, tasks)
	}
	return err
}

// anchors finds the tuples that an emit is anchored on. Those that were failed by us are left out.
func (b *Bolt) anchors(m *message) (*tuple.Tuple, []*tuple.Tuple, error) {
	var first *tuple.Tuple
	b.more = b.more[:0]
	for _, r := range m.refs {
		s, _, ok := b.find(r)
		if !ok {
			return nil, nil, fmt.Errorf("%w: it anchored a tuple on id \"%d\", which is not outstanding", ErrProtocol, r)
		}
		switch {
		case s.tuple == nil:
		case first == nil:
			first = s.tuple
		default:
			b.more = append(b.more, s.tuple)
		}
	}
	return first, b.more, nil
}

// failRefs fails tuples for the child, which may go on to name them, and reports why.
func (b *Bolt) failRefs(refs []ref, why error) {
	b.runner.Report(fmt.Errorf("component %s, task %d: %w", b.child.cfg.Component, b.child.cfg.Task, why))
	for _, r := range refs {
		if s, _, ok := b.find(r); ok && s.tuple != nil {
			t := s.tuple
			s.tuple = nil
			b.runner.Fail(t)
		}
	}
}

// unsaid looks for pystorm's word that it could not write an emit: it drops the emit, and acks the tuple as if nothing had happened. A
// child that waits for the task ids of such an emit would wait forever.
func (b *Bolt) unsaid(m *message) {
	lost, ok := lostEmit(m)
	if !ok {
		return
	}
	b.failRefs(lost.anchors, errors.New("an emit was lost, since pystorm could not write it: "+lost.reason))
	if lost.want {
		b.ids = appendTaskIDs(b.ids, b.child.out.format, nil)
	}
}

func (b *Bolt) applied() {
	b.child.working.Store(b.held > 0)
	if len(b.ids) == 0 {
		return
	}
	if err := b.child.out.putIDs(b.ids, b.child.cfg.Settings.MaxTaskIDs); err != nil && !b.broken {
		b.broken = true
		b.child.fault(err)
	}
	b.ids = b.ids[:0]
}

func appendTaskIDs(dst []byte, f codec.Format, tasks []int32) []byte {
	if f == codec.Msgpack {
		list := make([]any, len(tasks))
		for i, t := range tasks {
			list[i] = int64(t)
		}
		dst, _ = codec.Append(dst, f, list)
		return dst
	}
	dst = append(dst, '[')
	for i, t := range tasks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(t), 10)
	}
	return append(dst, "]\nend\n"...)
}

// emit is what bolts and spouts do alike.
func (e *executorSide) emit(m *message, anchor *tuple.Tuple, more []*tuple.Tuple, id any) ([]int32, error) {
	if m.stream == nil {
		return nil, fmt.Errorf("%w: it emitted on stream %q, which the component does not declare", ErrProtocol, m.text)
	}
	if m.direct {
		if err := e.runner.EmitDirect(m.task, m.stream, anchor, more, id, m.values); err != nil {
			return nil, fmt.Errorf("emit to task %d on stream %q: %w", m.task, m.stream.Name, err)
		}
		return nil, nil
	}
	tasks, err := e.runner.Emit(m.stream, anchor, more, id, m.values, m.want)
	if err != nil {
		return nil, fmt.Errorf("emit on stream %q: %w", m.stream.Name, err)
	}
	return tasks, nil
}

// maxText bounds a child's log message or error in bytes: many components share a log, and a message may have megabytes.
const maxText = 256 << 10

// say carries out what has nothing to do with tuples. What is unknown is left out, as Storm's bolts do.
func (e *executorSide) say(m *message) error {
	switch m.kind {
	case kindLog:
		if m.level >= e.child.cfg.Settings.LogLevel {
			e.runner.Log(m.level, clip(m.text, maxText))
		}
	case kindError:
		e.runner.Report(&reportedError{clip(m.text, maxText)})
	case kindMetrics:
		if m.name == "" {
			return fmt.Errorf("%w: a metric without a name", ErrProtocol)
		}
		e.runner.Metric(m.name, m.param)
	default:
	}
	return nil
}

// reportedError is an error that a child tells, in Storm's words.
type reportedError struct{ text string }

func (e *reportedError) Error() string { return "Shell Process Exception: " + e.text }
