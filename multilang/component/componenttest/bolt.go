// SPDX-License-Identifier: Apache-2.0

package componenttest

// This file tests bolts.

import (
	"testing"

	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/tuple"
)

// Bolt is a bolt under test.
type Bolt struct {
	// Prepared is what it did when it was prepared.
	Prepared *Step

	runner *runner
	bolt   component.Bolt
	out    *component.Output
}

// Sent is a tuple that was sent to a bolt, and what became of it. A bolt that acks later changes it later.
type Sent struct {
	Step

	Tuple         *component.Tuple
	Acked, Failed bool
}

// NewBolt prepares a bolt; an error of that ends the test.
func NewBolt(tb testing.TB, b component.Bolt, o Options) *Bolt {
	tb.Helper()
	r := newRunner(tb, o)
	t := &Bolt{runner: r, bolt: b, out: component.NewOutput(r, r.streams()), Prepared: r.step}
	if p, ok := b.(component.Preparer); ok {
		if err := p.Prepare(r.context(), t.out); err != nil {
			tb.Fatalf("prepare: %v", err)
		}
	}
	return t
}

// Input is a stream that the test sends a bolt tuples of.
type Input struct {
	bolt   *Bolt
	source *tuple.Source
}

// Input is the default stream of a component with these fields. Its task is 100.
func (b *Bolt) Input(from string, fields ...string) *Input {
	return b.InputOf(tuple.Source{Component: from, Stream: tuple.DefaultStream, Task: 100, Fields: fields})
}

// InputOf is any stream.
func (b *Bolt) InputOf(source tuple.Source) *Input { return &Input{bolt: b, source: &source} }

// Send has the bolt execute a tuple, as many values as there are fields.
func (i *Input) Send(values ...any) *Sent {
	b := i.bolt
	b.runner.tb.Helper()
	if len(values) != len(i.source.Fields) {
		b.runner.tb.Fatalf("send %v: the fields are %q", values, i.source.Fields)
	}
	v, err := b.runner.piped(values)
	if err != nil {
		b.runner.tb.Fatalf("send %v: %v", values, err)
	}
	list, _ := v.([]any)
	return b.execute(&component.Tuple{Source: i.source, Values: list})
}

// Tick has the bolt execute a tick tuple.
func (b *Bolt) Tick() *Sent {
	source := &tuple.Source{Component: tuple.SystemComponent, Stream: tuple.TickStream, Task: tuple.SystemTask, Fields: []string{"rate_secs"}}
	return b.execute(&component.Tuple{Source: source, Values: []any{int64(1)}})
}

func (b *Bolt) execute(t *component.Tuple) *Sent {
	s := &Sent{Tuple: t}
	b.runner.sent[t] = s
	b.runner.step = &s.Step
	if err := b.bolt.Execute(t, b.out); err != nil {
		b.runner.Report(err)
		b.runner.Fail(t)
	}
	return s
}

// Close closes the bolt if it has something to close.
func (b *Bolt) Close() *Step { return b.runner.closing(b.bolt) }
