// SPDX-License-Identifier: Apache-2.0

package metrics_test

// Tests of counting and of what is made of it. The renderings are compared with Storm's own classes in compat-tests/grouping.

import (
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/metrics"
)

func at(seconds int) time.Time { return time.Unix(1_700_000_000+int64(seconds), 0) }

func newExecutor(bolt bool) *metrics.Executor {
	return metrics.New(metrics.Config{Bolt: bolt, Rate: 20, Buckets: 20, Interval: 60, V2: 30, Start: at(0)})
}

func all[V any](key string, v V) map[string]map[string]V {
	out := map[string]map[string]V{}
	for _, window := range []string{"600", "10800", "86400", ":all-time"} {
		out[window] = map[string]V{key: v}
	}
	return out
}

func TestRenderSpout(t *testing.T) {
	t.Parallel()
	e := newExecutor(false)
	for range 2 { // the tasks of an executor are one in heartbeats
		task := e.Task()
		task.Output("unused")
		o := task.Output("default")
		o.Emitted(3)
		o.Acked(3 * time.Millisecond)
		o.Acked(4 * time.Millisecond)
		o.Failed()
		if again := task.Output("default"); again != o {
			t.Error("a stream has two counters")
		}
	}
	want := &storm.ExecutorStats{
		Emitted: all("default", int64(40)), Transferred: all("default", int64(120)), Rate: 20,
		Specific: &storm.ExecutorSpecificStats{Spout: &storm.SpoutStats{
			Acked: all("default", int64(80)), Failed: all("default", int64(40)), CompleteMsAvg: all("default", 3.5),
		}},
	}
	if diff := cmp.Diff(want, e.Render(at(1))); diff != "" {
		t.Error(diff)
	}
}

func TestRenderNothing(t *testing.T) {
	t.Parallel()
	e := newExecutor(true)
	e.Task().Input("words", "default")
	s := e.Render(at(100_000))
	if len(s.Emitted) != 0 || s.Emitted == nil || s.Specific.Bolt == nil || len(s.Specific.Bolt.Executed) != 0 || s.Specific.Spout != nil {
		t.Errorf("Render() = %v", s)
	}
}

// TestOldCountsLeaveTheirWindow renders an event of a second long after it.
func TestOldCountsLeaveTheirWindow(t *testing.T) {
	t.Parallel()
	e := newExecutor(false)
	e.Task().Output("default").Emitted(1)
	for _, one := range []struct {
		at   int
		want [4]int64
	}{{10, [4]int64{20, 20, 20, 20}}, {500, [4]int64{20, 20, 20, 20}}, {1500, [4]int64{0, 20, 20, 20}}, {24_000, [4]int64{0, 0, 20, 20}}, {200_000, [4]int64{0, 0, 0, 20}}} {
		got := e.Render(at(one.at)).Emitted
		for i, window := range []string{"600", "10800", "86400", ":all-time"} {
			if got[window]["default"] != one.want[i] {
				t.Errorf("after %d s window %s has %d, want %d", one.at, window, got[window]["default"], one.want[i])
			}
		}
	}
}

// TestWindowsHoldAboutTheirTime emits at a steady pace: a window has what belongs to it, give or take a bucket.
func TestWindowsHoldAboutTheirTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := newExecutor(false)
		o := e.Task().Output("default")
		pause := rapid.IntRange(1, 60).Draw(t, "pause")
		seconds := rapid.IntRange(1000, 20_000).Draw(t, "seconds")
		for now := range seconds {
			o.Emitted(1)
			if now%pause == 0 {
				e.Turn(at(now))
			}
		}
		got := e.Render(at(seconds)).Emitted
		for window, length := range map[string]int{"600": 600, "10800": 10_800, "86400": 86_400} {
			want := int64(20 * min(length, seconds))
			bucket := int64(20 * (length/19 + 2*pause))
			if n := got[window]["default"]; n < want-bucket || n > want+bucket {
				t.Fatalf("window %s has %d after %d s, want about %d", window, n, seconds, want)
			}
		}
		if n := got[":all-time"]["default"]; n != int64(20*seconds) {
			t.Fatalf("all time has %d, want %d", n, 20*seconds)
		}
	})
}

func points(list []tuple.DataPoint) map[string]any {
	out := map[string]any{}
	for _, p := range list {
		out[p.Name] = p.Value
	}
	return out
}

