// SPDX-License-Identifier: Apache-2.0

package executor_test

// This file tests what happens when somebody is slow, hangs, or makes more tuples than anybody can take.

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/worker/local"
)

// flood is a spout that always has more.
func flood(emitted *atomic.Int64) func() component.Spout {
	return func() component.Spout {
		return &spout{next: func(out *component.SpoutOutput) error {
			return out.Emit(emitted.Add(1), emitted.Load())
		}}
	}
}

// small makes queues short.
func small(name string) *component.Topology {
	return component.NewTopology(name).Ackers(1).Set("topology.executor.receive.buffer.size", 64)
}

// TestHungBolt has a bolt that never returns. It stops the spouts that feed it, and nobody else.
func TestHungBolt(t *testing.T) {
	t.Parallel()
	var fed, others, acked atomic.Int64
	hang := make(chan struct{})
	top := small("hung")
	top.Spout("feeder", flood(&fed)).Output("n")
	top.Bolt("between", func() component.Bolt {
		return component.Basic(func(t *component.Tuple, out *component.BasicOutput) error { return out.Emit(t.Values...) })
	}).From("feeder").Shuffle().Output("n")
	top.Bolt("hung", acks(func(*component.Tuple, *component.Output) { <-hang })).From("between").Shuffle()
	top.Spout("other", func() component.Spout {
		return &spout{
			next: func(out *component.SpoutOutput) error { return out.Emit(others.Add(1), others.Load()) },
			ack:  func(any) { acked.Add(1) },
		}
	}).Output("n")
	top.Bolt("good", acks(nothing)).From("other").Shuffle()
	b := start(t, top)
	last, since := int64(-1), acked.Load()
	b.eventually("the feeder stands still while the other goes on", func() bool {
		if now := fed.Load(); now != last || now == 0 {
			last, since = now, acked.Load()
		}
		return acked.Load() > since+50_000
	})
	if last > 20_000 {
		t.Errorf("%d tuples were emitted for a bolt that takes none", last)
	}
	close(hang)
	b.eventually("the feeder goes on", func() bool { return fed.Load() > last })
}

// TestHungBoltAtTheEnd has the engine say who does not end.
func TestHungBoltAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		defer close(hang)
		top := component.NewTopology("hung")
		top.Spout("spout", numbers(1, func(int) {})).Output("n")
		top.Bolt("hung", acks(func(*component.Tuple, *component.Output) { <-hang })).From("spout").Shuffle()
		b := build(t, top, local.Options{})
		b.SetActive(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := b.Run(ctx)
		if err == nil || !strings.Contains(err.Error(), "hung [2 2]") {
			t.Errorf("ended with %v", err)
		}
	})
}

// TestCircle sends tuples round in a circle that has a slow bolt in it and is fed as fast as it goes. Everything has to go on, in bounds.
func TestCircle(t *testing.T) {
	t.Parallel()
	var emitted, done atomic.Int64
	top := small("circle")
	top.Spout("spout", flood(&emitted)).Output("n")
	top.Bolt("enter", func() component.Bolt {
		return component.Basic(func(t *component.Tuple, out *component.BasicOutput) error { return out.Emit(t.Values[0], int64(0)) })
	}).From("spout").Shuffle().Output("n", "rounds")
	turn := func() component.Bolt {
		return component.Basic(func(t *component.Tuple, out *component.BasicOutput) error {
			rounds, err := component.Int(t, "rounds")
			if err != nil || rounds >= 5 {
				done.Add(1)
				return err
			}
			for i := range 200 { // slow
				done.Add(int64(i) % 2 * 0)
			}
			return out.Emit(t.Values[0], rounds+1)
		})
	}
	top.Bolt("front", turn).From("enter").Shuffle().From("back").Shuffle().Output("n", "rounds")
	top.Bolt("back", turn).From("front").Shuffle().Output("n", "rounds").Parallelism(2)
	b := start(t, top)
	b.eventually("many went round", func() bool { return done.Load() > 5_000 })
	if under := emitted.Load() - done.Load(); under > 30_000 {
		t.Errorf("%d tuples are under way", under)
	}
}

// TestMultiplyingCircle makes three tuples of each that goes round. That cannot go well, but it must end in errors and not in all memory.
func TestMultiplyingCircle(t *testing.T) {
	t.Parallel()
	top := small("multiply").Set("topology.executor.overflow.limit", 5000)
	top.Spout("spout", numbers(1, func(int) {})).Output("n")
	var dropped atomic.Int64
	top.Bolt("mad", func() component.Bolt {
		return component.Basic(func(t *component.Tuple, out *component.BasicOutput) error {
			for range 3 {
				if err := out.Emit(t.Values...); err != nil {
					return err
				}
			}
			return nil
		})
	}).From("spout").Shuffle().From("mad").Shuffle().Output("n")
	b := start(t, top)
	b.eventually("tuples are dropped", func() bool {
		for _, text := range b.errors.all() {
			if strings.Contains(text, "dropped") {
				dropped.Add(1)
			}
		}
		return dropped.Load() > 0
	})
	b.eventually("the spout hears of it", func() bool { return b.Counts()["spout"].Failed > 0 })
}

// TestLongRow has a spout emit without end in one call.
func TestLongRow(t *testing.T) {
	t.Parallel()
	const n = 100_000
	var acked atomic.Int64
	top := small("row")
	top.Spout("spout", func() component.Spout {
		once := false
		return &spout{
			next: func(out *component.SpoutOutput) error {
				if once {
					return nil
				}
				once = true
				for i := range n {
					if err := out.Emit(i, i); err != nil {
						return err
					}
				}
				return nil
			},
			ack: func(any) { acked.Add(1) },
		}
	}).Output("n")
	top.Bolt("bolt", acks(nothing)).From("spout").Shuffle()
	b := start(t, top)
	b.eventually("all are acked", func() bool { return acked.Load() == n })
}
