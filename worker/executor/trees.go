// SPDX-License-Identifier: Apache-2.0

package executor

// This file runs ackers.

import (
	"time"

	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/acker"
	"github.com/gust-stream/gust/worker/metrics"
)

// trees is an executor of ackers. Its tasks share one acker, since no tree belongs to two of them.
type trees struct {
	*core

	acker    *acker.Acker
	executes sampler
	inputs   map[from]*metrics.Input
}

// from is where messages about trees come from.
type from struct {
	task int16
	kind acker.Kind
}

// kinds are the streams between ackers and others.
func kinds() map[acker.Kind]string {
	return map[acker.Kind]string{
		acker.Init: tuple.InitStream, acker.Ack: tuple.AckStream, acker.Fail: tuple.FailStream, acker.Reset: tuple.ResetStream,
	}
}

func (a *trees) run() error {
	a.setTimers()
	if timeout := a.engine.timeout; timeout > 0 {
		a.timers.add(a.now(), int64(timeout), func(int64) { a.acker.Rotate() })
	}
	flushed := int64(0)
	for a.engine.phase() != closing {
		now := a.now()
		a.timers.run(now)
		if a.more() {
			a.work(now)
			if now-flushed < maxWait {
				continue
			}
		}
		flushed = now
		a.router.Flush()
		a.show()
		if a.inbox.Size() == 0 {
			a.sleep(never, true)
		}
	}
	return nil
}

// work answers the batch at hand. All of it has the same time, which is in milliseconds anyway.
func (a *trees) work(now int64) {
	trees := a.in.taken[a.in.batch].Trees
	for _, m := range trees {
		sampled := a.executes.hit()
		started := int64(0)
		if sampled {
			started = a.now()
		}
		if answer, ok := a.acker.Tell(m, now); ok {
			a.answer(answer)
		}
		if sampled {
			a.sample(m, a.since(started))
		}
	}
	a.tasks[0].counts.Executed += int64(len(trees))
	a.tasks[0].counts.Acked += int64(len(trees))
	a.finish()
}

// sample counts a message as the tuple that it is in Storm.
func (a *trees) sample(m acker.Message, took time.Duration) {
	key := from{m.From, m.Kind}
	in := a.inputs[key]
	if in == nil {
		if m.From < 1 || int(m.From) > len(a.engine.config.Tasks) {
			return // what a peer made up
		}
		in = a.tasks[0].stats.Input(a.engine.config.Tasks[m.From-1], kinds()[m.Kind])
		a.inputs[key] = in
	}
	in.Executed(took)
	in.Acked(took)
}

func (a *trees) answer(m acker.Message) {
	if !a.router.Known(m.Task) {
		return // what a peer made up
	}
	t := a.tasks[0]
	t.counts.Emitted++
	if t.emits.hit() {
		t.ackStats[m.Kind].Emitted(1)
	}
	if a.router.Local(m.Task) {
		a.router.Tell(m.Task, m)
		return
	}
	a.router.Send(m.Task, a.treeTuple(t, m.Root, m.Delta(), 0, m.Kind))
}

// kindOf is what a stream between ackers and others says, 0 for other streams.
func kindOf(stream string) acker.Kind {
	switch stream {
	case tuple.InitStream:
		return acker.Init
	case tuple.AckStream:
		return acker.Ack
	case tuple.FailStream:
		return acker.Fail
	case tuple.ResetStream:
		return acker.Reset
	}
	return 0
}

// fromTuple reads a message about a tree that came from another worker: without Values it lies in the tuple's numbers, see [tuple.Tuple].
func fromTuple(t *tuple.Tuple) (m acker.Message, ok bool) {
	m.Kind = kindOf(t.Stream)
	m.From = int16(t.Task)
	if m.Kind == 0 {
		return m, false
	}
	if t.Values == nil {
		m.Root, m.Value, m.Task = t.Anchor.Root, t.Anchor.Edge, int32(t.Children)
		return m, true
	}
	number := func(i int) int64 {
		if i < len(t.Values) {
			switch v := t.Values[i].(type) {
			case int64:
				return v
			case int32:
				return int64(v)
			}
		}
		ok = false
		return 0
	}
	ok = true
	m.Root = number(0)
	switch {
	case t.Component == tuple.AckerComponent || m.Kind == acker.Fail || m.Kind == acker.Reset:
	case m.Kind == acker.Init:
		m.Value, m.Task = number(1), int32(number(2))
	default:
		m.Value = number(1)
	}
	return m, ok
}