func TestCollectUserMetrics(t *testing.T) {
	t.Parallel()
	task := newExecutor(true).Task()
	for _, one := range []struct {
		name  string
		value any
		bad   bool
	}{
		{"count", int64(2), false},
		{"count", nil, false},
		{"count", 1.9, false},
		{"count", big.NewInt(7), false},
		{"count", "x", true},
		{"mean", 1.5, false},
		{"mean", int64(2), false},
		{"mean", true, true},
		{"last", "a", false},
		{"last", []any{"b"}, false},
	} {
		err := task.Add(one.name, one.value)
		if (err != nil) != one.bad || err != nil && !strings.Contains(err.Error(), one.name) {
			t.Errorf("Add(%s, %v) = %v", one.name, one.value, err)
		}
	}
	connections := any(map[string]any{"dequeuedMessages": int32(4)})
	task.Register("__recv-iconnection", func() any { return connections })
	if got := task.Collect(at(60), 61); got != nil {
		t.Errorf("Collect() of another interval = %v", got)
	}
	want := map[string]any{"count": int64(11), "mean": 1.75, "last": []any{"b"}, "__recv-iconnection": connections}
	if diff := cmp.Diff(want, points(task.Collect(at(60), 60))); diff != "" {
		t.Error(diff)
	}
	connections = nil
	want = map[string]any{"count": int64(0), "last": []any{"b"}}
	if diff := cmp.Diff(want, points(task.Collect(at(120), 60))); diff != "" {
		t.Error(diff)
	}
}

func TestCollectSystemMetrics(t *testing.T) {
	t.Parallel()
	e := newExecutor(true)
	task, second := e.Task(), e.Task()
	o, in := task.Output("default"), task.Input("words", "s")
	task.Gauge("receive-queue-population", func() any { return int32(3) })
	task.Count("__reported-error-count").Add(2)
	for range 30 {
		o.Emitted(2)
		in.Executed(10 * time.Millisecond)
		in.Acked(20 * time.Millisecond)
	}
	in.Failed()
	want := map[string]any{
		"__emit-count-default": int64(600), "__emit-count-default.m1_rate": 10.0,
		"__transfer-count-default": int64(1200), "__transfer-count-default.m1_rate": 20.0,
		"__execute-count-words:s": int64(600), "__execute-count-words:s.m1_rate": 10.0, "__execute-latency-words:s": 10.0,
		"__ack-count-words:s": int64(600), "__ack-count-words:s.m1_rate": 10.0, "__process-latency-words:s": 20.0,
		"__fail-count-words:s": int64(20), "__fail-count-words:s.m1_rate": 1.0 / 3,
		"__reported-error-count": int64(2), "__reported-error-count.m1_rate": 2.0 / 60,
		"receive-queue-population": int32(3), "__capacity": 0.2,
	}
	if diff := cmp.Diff(want, points(task.Collect(at(30), 30)), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Error(diff)
	}
	in.Executed(40 * time.Millisecond)
	for _, one := range []struct {
		at            int
		rate, latency float64
	}{{60, 0.0, 40}, {90, 0, 40}} {
		got := points(task.Collect(at(one.at), 30))
		if got["__emit-count-default.m1_rate"] != one.rate || got["__execute-latency-words:s"] != one.latency {
			t.Errorf("after %d s: %v", one.at, got)
		}
	}
	if got := second.Collect(at(30), 30); got != nil {
		t.Errorf("idle second task has %v", got)
	}
}

func TestIntervals(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		conf config.Conf
		want []int
	}{
		{config.Conf{}, []int{60}},
		{config.Conf{config.TopologyBuiltinMetricsBucketSizeSecs: int64(10)}, []int{10}},
		{config.Conf{config.TopologyEnableV2MetricsTick: true}, []int{60}},
		{config.Conf{config.TopologyEnableV2MetricsTick: true, config.TopologyV2MetricsTickIntervalSeconds: int64(5)}, []int{60, 5}},
	} {
		c, err := metrics.ParseConfig(one.conf)
		if err != nil || c.Rate != 20 || c.Buckets != 20 {
			t.Fatalf("ParseConfig() = %v, %v", c, err)
		}
		if got := metrics.New(c).Task().Intervals(); !cmp.Equal(got, one.want) {
			t.Errorf("%v: Intervals() = %v, want %v", one.conf, got, one.want)
		}
	}
}

