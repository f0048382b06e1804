// SPDX-License-Identifier: Apache-2.0

package component

// This file holds the outputs that components emit through. They are thin: what runs the component is behind Runner.

import (
	"fmt"

	"github.com/gust-stream/gust/tuple"
)

// Level is the level of a log line, by the protocol's numbers.
type Level int

// The levels of the multilang protocol.
const (
	Trace Level = iota
	Debug
	Info
	Warn
	Error
)

// Runner runs a component: a Go worker's executor, the loop over a child's pipes, or a test. Calls come from the goroutine that
// called the component. Slices of values given to it are its own from then on.
type Runner interface {
	// Emit sends values on a stream. anchor and more are the tuples that it is anchored on (bolts), id is the spout's name for it
	// (spouts, nil if untracked). With want it gives the tasks that got it, which the caller may keep.
	Emit(s *Stream, anchor *Tuple, more []*Tuple, id any, values []any, want bool) ([]int32, error)
	// EmitDirect is Emit to one task on a direct stream.
	EmitDirect(task int32, s *Stream, anchor *Tuple, more []*Tuple, id any, values []any) error
	Ack(t *Tuple)
	Fail(t *Tuple)
	// Report makes err the component's error, which people see in the UI.
	Report(err error)
	Log(level Level, message string)
	// Metric adds a value to a metric of the topology's by that name.
	Metric(name string, value any)
}

// Stream is one of a component's outputs.
type Stream struct {
	Name   string
	Fields []string
	Direct bool
	// Index is the stream's place among the component's streams, sorted by name.
	Index int
}

// slabSize is how many values are allocated at a time. A kept tuple keeps its slab alive.
const slabSize = 512

// slab gives out slices of values, so that an emit does not allocate one.
type slab struct{ free []any }

// keep copies values, which lie on the caller's stack.
func (s *slab) keep(values []any) []any {
	if len(s.free) < len(values) {
		s.free = make([]any, max(slabSize, len(values)))
	}
	own := s.free[:len(values):len(values)]
	s.free = s.free[len(values):]
	copy(own, values)
	return own
}

// outputs is what bolts' and spouts' outputs share.
type outputs struct {
	runner  Runner
	streams []*Stream // sorted by name
	first   *Stream   // the default stream, nil if there is none
	slab    slab
}

func newOutputs(r Runner, streams []*Stream) outputs {
	o := outputs{runner: r, streams: streams}
	o.first = o.find(tuple.DefaultStream)
	return o
}

func (o *outputs) find(name string) *Stream {
	for _, s := range o.streams {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Report makes err the component's error, which people see in the UI.
func (o *outputs) Report(err error) { o.runner.Report(err) }

// Log writes a line into the worker's log.
func (o *outputs) Log(level Level, message string) { o.runner.Log(level, message) }

// Metric adds a value to the topology's metric of that name.
func (o *outputs) Metric(name string, value any) { o.runner.Metric(name, value) }

// Output is what a bolt emits through.
type Output struct{ outputs }

// NewOutput makes a bolt's output; runners call it. streams are sorted by name.
func NewOutput(r Runner, streams []*Stream) *Output { return &Output{newOutputs(r, streams)} }

// Emit sends values on the default stream, anchored on a tuple; a nil anchor sends them untracked. Errors say that there is no
// such stream or that the values do not match its fields.
func (o *Output) Emit(anchor *Tuple, values ...any) error {
	if o.first == nil {
		return undeclared(tuple.DefaultStream)
	}
	_, err := o.runner.Emit(o.first, anchor, nil, nil, o.slab.keep(values), false)
	return err
}

// EmitOn is Emit on a stream. Where it matters, find the stream once with Stream.
func (o *Output) EmitOn(stream string, anchor *Tuple, values ...any) error {
	s := o.find(stream)
	if s == nil {
		return undeclared(stream)
	}
	_, err := o.runner.Emit(s, anchor, nil, nil, o.slab.keep(values), false)
	return err
}

// Ack says that a tuple is done.
func (o *Output) Ack(t *Tuple) { o.runner.Ack(t) }

// Fail says that a tuple could not be processed, so that its spout sends it again.
func (o *Output) Fail(t *Tuple) { o.runner.Fail(t) }

// Stream gives the output for a stream; find it once, in Prepare. If the component declares no such stream, emitting
// on it is an error.
func (o *Output) Stream(name string) *StreamOutput {
	return &StreamOutput{&o.outputs, o.find(name), name}
}

// SpoutOutput is what a spout emits through.
type SpoutOutput struct{ outputs }

// NewSpoutOutput makes a spout's output; runners call it. streams are sorted by name.
func NewSpoutOutput(r Runner, streams []*Stream) *SpoutOutput {
	return &SpoutOutput{newOutputs(r, streams)}
}

// Emit sends values on the default stream. id is the spout's name for the tuple, given back in Ack or Fail; nil sends it untracked.
func (o *SpoutOutput) Emit(id any, values ...any) error {
	if o.first == nil {
		return undeclared(tuple.DefaultStream)
	}
	_, err := o.runner.Emit(o.first, nil, nil, id, o.slab.keep(values), false)
	return err
}

// EmitOn is Emit on a stream. Where it matters, find the stream once with Stream.
func (o *SpoutOutput) EmitOn(stream string, id any, values ...any) error {
	s := o.find(stream)
	if s == nil {
		return undeclared(stream)
	}
	_, err := o.runner.Emit(s, nil, nil, id, o.slab.keep(values), false)
	return err
}

// Stream gives the output for a stream; find it once, in Open.
func (o *SpoutOutput) Stream(name string) *StreamOutput {
	return &StreamOutput{&o.outputs, o.find(name), name}
}

// StreamOutput emits on one stream, in all the ways there are.
type StreamOutput struct {
	out    *outputs
	stream *Stream // nil if undeclared
	name   string
}

// Options say how a tuple is sent.
type Options struct {
	// Anchors are the tuples that a bolt's tuple comes from.
	Anchors []*Tuple
	// ID is a spout's name for its tuple.
	ID any
}

// Send emits values as o says.
func (s *StreamOutput) Send(o Options, values ...any) error {
	_, err := s.send(o, values, false)
	return err
}

// SendAsk is Send and gives the tasks that got the tuple.
func (s *StreamOutput) SendAsk(o Options, values ...any) ([]int32, error) {
	return s.send(o, values, true)
}

func (s *StreamOutput) send(o Options, values []any, want bool) ([]int32, error) {
	if s.stream == nil {
		return nil, undeclared(s.name)
	}
	anchor, more := split(o.Anchors)
	return s.out.runner.Emit(s.stream, anchor, more, o.ID, s.out.slab.keep(values), want)
}

// SendDirect emits to one task of a stream that is declared direct.
func (s *StreamOutput) SendDirect(task int32, o Options, values ...any) error {
	if s.stream == nil {
		return undeclared(s.name)
	}
	anchor, more := split(o.Anchors)
	return s.out.runner.EmitDirect(task, s.stream, anchor, more, o.ID, s.out.slab.keep(values))
}

func undeclared(stream string) error {
	return fmt.Errorf("emit on stream %q: the component declares no such stream", stream)
}

func split(anchors []*Tuple) (*Tuple, []*Tuple) {
	if len(anchors) == 0 {
		return nil, nil
	}
	return anchors[0], anchors[1:]
}
