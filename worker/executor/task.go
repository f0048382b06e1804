// SPDX-License-Identifier: Apache-2.0

package executor

// This file is what a task does for its component: it is the Runner behind its outputs, linked or child.

import (
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/acker"
	"github.com/gust-stream/gust/worker/metrics"
	"github.com/gust-stream/gust/worker/transfer"
)

var _ component.Runner = (*task)(nil)

// task is one instance of a component.
type task struct {
	*core

	id      int32
	spout   *spout // its executor if that is one of spouts
	streams []*component.Stream
	outs    []out // by Stream.Index
	metrics out   // to metrics consumers
	events  *out  // to event loggers, nil if there are none
	lines   *zap.Logger
	counts  counts

	ackSources [acker.Reset + 1]*tuple.Source
	ackStats   [acker.Reset + 1]*metrics.Output
	stats      *metrics.Task
	errors     *metrics.Count
	emits      sampler
	inputs     map[*tuple.Source]*metrics.Input

	linked any    // the component once it is opened or prepared, nil if it is a child
	child  *child // nil if it is linked
}

// out is one stream that a task emits on.
type out struct {
	source *tuple.Source
	route  *transfer.Route
	stats  *metrics.Output
}

// Errors of what components ask for.
var (
	errStream  = errors.New("the stream is not one of this task's")
	errSettled = errors.New("anchored on a tuple that is acked or failed already")
)

// Emit sends values on a stream.
func (t *task) Emit(s *component.Stream, anchor *tuple.Tuple, more []*tuple.Tuple, id any, values []any, want bool) ([]int32, error) {
	o, err := t.check(s, anchor, more, values)
	if err != nil {
		return nil, err
	}
	to, err := o.route.Choose(values, t.chosen[:0])
	if err != nil {
		return nil, fmt.Errorf("emit on stream %q: %w", s.Name, err)
	}
	t.chosen = to
	t.send(o, to, anchor, more, id, values)
	if want {
		return slices.Clone(to), nil
	}
	return nil, nil
}

// EmitDirect sends values to one task.
func (t *task) EmitDirect(to int32, s *component.Stream, anchor *tuple.Tuple, more []*tuple.Tuple, id any, values []any) error {
	o, err := t.check(s, anchor, more, values)
	if err != nil {
		return err
	}
	takes, err := o.route.Direct(to)
	if err != nil {
		return fmt.Errorf("emit on stream %q to task %d: %w", s.Name, to, err)
	}
	list := [1]int32{to}
	n := 0
	if takes {
		n = 1
	}
	t.send(o, list[:n], anchor, more, id, values)
	return nil
}

func (t *task) check(s *component.Stream, anchor *tuple.Tuple, more []*tuple.Tuple, values []any) (*out, error) {
	if s.Index >= len(t.streams) || t.streams[s.Index] != s {
		return nil, fmt.Errorf("emit on stream %q: %w", s.Name, errStream)
	}
	if len(values) != len(s.Fields) {
		return nil, fmt.Errorf("emit on stream %q: %d values for the fields %q", s.Name, len(values), s.Fields)
	}
	if anchor != nil && anchor.Settled() {
		return nil, fmt.Errorf("emit on stream %q: %w", s.Name, errSettled)
	}
	for _, a := range more {
		if a.Settled() {
			return nil, fmt.Errorf("emit on stream %q: %w", s.Name, errSettled)
		}
	}
	return &t.outs[s.Index], nil
}