func TestSamplerHitsOnceARow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate, err := metrics.Rate(rapid.Float64Range(0.001, 1).Draw(t, "sample"))
		if err != nil {
			t.Fatal(err)
		}
		s := metrics.NewSampler(rate)
		for row := range 10 {
			hits := 0
			for range rate {
				if s.Hit() {
					hits++
				}
			}
			if hits != 1 {
				t.Fatalf("row %d of %d has %d hits", row, rate, hits)
			}
		}
	})
	for _, sample := range []float64{0, -1, 1.1} {
		if _, err := metrics.ParseConfig(config.Conf{config.TopologyStatsSampleRate: sample}); err == nil {
			t.Errorf("sample rate %v passes", sample)
		}
	}
}

// TestReadersMeetAWriter is for the race detector; no count may get lost either.
func TestReadersMeetAWriter(t *testing.T) {
	t.Parallel()
	e := newExecutor(true)
	task := e.Task()
	const events = 20_000
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for i := 0; ; i += 40 {
				select {
				case <-done:
					return
				default:
					e.Render(at(i))
				}
			}
		})
	}
	for i := range events {
		task.Output([]string{"a", "b", "c"}[i%3]).Emitted(1)
		task.Input("words", "default").Executed(time.Millisecond)
		if i%1000 == 0 {
			task.Collect(at(i), 30)
		}
	}
	close(done)
	readers.Wait()
	var emitted, executed int64
	s := e.Render(at(1))
	for _, n := range s.Emitted[":all-time"] {
		emitted += n
	}
	for _, n := range s.Specific.Bolt.Executed[":all-time"] {
		executed += n
	}
	if emitted != 20*events || executed != 20*events {
		t.Errorf("%d emitted, %d executed, want %d", emitted, executed, 20*events)
	}
}

func BenchmarkCount(b *testing.B) {
	e := newExecutor(true)
	task := e.Task()
	o, in := task.Output("default"), task.Input("words", "default")
	b.Run("Emitted", func(b *testing.B) {
		for b.Loop() {
			o.Emitted(1)
		}
	})
	b.Run("Executed", func(b *testing.B) {
		for b.Loop() {
			in.Executed(time.Millisecond)
		}
	})
	b.Run("SampledEmit", func(b *testing.B) {
		s := metrics.NewSampler(20)
		for b.Loop() {
			if s.Hit() {
				o.Emitted(1)
			}
		}
	})
	b.Run("Render", func(b *testing.B) {
		for b.Loop() {
			e.Render(at(1))
		}
	})
}

func TestQueue(t *testing.T) {
	t.Parallel()
	task := newExecutor(true).Task()
	q := metrics.Queue{Capacity: 100, Population: 25, Arrived: 600, Refused: 60, Dropped: 3, Overflow: 2}
	task.Queue("receive-queue", func() metrics.Queue { return q })
	want := map[string]any{
		"receive-queue-capacity": int32(100), "receive-queue-pct_full": float32(0.25), "receive-queue-population": int32(25),
		"receive-queue-arrival_rate_secs": 10.0, "receive-queue-sojourn_time_ms": 2500.0, "receive-queue-insert_failures": 1.0,
		"receive-queue-dropped_messages": int64(3), "receive-queue-overflow": int32(2),
	}
	got := points(task.Collect(at(30), 30))
	delete(got, "__capacity")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestProcess(t *testing.T) {
	t.Parallel()
	task := newExecutor(false).Task()
	task.Process()
	first, second := points(task.Collect(at(30), 30)), points(task.Collect(at(61), 30))
	if first["uptimeSecs"] != int64(30) || second["uptimeSecs"] != int64(61) || first["startTimeSecs"] != at(0).Unix() {
		t.Errorf("times: %v", second)
	}
	if first["newWorkerEvent"] != int32(1) || second["newWorkerEvent"] != int32(0) {
		t.Error("the worker is not new once")
	}
	n := func(name string) int64 {
		v, ok := second[name].(int64)
		if !ok {
			t.Fatalf("%s = %v", name, second[name])
		}
		return v
	}
	for _, part := range []string{"used", "committed"} {
		if sum := n("memory.heap."+part) + n("memory.non-heap."+part); sum != n("memory.total."+part) || n("memory.non-heap."+part) <= 0 {
			t.Errorf("memory: %v", second)
		}
	}
	if usage, ok := second["workerCpuUsage"].(float64); !ok || usage < 0 || usage > 1000 {
		t.Errorf("workerCpuUsage = %v", second["workerCpuUsage"])
	}
}
