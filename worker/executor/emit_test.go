// SPDX-License-Identifier: Apache-2.0

package executor_test

// This file tests what components may emit, what they are told when they may not, and what others learn of it.

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/worker/local"
)

func TestEmits(t *testing.T) {
	t.Parallel()
	var seen book
	done := make(chan struct{})
	top := component.NewTopology("emits").Ackers(1)
	top.Spout("spout", func() component.Spout {
		once := false
		return &spout{next: func(out *component.SpoutOutput) error {
			if once {
				return nil
			}
			once = true
			defer close(done)
			tell := func(what string, tasks []int32, err error) { seen.add("%s: %v %v", what, tasks, err) }
			tasks, err := out.Stream("default").SendAsk(component.Options{ID: 1}, "x")
			tell("all", tasks, err)
			tasks, err = out.Stream("nobody").SendAsk(component.Options{ID: 2}, "x")
			tell("nobody", tasks, err)
			direct := out.Stream("direct")
			tell("direct", nil, direct.SendDirect(2, component.Options{ID: 3}, "x"))
			tell("direct to a stranger", nil, direct.SendDirect(3, component.Options{ID: 4}, "x"))
			tell("direct to no task", nil, direct.SendDirect(99, component.Options{}, "x"))
			tell("regular on direct", nil, direct.Send(component.Options{}, "x"))
			tell("direct on regular", nil, out.Stream("default").SendDirect(2, component.Options{}, "x"))
			tell("too few", nil, out.Emit(nil))
			tell("undeclared", nil, out.Stream("none").Send(component.Options{}, "x"))
			return nil
		}, ack: func(id any) { seen.add("acked %v", id) }}
	}).Output("n").Stream("nobody", "n").DirectStream("direct", "n")
	top.Bolt("a", acks(func(t *component.Tuple, _ *component.Output) { seen.add("a got %s", t.Stream) })).
		From("spout").All().FromStream("spout", "direct").Direct()
	top.Bolt("b", acks(nothing)).From("spout").All().Parallelism(2)
	b := start(t, top)
	<-done
	b.eventually("all are acked", func() bool {
		return seen.has("acked 1") && seen.has("acked 2") && seen.has("acked 3") && seen.has("acked 4")
	})
	got := slices.DeleteFunc(seen.all(), func(s string) bool { return strings.HasPrefix(s, "acked") })
	slices.Sort(got)
	want := []string{
		"a got default", "a got direct",
		"all: [2 3 4] <nil>",
		`direct on regular: [] emit on stream "default" to task 2: direct emit to a task whose component takes the stream with another grouping`,
		"direct to a stranger: [] <nil>", "direct to no task: [] <nil>", "direct: [] <nil>", "nobody: [] <nil>",
		`regular on direct: [] emit on stream "direct": regular emit on a stream that a component takes with a direct grouping`,
		`too few: [] emit on stream "default": 0 values for the fields ["n"]`,
		`undeclared: [] emit on stream "none": the component declares no such stream`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestStreamsDoNotMix emits in turns on a stream that always goes to the same tasks and on one that does not.
func TestStreamsDoNotMix(t *testing.T) {
	t.Parallel()
	const n = 500
	var all, keyed, wrong atomic.Int64
	takes := func(stream string, count *atomic.Int64) func() component.Bolt {
		return acks(func(t *component.Tuple, _ *component.Output) {
			if t.Stream != stream {
				wrong.Add(1)
			}
			count.Add(1)
		})
	}
	top := component.NewTopology("mix").Ackers(1)
	top.Spout("spout", func() component.Spout {
		i := 0
		return &spout{next: func(out *component.SpoutOutput) error {
			if i++; i > n {
				return nil
			}
			if err := out.Stream("all").Send(component.Options{}, i); err != nil {
				return err
			}
			return out.Stream("keyed").Send(component.Options{}, i)
		}}
	}).Stream("all", "n").Stream("keyed", "n")
	top.Bolt("all", takes("all", &all)).FromStream("spout", "all").All().Parallelism(3)
	top.Bolt("keyed", takes("keyed", &keyed)).FromStream("spout", "keyed").Fields("n").Parallelism(4)
	b := start(t, top)
	b.eventually("all have come", func() bool { return all.Load() >= 3*n && keyed.Load() >= n })
	b.stop()
	if all.Load() != 3*n || keyed.Load() != n || wrong.Load() != 0 {
		t.Errorf("%d and %d came, %d to the wrong bolt", all.Load(), keyed.Load(), wrong.Load())
	}
}

func TestSettledOnce(t *testing.T) {
	t.Parallel()
	var acked atomic.Int64
	var seen book
	top := component.NewTopology("settled").Ackers(1)
	top.Spout("spout", numbers(1, func(int) { acked.Add(1) })).Output("n")
	top.Bolt("twice", func() component.Bolt {
		return &bolt{execute: func(t *component.Tuple, out *component.Output) error {
			out.Ack(t)
			out.Ack(t)
			out.Fail(t)
			seen.add("%v", out.Emit(t, 1))
			return nil
		}}
	}).From("spout").Shuffle().Output("n")
	b := start(t, top)
	b.eventually("it is acked", func() bool { return acked.Load() == 1 })
	b.stop()
	if c := b.Counts()["twice"]; c.Acked != 1 || c.Failed != 0 {
		t.Errorf("counts %+v", c)
	}
	if diff := cmp.Diff([]string{`emit on stream "default": anchored on a tuple that is acked or failed already`}, seen.all()); diff != "" {
		t.Error(diff)
	}
}

// TestStats compares what is sampled with what is exact.
func TestStats(t *testing.T) {
	t.Parallel()
	const n = 40_000
	var acked atomic.Int64
	top := component.NewTopology("stats").Ackers(1)
	top.Spout("spout", numbers(n, func(int) { acked.Add(1) })).Output("n")
	top.Bolt("bolt", acks(func(t *component.Tuple, out *component.Output) {
		if err := out.Emit(t, t.Values...); err != nil {
			panic(err)
		}
	})).From("spout").Shuffle().Output("n")
	top.Bolt("end", acks(nothing)).From("bolt").All().Parallelism(2)
	b := start(t, top)
	b.eventually("all are acked", func() bool { return acked.Load() == n })
	b.stop()
	stats := b.Stats()
	about := func(what string, got, want int64) {
		t.Helper()
		if got < want*9/10 || got > want*11/10 {
			t.Errorf("%s: %d, want about %d", what, got, want)
		}
	}
	all := ":all-time"
	var spouts, bolts, ackers *storm.ExecutorStats
	for _, s := range stats {
		switch {
		case s.Specific.Spout != nil:
			spouts = s
		case s.Emitted[all]["default"] > 0:
			bolts = s
		case s.Emitted[all]["__ack_ack"] > 0 && len(s.Specific.Bolt.Executed[all]) == 3:
			ackers = s
		}
	}
	if spouts == nil || bolts == nil || ackers == nil || len(stats) != 5 {
		t.Fatalf("statistics %+v", stats)
	}
	about("emitted by the spout", spouts.Emitted[all]["default"], n)
	about("told to the acker", spouts.Emitted[all]["__ack_init"], n)
	about("acked to the spout", spouts.Specific.Spout.Acked[all]["default"], n)
	if ms := spouts.Specific.Spout.CompleteMsAvg[all]["default"]; ms <= 0 || ms > float64(patience/time.Millisecond) {
		t.Errorf("complete latency %v ms", ms)
	}
	about("emitted by the bolt", bolts.Emitted[all]["default"], n)
	about("transferred by the bolt", bolts.Transferred[all]["default"], 2*n)
	for id, got := range bolts.Specific.Bolt.Executed[all] {
		if id.ComponentId != "spout" || id.StreamId != "default" {
			t.Errorf("executed of %v", id)
		}
		about("executed", got, n)
	}
	for id, got := range ackers.Specific.Bolt.Executed[all] {
		want := int64(n)
		if id.ComponentId == "end" {
			want = 2 * n
		}
		about(id.ComponentId+id.StreamId, got, want)
	}
	for _, got := range bolts.Specific.Bolt.Acked[all] {
		about("acked", got, n)
	}
}

// TestDataPoints runs Storm's metrics consumer that logs, and an event logger.
func TestDataPoints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lines, events book
		top := component.NewTopology("points").Ackers(1).Set("topology.eventlogger.executors", 1).
			Set("topology.metrics.consumer.register", []any{map[string]any{"class": "org.apache.storm.metric.LoggingMetricsConsumer", "parallelism.hint": 1}}).
			Set("topology.builtin.metrics.bucket.size.secs", 10).Set("topology.enable.v2.metrics.tick", true).
			Set("topology.v2.metrics.tick.interval.seconds", 10).Set("topology.stats.sample.rate", 1.0)
		top.Spout("spout", numbers(40, func(int) {})).Output("n")
		top.Bolt("bolt", acks(func(_ *component.Tuple, out *component.Output) { out.Metric("mine", 2) })).From("spout").Shuffle()
		b := build(t, top, local.Options{
			Events: func(line string) { events.add("%s", line) }, Metrics: func(line string) { lines.add("%s", line) },
		})
		b.SetDebug(map[string]float64{"spout": 100, "": 0})
		b.SetActive(true)
		b.run()
		pass(25 * time.Second)
		b.stop()
		text := strings.Join(lines.all(), "\n")
		for _, want := range []string{"mine", "80", "receive-queue-population", "__emit-count-default", "__system", "memory", "__skipped-inactive-ms"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not among the lines:\n%s", want, text)
			}
		}
		shown := events.all()
		if len(shown) != 40 || !strings.HasSuffix(shown[39], ",spout,5,39,[39]") {
			t.Errorf("%d events: %q", len(shown), shown)
		}
	})
}