// send sends one tuple to each of some tasks.
func (t *task) send(o *out, to []int32, anchor *tuple.Tuple, more []*tuple.Tuple, id any, values []any) {
	t.counts.Emitted++
	sampled := t.emits.hit()
	if sampled {
		o.stats.Emitted(len(to))
	}
	if t.events != nil {
		t.debugged(values, id)
	}
	switch {
	case t.spout != nil:
		if id != nil {
			t.spout.track(t, o, to, id, values, sampled)
			return
		}
	case anchor == nil:
	case len(more) > 0 || len(anchor.More) > 0:
		t.sendJoined(o, to, append([]*tuple.Tuple{anchor}, more...), values)
		return
	case anchor.Tracked():
		for _, task := range to {
			sent := t.tuple(o.source, values)
			sent.Anchor = tuple.Anchor{Root: anchor.Anchor.Root, Edge: t.ids.next()}
			anchor.Children ^= sent.Anchor.Edge
			t.router.Send(task, sent)
		}
		return
	}
	for _, task := range to {
		t.router.Send(task, t.tuple(o.source, values))
	}
}

// sendJoined sends tuples that belong to several trees. As in Storm each anchor gives the tuple an edge of its own, and where anchors share a
// tree the tuple has the XOR of their edges in it.
func (t *task) sendJoined(o *out, to []int32, anchors []*tuple.Tuple, values []any) {
	for _, task := range to {
		sent := t.tuple(o.source, values)
		for _, a := range anchors {
			if !a.Tracked() {
				continue
			}
			edge := t.ids.next()
			a.Children ^= edge
			join(sent, a.Anchor.Root, edge)
			for _, more := range a.More {
				join(sent, more.Root, edge)
			}
		}
		t.router.Send(task, sent)
	}
}

func join(t *tuple.Tuple, root, edge int64) {
	switch t.Anchor.Root {
	case 0:
		t.Anchor = tuple.Anchor{Root: root, Edge: edge}
		return
	case root:
		t.Anchor.Edge ^= edge
		return
	}
	for i := range t.More {
		if t.More[i].Root == root {
			t.More[i].Edge ^= edge
			return
		}
	}
	t.More = append(t.More, tuple.Anchor{Root: root, Edge: edge})
}

// Ack tells the trees of a tuple that it is done. A second time does nothing.
func (t *task) Ack(done *tuple.Tuple) {
	started, ok := settle(done)
	if !ok {
		return
	}
	t.counts.Acked++
	if done.Tracked() && len(t.engine.ackers) > 0 {
		t.tell(t, acker.Message{Root: done.Anchor.Root, Value: done.Anchor.Edge ^ done.Children, Kind: acker.Ack})
		for _, a := range done.More {
			t.tell(t, acker.Message{Root: a.Root, Value: a.Edge ^ done.Children, Kind: acker.Ack})
		}
	}
	if started != 0 {
		t.input(done).Acked(t.since(started))
	}
}

// Fail tells the trees of a tuple that they failed.
func (t *task) Fail(done *tuple.Tuple) {
	started, ok := settle(done)
	if !ok {
		return
	}
	t.counts.Failed++
	if done.Tracked() && len(t.engine.ackers) > 0 {
		t.tell(t, acker.Message{Root: done.Anchor.Root, Kind: acker.Fail})
		for _, a := range done.More {
			t.tell(t, acker.Message{Root: a.Root, Kind: acker.Fail})
		}
	}
	if started != 0 {
		t.input(done).Failed()
	}
}

// settle marks a tuple; false says that it was before.
func settle(t *tuple.Tuple) (started int64, ok bool) {
	started = t.Started
	t.Started = tuple.Settled
	return started, started != tuple.Settled
}

// Report makes err the component's error.
func (t *task) Report(err error) {
	t.counts.Errors++
	t.errors.Add(1)
	t.engine.config.Report(t.component, t.id, err)
}

// Log writes a component's line.
func (t *task) Log(level component.Level, message string) {
	switch level {
	case component.Trace, component.Debug:
		t.lines.Debug(message)
	case component.Warn:
		t.lines.Warn(message)
	case component.Error:
		t.lines.Error(message)
	case component.Info:
		t.lines.Info(message)
	default:
		t.lines.Info(message)
	}
}

// Metric adds a value to a metric.
func (t *task) Metric(name string, value any) {
	if err := t.stats.Add(name, value); err != nil {
		t.Report(err)
	}
}
