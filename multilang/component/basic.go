// SPDX-License-Identifier: Apache-2.0

package component

// This file holds the bolt that anchors and acks by itself.

// BasicOutput emits tuples anchored on the one at hand.
type BasicOutput struct {
	out *Output
	at  *Tuple
}

// Emit sends values on the default stream.
func (b *BasicOutput) Emit(values ...any) error { return b.out.Emit(b.at, values...) }

// EmitOn sends values on a stream.
func (b *BasicOutput) EmitOn(stream string, values ...any) error {
	return b.out.EmitOn(stream, b.at, values...)
}

// Report makes err the component's error, which people see in the UI. The tuple is acked all the same.
func (b *BasicOutput) Report(err error) { b.out.Report(err) }

// Log writes a line into the worker's log.
func (b *BasicOutput) Log(level Level, message string) { b.out.Log(level, message) }

// Metric adds a value to the topology's metric of that name.
func (b *BasicOutput) Metric(name string, value any) { b.out.Metric(name, value) }

// Basic makes a bolt of a function. Its tuple is acked when it returns nil and failed when it returns an error, which is
// reported as the component's. Ticks come to it too, see Tuple.IsTick.
func Basic(execute func(t *Tuple, out *BasicOutput) error) Bolt { return &basic{execute: execute} }

// basic reuses one output, so that a tuple costs no allocation.
type basic struct {
	execute func(t *Tuple, out *BasicOutput) error
	out     BasicOutput
}

func (b *basic) Execute(t *Tuple, out *Output) error {
	b.out = BasicOutput{out: out, at: t}
	if err := b.execute(t, &b.out); err != nil {
		return err
	}
	out.Ack(t)
	return nil
}
