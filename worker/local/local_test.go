// SPDX-License-Identifier: Apache-2.0

package local

// This file runs whole topologies of linked components.

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/thrift/storm"
)

// patience is how long a topology may take on a busy machine.
const patience = 2 * time.Minute

// ledger is a spout that emits each number until it is acked, and says when all are.
type ledger struct {
	from, to int

	mu    sync.Mutex
	open  []int // to be emitted
	out   map[int]bool
	acked map[int]int
	done  func()
}

func newLedger(n int, done func()) *ledger {
	l := &ledger{to: n, out: map[int]bool{}, acked: map[int]int{}, done: done}
	for i := range n {
		l.open = append(l.open, i)
	}
	return l
}

func (l *ledger) Next(out *component.SpoutOutput) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) == 0 {
		return nil
	}
	n := l.open[0]
	l.open = l.open[1:]
	l.out[n] = true
	return out.Emit(n, strconv.Itoa(n), int64(n))
}

func (l *ledger) Ack(id any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, ok := id.(int)
	if !ok {
		panic(id)
	}
	delete(l.out, n)
	l.acked[n]++
	if len(l.acked) == l.to-l.from {
		l.done()
	}
}

func (l *ledger) Fail(id any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, ok := id.(int)
	if !ok {
		panic(id)
	}
	delete(l.out, n)
	l.open = append(l.open, n)
}

// Open takes back what an instance before this one had out.
func (l *ledger) Open(*component.Context, *component.SpoutOutput) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := range l.out {
		l.open = append(l.open, n)
	}
	clear(l.out)
	return nil
}

// finish runs a topology until its ledger says done.
func finish(t *testing.T, top *component.Topology, run func(done func()), o Options) Summary {
	t.Helper()
	o.Registry = top
	return finishWith(t, top, run, o, func(*storm.StormTopology) {})
}

func finishWith(t *testing.T, top *component.Topology, run func(done func()), o Options, change func(*storm.StormTopology)) Summary {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errors.New("patience is over"))
	defer cancel()
	run(cancel)
	user, err := top.Storm()
	if err != nil {
		t.Fatal(err)
	}
	change(user)
	if o.Drain == 0 {
		o.Drain = 5 * time.Second // the components' ends have as much, on a busy machine too
	}
	sum, err := Run(ctx, top.Name(), user, top.Conf(), o)
	if err != nil {
		t.Fatal(err)
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		t.Errorf("ended because %v: %+v", cause, sum)
	}
	return sum
}

// TestTrees runs a topology with several executors, tasks and ackers, in which tuples split, are lost and fail.
func TestTrees(t *testing.T) {
	t.Parallel()
	const n = 20_000
	var book *ledger
	top := component.NewTopology("trees").Ackers(3)
	top.Spout("spout", func() component.Spout { return book }).Output("text", "n")
	top.Bolt("split", func() component.Bolt {
		return component.Basic(func(t *component.Tuple, out *component.BasicOutput) error {
			for range 3 {
				if err := out.Emit(t.Values...); err != nil {
					return err
				}
			}
			if rand.IntN(50) == 0 {
				return errors.New("no luck")
			}
			return nil
		})
	}).From("spout").Fields("n").Parallelism(3).Tasks(5).Output("text", "n")
	var mu sync.Mutex
	seen := map[string]int{}
	top.Bolt("count", func() component.Bolt {
		return component.Basic(func(t *component.Tuple, _ *component.BasicOutput) error {
			mu.Lock()
			defer mu.Unlock()
			text, err := component.String(t, "text")
			seen[text]++
			return err
		})
	}).From("split").Shuffle().Parallelism(2)
	sum := finish(t, top, func(done func()) { book = newLedger(n, done) }, Options{})
	for i := range n {
		if got := seen[strconv.Itoa(i)]; got < 3 || got%3 != 0 {
			t.Fatalf("number %d came %d times", i, got)
		}
		if book.acked[i] != 1 {
			t.Fatalf("number %d was acked %d times", i, book.acked[i])
		}
	}
	failed := sum.Components["split"].Failed
	if failed < n/100 || sum.Components["split"].Executed != n+failed {
		t.Errorf("%d failed: %+v", failed, sum.Components)
	}
	if diff := cmp.Diff([]Error{{Component: "split", Text: "no luck", Count: int(failed), Task: sum.Errors[0].Task}}, sum.Errors); diff != "" {
		t.Error(diff)
	}
}

func TestNoSpout(t *testing.T) {
	t.Parallel()
	if _, err := Run(t.Context(), "idle", &storm.StormTopology{}, nil, Options{}); err == nil || !strings.Contains(err.Error(), "no spout") {
		t.Errorf("ended with %v", err)
	}
}
