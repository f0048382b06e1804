// SPDX-License-Identifier: Apache-2.0

package local

// This file measures tuples a second: acked and unacked through the engine, and the bare loop that is the yardstick for both.

import (
	"context"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gust-stream/gust/multilang/component"
)

// numbers is a spout that emits numbers as fast as it may, with ids if tracked.
type numbers struct {
	n       int64
	tracked bool
	acked   *atomic.Int64
}

func (s *numbers) Next(out *component.SpoutOutput) error {
	s.n++
	if s.tracked {
		return out.Emit(s.n, s.n)
	}
	return out.Emit(nil, s.n)
}

func (s *numbers) Ack(any)  { s.acked.Add(1) }
func (s *numbers) Fail(any) {}

// sink is a bolt that acks.
type sink struct{ seen *atomic.Int64 }

func (b *sink) Execute(t *component.Tuple, out *component.Output) error {
	b.seen.Add(1)
	out.Ack(t)
	return nil
}

// throughput runs a spout, a bolt and an acker until b.N tuples came to where they are counted.
func throughput(b *testing.B, tracked bool) {
	var count atomic.Int64
	top := component.NewTopology("bench").Ackers(1)
	counted := new(atomic.Int64)
	top.Spout("spout", func() component.Spout {
		s := &numbers{tracked: tracked, acked: &count}
		return s
	}).Output("n")
	seen := counted
	if !tracked {
		seen = &count
	}
	top.Bolt("bolt", func() component.Bolt { return &sink{seen} }).From("spout").Shuffle()
	user, err := top.Storm()
	if err != nil {
		b.Fatal(err)
	}
	engine, err := Engine("bench", user, top.Conf(), Options{Registry: top}, nil)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error)
	go func() { ended <- engine.Run(ctx) }()
	used := cpu()
	b.ResetTimer()
	engine.SetActive(true)
	for tick := time.NewTicker(time.Millisecond); count.Load() < int64(b.N); {
		<-tick.C
	}
	b.StopTimer()
	b.ReportMetric(float64(count.Load())/b.Elapsed().Seconds(), "tuples/s")
	b.ReportMetric(float64(cpu()-used)/float64(count.Load()), "cpu-ns/op")
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}

// cpu is the processor time of this process in nanoseconds, which a busy machine does not make longer.
func cpu() int64 {
	var use syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use) // cannot fail
	return use.Utime.Nano() + use.Stime.Nano()
}

func BenchmarkAcked(b *testing.B)   { throughput(b, true) }
func BenchmarkUnacked(b *testing.B) { throughput(b, false) }
