// SPDX-License-Identifier: Apache-2.0

package local

// This file measures tuples a second: acked and unacked through the engine, and the bare loop that is the yardstick for both.

import (
	"context"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gust-stream/gust/internal/testbed"
	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/thrift/storm"
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
	b.Helper()
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
	used := cpu()
	b.ResetTimer()
	stop := begin(b, top)
	for tick := time.NewTicker(time.Millisecond); count.Load() < int64(b.N); {
		<-tick.C
	}
	b.StopTimer()
	b.ReportMetric(float64(count.Load())/b.Elapsed().Seconds(), "tuples/s")
	b.ReportMetric(float64(cpu()-used)/float64(count.Load()), "cpu-ns/op")
	stop()
}

// begin runs a topology until stop is called.
func begin(b *testing.B, top *component.Topology) (stop func()) {
	b.Helper()
	return beginWith(b, top, Options{Registry: top}, func(*storm.StormTopology) {})
}

func beginWith(b *testing.B, top *component.Topology, o Options, change func(*storm.StormTopology)) (stop func()) {
	b.Helper()
	user, err := top.Storm()
	if err != nil {
		b.Fatal(err)
	}
	change(user)
	engine, err := Engine("bench", user, top.Conf(), o, nil)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error)
	engine.SetActive(true)
	go func() { ended <- engine.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}
}

// metronome is a spout that emits a tuple each millisecond, and notes how long its tree takes.
type metronome struct {
	begun time.Time
	n     int64
	took  chan<- time.Duration
}

func (s *metronome) Next(out *component.SpoutOutput) error {
	if s.begun.IsZero() {
		s.begun = time.Now()
	}
	if time.Since(s.begun) < time.Duration(s.n)*time.Millisecond {
		return nil
	}
	s.n++
	return out.Emit(time.Now(), s.n)
}

func (s *metronome) Ack(id any) {
	emitted, _ := id.(time.Time)
	s.took <- time.Since(emitted)
}

func (s *metronome) Fail(any) {}

// BenchmarkLatency gives the complete latency at a thousand tuples a second.
func BenchmarkLatency(b *testing.B) {
	took := make(chan time.Duration, 1<<16)
	top := component.NewTopology("bench").Ackers(1)
	top.Spout("spout", func() component.Spout { return &metronome{took: took} }).Output("n")
	top.Bolt("bolt", func() component.Bolt { return &sink{new(atomic.Int64)} }).From("spout").Shuffle()
	stop := begin(b, top)
	var all []time.Duration
	used := cpu()
	b.ResetTimer()
	for len(all) < b.N {
		all = append(all, <-took)
	}
	b.StopTimer()
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Nanoseconds())/1e6, "p50-ms")
	b.ReportMetric(float64(all[len(all)*99/100].Nanoseconds())/1e6, "p99-ms")
	b.ReportMetric(float64(cpu()-used)/float64(b.Elapsed())*100, "%cpu")
	go func() {
		for range took {
			continue // until the spout has ended
		}
	}()
	stop()
	close(took)
}

// BenchmarkIdle gives what 28 executors cost which have nothing to do, in percent of a core. An op is 10 ms.
func BenchmarkIdle(b *testing.B) {
	top := component.NewTopology("bench").Ackers(4)
	top.Spout("spout", func() component.Spout { return quiet{} }).Output("n").Parallelism(8)
	top.Bolt("bolt", func() component.Bolt { return &sink{new(atomic.Int64)} }).From("spout").Shuffle().Parallelism(16)
	stop := begin(b, top)
	<-time.After(3 * time.Second)
	used := cpu()
	b.ResetTimer()
	<-time.After(time.Duration(b.N) * 10 * time.Millisecond)
	b.StopTimer()
	b.ReportMetric(float64(cpu()-used)/float64(b.Elapsed())*100, "%cpu")
	stop()
}

// quiet is a spout that never has anything.
type quiet struct{}

func (quiet) Next(*component.SpoutOutput) error { return nil }

// BenchmarkStart gives the time from nothing to the first acked tuple.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		first := make(chan struct{}, 1<<16)
		top := component.NewTopology("bench").Ackers(1)
		top.Spout("spout", func() component.Spout { return &firstSpout{first: first} }).Output("n")
		top.Bolt("bolt", func() component.Bolt { return &sink{new(atomic.Int64)} }).From("spout").Shuffle()
		stop := begin(b, top)
		<-first
		b.StopTimer()
		stop()
		b.StartTimer()
	}
}

type firstSpout struct {
	once  bool
	first chan<- struct{}
}

func (s *firstSpout) Next(out *component.SpoutOutput) error {
	if s.once {
		return nil
	}
	s.once = true
	return out.Emit(1, 1)
}

func (s *firstSpout) Ack(any)  { s.first <- struct{}{} }
func (s *firstSpout) Fail(any) {}

// cpu is the processor time of this process in nanoseconds, which a busy machine does not make longer.
func cpu() int64 {
	var use syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use) // cannot fail
	return use.Utime.Nano() + use.Stime.Nano()
}

func BenchmarkAcked(b *testing.B)   { throughput(b, true) }
func BenchmarkUnacked(b *testing.B) { throughput(b, false) }

// BenchmarkPython gives sentences a second through a splitter in Python that asks for task ids, between a linked spout and a linked bolt. What
// the same child does in a bare pipe is measured beside package multilang's drivers.
func BenchmarkPython(b *testing.B) {
	children, err := testbed.Find("GUST_MULTILANG_CHILDREN", filepath.Join("build", "multilang"), "storm.py", "make multilang-children")
	if err != nil {
		b.Fatal(err)
	}
	b.Setenv("PYTHONPATH", children)
	resources, err := filepath.Abs(filepath.Join("..", "..", "multilang", "testdata"))
	if err != nil {
		b.Fatal(err)
	}
	var acked atomic.Int64
	top := component.NewTopology("bench").Ackers(1).MaxSpoutPending(1000)
	top.Spout("spout", func() component.Spout { return &sentences{acked: &acked} }).Output("sentence")
	top.Bolt("child-split", nil).From("spout").Shuffle().Output("word")
	top.Bolt("count", func() component.Bolt { return &sink{new(atomic.Int64)} }).From("child-split").Fields("word")
	stop := beginWith(b, top, Options{Registry: mixed{top}, Resources: resources}, func(user *storm.StormTopology) {
		user.Bolts["child-split"].BoltObject = &storm.ComponentObject{Shell: &storm.ShellComponent{
			ExecutionCommand: filepath.Join(children, "venv", "bin", "python"), Script: "split.py",
		}}
	})
	for tick := time.NewTicker(time.Millisecond); acked.Load() == 0; {
		<-tick.C
	}
	begun := acked.Load()
	b.ResetTimer()
	for tick := time.NewTicker(time.Millisecond); acked.Load() < begun+int64(b.N); {
		<-tick.C
	}
	b.StopTimer()
	b.ReportMetric(float64(acked.Load()-begun)/b.Elapsed().Seconds(), "sentences/s")
	stop()
}

type sentences struct {
	n     int64
	acked *atomic.Int64
}

func (s *sentences) Next(out *component.SpoutOutput) error {
	s.n++
	return out.Emit(s.n, "the cow jumped over the moon")
}

func (s *sentences) Ack(any)  { s.acked.Add(1) }
func (s *sentences) Fail(any) {}
