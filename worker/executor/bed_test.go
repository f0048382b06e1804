// SPDX-License-Identifier: Apache-2.0

package executor_test

// This file holds what the tests run their topologies with.

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/worker/executor"
	"github.com/gust-stream/gust/worker/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long anything may take on a busy machine.
const patience = 2 * time.Minute

// spout is a spout of functions.
type spout struct {
	next      func(out *component.SpoutOutput) error
	open      func(ctx *component.Context) error
	ack, fail func(id any)
	active    func(active bool)
	closing   func()
}

func (s *spout) Next(out *component.SpoutOutput) error { return s.next(out) }

func (s *spout) Open(ctx *component.Context, _ *component.SpoutOutput) error {
	if s.open == nil {
		return nil
	}
	return s.open(ctx)
}

func (s *spout) Ack(id any) {
	if s.ack != nil {
		s.ack(id)
	}
}

func (s *spout) Fail(id any) {
	if s.fail != nil {
		s.fail(id)
	}
}

func (s *spout) Activate()   { s.tell(true) }
func (s *spout) Deactivate() { s.tell(false) }

func (s *spout) tell(active bool) {
	if s.active != nil {
		s.active(active)
	}
}

func (s *spout) Close() error {
	if s.closing != nil {
		s.closing()
	}
	return nil
}

// bolt is a bolt of functions.
type bolt struct {
	prepare func(ctx *component.Context, out *component.Output) error
	execute func(t *component.Tuple, out *component.Output) error
	closing func()
}

func (b *bolt) Prepare(ctx *component.Context, out *component.Output) error {
	if b.prepare == nil {
		return nil
	}
	return b.prepare(ctx, out)
}

func (b *bolt) Execute(t *component.Tuple, out *component.Output) error { return b.execute(t, out) }

func (b *bolt) Close() error {
	if b.closing != nil {
		b.closing()
	}
	return nil
}

// pass lets fake time pass.
func pass(d time.Duration) { <-time.After(d) }

// book is what spouts and bolts of a test write down.
type book struct {
	mu      sync.Mutex
	entries []string
}

func (b *book) add(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries = append(b.entries, fmt.Sprintf(format, args...))
}

func (b *book) all() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.entries)
}

func (b *book) has(entry string) bool { return slices.Contains(b.all(), entry) }

// bed is an engine that runs.
type bed struct {
	*executor.Engine

	t      *testing.T
	limit  time.Duration
	errors book // as component: text
	cancel context.CancelFunc
	ended  chan error
}

// build makes the engine of a topology.
func build(t *testing.T, top *component.Topology, o local.Options) *bed {
	t.Helper()
	b := &bed{t: t, limit: patience, ended: make(chan error, 1)}
	user, err := top.Storm()
	if err != nil {
		t.Fatal(err)
	}
	if o.Registry == nil {
		o.Registry = top
	}
	if o.Drain == 0 {
		o.Drain = 5 * time.Second // the components' ends have as much, on a busy machine too
	}
	b.Engine, err = local.Engine(top.Name(), user, top.Conf(), o, func(id string, _ int32, err error) { b.errors.add("%s: %v", id, err) })
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// run starts the engine, which the end of the test stops.
func (b *bed) run() {
	ctx, cancel := context.WithCancel(b.t.Context())
	b.cancel = cancel
	go func() { b.ended <- b.Run(ctx) }()
	b.t.Cleanup(b.stop)
}

// start is build and run of an active topology.
func start(t *testing.T, top *component.Topology) *bed {
	t.Helper()
	b := build(t, top, local.Options{})
	b.SetActive(true)
	b.run()
	return b
}

// stop ends the engine and waits for it.
func (b *bed) stop() {
	if b.cancel == nil {
		return
	}
	b.cancel()
	b.cancel = nil
	if err := <-b.ended; err != nil {
		b.t.Errorf("the engine ended with %v", err)
	}
}

// eventually waits for something.
func (b *bed) eventually(what string, is func() bool) {
	b.t.Helper()
	limit := time.NewTimer(b.limit)
	defer limit.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-limit.C:
			b.t.Fatalf("it never came that %s; errors: %.2000q, counts: %+v", what, b.errors.all(), b.Counts())
		}
	}
}

// number is an int of a test's own tuples.
func number(v any) int {
	n, ok := v.(int)
	if !ok {
		panic(fmt.Sprintf("%v is a %T", v, v))
	}
	return n
}

// numbers makes a spout that emits the numbers below n with themselves as ids, and again those that fail.
func numbers(n int, acked func(id int)) func() component.Spout {
	return func() component.Spout {
		next := 0
		var again []int
		return &spout{
			next: func(out *component.SpoutOutput) error {
				if len(again) > 0 {
					i := again[0]
					again = again[1:]
					return out.Emit(i, i)
				}
				if next < n {
					next++
					return out.Emit(next-1, next-1)
				}
				return nil
			},
			ack:  func(id any) { acked(number(id)) },
			fail: func(id any) { again = append(again, number(id)) },
		}
	}
}

// acker makes a bolt that does something and acks.
func acks(do func(t *component.Tuple, out *component.Output)) func() component.Bolt {
	return func() component.Bolt {
		return &bolt{execute: func(t *component.Tuple, out *component.Output) error {
			do(t, out)
			out.Ack(t)
			return nil
		}}
	}
}

func nothing(*component.Tuple, *component.Output) {}
