// SPDX-License-Identifier: Apache-2.0

package executor

// This file runs ackers.

import (
	"time"

	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/acker"
)

// trees is an executor of ackers. Its tasks share one acker, since no tree belongs to two of them.
type trees struct {
	*core

	acker *acker.Acker
}

func (a *trees) run() error {
	a.setTimers()
	if timeout := a.engine.timeout; timeout > 0 {
		a.timers.add(a.now(), int64(timeout), func(int64) { a.acker.Rotate() })
	}
	for a.engine.phase() != closing {
		now := a.now()
		a.timers.run(now)
		for a.more() {
			a.work(now)
		}
		a.router.Flush()
		a.show()
		a.sleep(never, true)
	}
	return nil
}

// work answers the batch at hand. All of it has the same time, which is in milliseconds anyway.
func (a *trees) work(now int64) {
	trees := a.in.taken[a.in.batch].Trees
	for _, m := range trees {
		if answer, ok := a.acker.Tell(m, now); ok {
			a.answer(answer)
		}
	}
	a.tasks[0].counts.Executed += int64(len(trees))
	a.tasks[0].counts.Acked += int64(len(trees))
	a.finish()
}

func (a *trees) answer(m acker.Message) {
	if !a.router.Known(m.Task) {
		return // what a peer made up
	}
	t := a.tasks[0]
	t.counts.Emitted++
	if t.emits.Hit() {
		t.ackStats[m.Kind].Emitted(1)
	}
	if a.router.Local(m.Task) {
		a.router.Tell(m.Task, m)
		return
	}
	a.router.Send(m.Task, a.tuple(t.ackSources[m.Kind], []any{m.Root, m.Value / int64(time.Millisecond)}))
}

// fromTuple reads a message about a tree that came from another worker.
func fromTuple(t *tuple.Tuple) (m acker.Message, ok bool) {
	if len(t.Values) == 0 {
		return m, false
	}
	if m.Root, ok = t.Values[0].(int64); !ok {
		return m, false
	}
	number := func(i int) (n int64, ok bool) {
		if i >= len(t.Values) {
			return 0, false
		}
		switch v := t.Values[i].(type) {
		case int64:
			return v, true
		case int32:
			return int64(v), true
		}
		return 0, false
	}
	switch {
	case t.Stream == tuple.InitStream:
		m.Kind = acker.Init
		task, isTask := number(2)
		m.Task = int32(task) //nolint:gosec // an unknown one is not answered
		m.Value, ok = number(1)
		return m, ok && isTask
	case t.Stream == tuple.AckStream:
		m.Kind = acker.Ack
		m.Value, ok = number(1)
		return m, ok
	case t.Stream == tuple.FailStream:
		m.Kind = acker.Fail
	case t.Stream == tuple.ResetStream:
		m.Kind = acker.Reset
	default:
		return m, false
	}
	return m, true
}
