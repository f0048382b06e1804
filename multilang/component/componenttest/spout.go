// SPDX-License-Identifier: Apache-2.0

package componenttest

// This file tests spouts.

import (
	"testing"

	"github.com/gust-stream/gust/multilang/component"
)

// Spout is a spout under test.
type Spout struct {
	// Opened is what it did when it was opened.
	Opened *Step

	runner *runner
	spout  component.Spout
	out    *component.SpoutOutput
}

// NewSpout opens a spout; an error of that ends the test.
func NewSpout(tb testing.TB, s component.Spout, o Options) *Spout {
	tb.Helper()
	r := newRunner(tb, o)
	t := &Spout{runner: r, spout: s, out: component.NewSpoutOutput(r, r.streams()), Opened: r.step}
	if p, ok := s.(component.Opener); ok {
		if err := p.Open(r.context(), t.out); err != nil {
			tb.Fatalf("open: %v", err)
		}
	}
	return t
}

// Next asks the spout for tuples.
func (s *Spout) Next() *Step {
	step := s.runner.begin()
	if err := s.spout.Next(s.out); err != nil {
		s.runner.Report(err)
	}
	return step
}

// Ack tells the spout that the tuple with an id, as Emitted has it, is done.
func (s *Spout) Ack(id any) *Step {
	return s.acker(func(a component.Acker) { a.Ack(id) })
}

// Fail tells the spout that the tuple with an id, as Emitted has it, failed.
func (s *Spout) Fail(id any) *Step {
	return s.acker(func(a component.Acker) { a.Fail(id) })
}

func (s *Spout) acker(tell func(component.Acker)) *Step {
	step := s.runner.begin()
	if a, ok := s.spout.(component.Acker); ok {
		tell(a)
	}
	return step
}

// Activate tells the spout that its topology was activated.
func (s *Spout) Activate() *Step { return s.activator(component.Activator.Activate) }

// Deactivate tells the spout that its topology was deactivated.
func (s *Spout) Deactivate() *Step { return s.activator(component.Activator.Deactivate) }

func (s *Spout) activator(tell func(component.Activator)) *Step {
	step := s.runner.begin()
	if a, ok := s.spout.(component.Activator); ok {
		tell(a)
	}
	return step
}

// Close closes the spout if it has something to close.
func (s *Spout) Close() *Step { return s.runner.closing(s.spout) }
