// SPDX-License-Identifier: Apache-2.0

package local

// This file is the yardstick of the benchmarks: the least that a spout, a bolt and an acker can do, without an engine around them.

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/acker"
)

const (
	bareBatch   = 256
	bareDepth   = 32 // batches in a channel
	barePending = 16384
)

// BenchmarkBareLoop tracks tuples of one number over channels of batches.
func BenchmarkBareLoop(b *testing.B) {
	ctx, cancel := context.WithCancel(b.Context())
	tuples := make(chan []*tuple.Tuple, bareDepth)
	trees := make(chan []acker.Message, 2*bareDepth)
	answers := make(chan []acker.Message, 4*bareDepth)
	var all sync.WaitGroup
	all.Go(func() { bareBolt(tuples, trees, ctx.Done()) })
	all.Go(func() { bareAcker(trees, answers, ctx.Done()) })
	used := cpu()
	b.ResetTimer()
	bareSpout(b.N, tuples, trees, answers)
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tuples/s")
	b.ReportMetric(float64(cpu()-used)/float64(b.N), "cpu-ns/op")
	cancel()
	all.Wait()
}

func bareSpout(n int, tuples chan<- []*tuple.Tuple, trees chan<- []acker.Message, answers <-chan []acker.Message) {
	pending := map[int64]any{}
	source := &tuple.Source{}
	take := func(batch []acker.Message) {
		for _, m := range batch {
			delete(pending, m.Root)
		}
	}
	for sent := 0; sent < n || len(pending) > 0; {
		if sent >= n || len(pending) >= barePending {
			take(<-answers)
			continue
		}
		select {
		case batch := <-answers:
			take(batch)
		default:
		}
		slab := make([]tuple.Tuple, bareBatch)
		values := make([]any, bareBatch)
		out, inits := make([]*tuple.Tuple, 0, bareBatch), make([]acker.Message, 0, bareBatch)
		for i := range slab[:min(bareBatch, n-sent)] {
			values[i] = int64(sent + i)
			t := &slab[i]
			t.Source, t.Values = source, values[i:i+1]
			t.Anchor = tuple.Anchor{Root: rand.Int64(), Edge: rand.Int64()}
			pending[t.Anchor.Root] = values[i]
			out = append(out, t)
			inits = append(inits, acker.Message{Root: t.Anchor.Root, Value: t.Anchor.Edge, Kind: acker.Init})
		}
		sent += len(out)
		tuples <- out
		trees <- inits
	}
}

func bareBolt(tuples <-chan []*tuple.Tuple, trees chan<- []acker.Message, end <-chan struct{}) {
	sum := int64(0)
	for {
		select {
		case batch := <-tuples:
			acks := make([]acker.Message, 0, bareBatch)
			for _, t := range batch {
				n, _ := t.Values[0].(int64)
				sum += n
				acks = append(acks, acker.Message{Root: t.Anchor.Root, Value: t.Anchor.Edge, Kind: acker.Ack})
			}
			trees <- acks
		case <-end:
			return
		}
	}
}

func bareAcker(trees <-chan []acker.Message, answers chan<- []acker.Message, end <-chan struct{}) {
	a := acker.New()
	for {
		select {
		case batch := <-trees:
			out := make([]acker.Message, 0, bareBatch)
			for _, m := range batch {
				if answer, ok := a.Tell(m, 0); ok {
					out = append(out, answer)
				}
			}
			if len(out) > 0 {
				answers <- out
			}
		case <-end:
			return
		}
	}
}
