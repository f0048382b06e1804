// SPDX-License-Identifier: Apache-2.0

package componenttest

// This file stands in for a worker.

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/gust-stream/gust/multilang/codec"
	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/tuple"
)

// Options say where a component finds itself. All may be left out.
type Options struct {
	// Output are the fields of the default stream, Streams those of further streams.
	Output  []string
	Streams map[string][]string
	// Direct are the names of streams that are direct.
	Direct []string
	// Component and Task are the component's own, "tested" and 1 if they are left out.
	Component string
	Task      int32
	Conf      map[string]any
	// Tasks are the topology's tasks, Targets those that an emit goes to.
	Tasks   map[int32]string
	Targets []int32
	Dir     string
	// Pipe passes values on as the multilang protocol would, where an integer is an int64 and bytes are text.
	Pipe bool
}

// Emitted is one tuple that a component emitted.
type Emitted struct {
	Stream  string
	Values  []any
	Anchors []*component.Tuple
	// ID is the spout's name for it.
	ID any
	// Task is the task that it was sent to directly, 0 for other emits.
	Task int32
}

// Metric is a value that a component gave to a metric.
type Metric struct {
	Name  string
	Value any
}

// Step is what one call of a component made it do.
type Step struct {
	Emitted []Emitted
	// Errors are those that it returned and those that it reported, as people would see them in the UI.
	Errors  []error
	Logs    []string
	Metrics []Metric
}

// Values are the values emitted on the default stream.
func (s *Step) Values() [][]any { return s.On(tuple.DefaultStream) }

// On are the values emitted on a stream.
func (s *Step) On(stream string) [][]any {
	var all [][]any
	for _, e := range s.Emitted {
		if e.Stream == stream {
			all = append(all, e.Values)
		}
	}
	return all
}

// runner is the worker of a component under test.
type runner struct {
	tb      testing.TB
	options Options
	step    *Step
	sent    map[*component.Tuple]*Sent // neither acked nor failed
}

var _ component.Runner = (*runner)(nil)

func newRunner(tb testing.TB, o Options) *runner {
	tb.Helper()
	if o.Component == "" {
		o.Component = "tested"
	}
	if o.Task == 0 {
		o.Task = 1
	}
	return &runner{tb: tb, options: o, step: &Step{}, sent: map[*component.Tuple]*Sent{}}
}

func (r *runner) context() *component.Context {
	o := r.options
	conf := maps.Clone(o.Conf)
	if conf == nil {
		conf = map[string]any{}
	}
	return &component.Context{Topology: "test-1-0", Component: o.Component, Task: o.Task, Conf: conf, Tasks: o.Tasks, Dir: o.Dir}
}

// streams are the component's streams by name, as outputs want them.
func (r *runner) streams() []*component.Stream {
	all := maps.Clone(r.options.Streams)
	if all == nil {
		all = map[string][]string{}
	}
	if r.options.Output != nil {
		all[tuple.DefaultStream] = r.options.Output
	}
	out := make([]*component.Stream, 0, len(all))
	for i, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, &component.Stream{Name: name, Fields: all[name], Direct: slices.Contains(r.options.Direct, name), Index: i})
	}
	return out
}

// begin opens the next step.
func (r *runner) begin() *Step {
	r.step = &Step{}
	return r.step
}

// piped is a value as the other end of a pipe has it.
func (r *runner) piped(v any) (any, error) {
	if !r.options.Pipe {
		return v, nil
	}
	text, err := codec.Append(nil, codec.JSON, v)
	if err != nil {
		return nil, err
	}
	return codec.Decode(text, codec.JSON)
}

// Emit notes a tuple.
func (r *runner) Emit(s *component.Stream, anchor *component.Tuple, more []*component.Tuple, id any, values []any, want bool) ([]int32, error) {
	if s.Direct {
		return nil, fmt.Errorf("emit on stream %q: it is direct", s.Name)
	}
	if err := r.emit(0, s, anchor, more, id, values); err != nil || !want {
		return nil, err
	}
	return slices.Clone(r.options.Targets), nil
}

// EmitDirect notes a tuple for a task.
func (r *runner) EmitDirect(task int32, s *component.Stream, anchor *component.Tuple, more []*component.Tuple, id any, values []any) error {
	if !s.Direct {
		return fmt.Errorf("emit on stream %q: it is not direct", s.Name)
	}
	return r.emit(task, s, anchor, more, id, values)
}

func (r *runner) emit(task int32, s *component.Stream, anchor *component.Tuple, more []*component.Tuple, id any, values []any) error {
	if len(values) != len(s.Fields) {
		return fmt.Errorf("emit on stream %q: %d values for the fields %q", s.Name, len(values), s.Fields)
	}
	e := Emitted{Stream: s.Name, Task: task}
	if anchor != nil {
		e.Anchors = append([]*component.Tuple{anchor}, more...)
	}
	for _, t := range e.Anchors {
		if r.sent[t] == nil {
			return fmt.Errorf("emit on stream %q: anchored on a tuple that is acked or failed already", s.Name)
		}
	}
	out, err := r.piped(values)
	if err != nil {
		return fmt.Errorf("emit on stream %q: %w", s.Name, err)
	}
	e.Values, _ = out.([]any)
	if e.ID, err = r.piped(id); err != nil {
		return fmt.Errorf("emit on stream %q: id: %w", s.Name, err)
	}
	r.step.Emitted = append(r.step.Emitted, e)
	return nil
}

// Ack notes that a tuple is done.
func (r *runner) Ack(t *component.Tuple) { r.settle(t, func(s *Sent) { s.Acked = true }) }

// Fail notes that a tuple failed.
func (r *runner) Fail(t *component.Tuple) { r.settle(t, func(s *Sent) { s.Failed = true }) }

func (r *runner) settle(t *component.Tuple, how func(*Sent)) {
	if s := r.sent[t]; s != nil {
		how(s)
		delete(r.sent, t)
	}
}

// Report notes an error.
func (r *runner) Report(err error) { r.step.Errors = append(r.step.Errors, err) }

// Log notes a line.
func (r *runner) Log(_ component.Level, message string) { r.step.Logs = append(r.step.Logs, message) }

// Metric notes a value.
func (r *runner) Metric(name string, value any) {
	r.step.Metrics = append(r.step.Metrics, Metric{Name: name, Value: value})
}

// closing closes a component and notes its error.
func (r *runner) closing(c any) *Step {
	s := r.begin()
	if closer, ok := c.(component.Closer); ok {
		if err := closer.Close(); err != nil {
			s.Errors = append(s.Errors, err)
		}
	}
	return s
}
