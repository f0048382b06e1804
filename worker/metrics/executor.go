// SPDX-License-Identifier: Apache-2.0

package metrics

// This file holds what an executor's goroutine counts on.

import (
	"sync"
	"time"

	"github.com/gust-stream/gust/config"
)

// Config is how an executor counts.
type Config struct {
	// Bolt says what kind of component it is.
	Bolt bool
	// Rate is how many events a counted one stands for.
	Rate int
	// Buckets is num.stat.buckets.
	Buckets int
	// Interval is topology.builtin.metrics.bucket.size.secs, at which the metrics of components go to metrics consumers.
	Interval int
	// V2 is the interval in seconds at which the system's own metrics go there too, 0 if they do not.
	V2 int
	// Start is when counting begins.
	Start time.Time
}

// ParseConfig reads a topology's conf, with Storm's defaults for what is missing.
func ParseConfig(conf config.Conf) (Config, error) {
	rate, err := Rate(conf.Float(config.TopologyStatsSampleRate, 0.05))
	if err != nil {
		return Config{}, err
	}
	c := Config{
		Rate: rate, Buckets: int(conf.Int(config.NumStatBuckets, 20)),
		Interval: int(conf.Int(config.TopologyBuiltinMetricsBucketSizeSecs, 60)),
	}
	if conf.Bool(config.TopologyEnableV2MetricsTick, false) {
		c.V2 = int(conf.Int(config.TopologyV2MetricsTickIntervalSeconds, 60))
	}
	return c, nil
}

// Executor counts what the tasks of one executor do.
type Executor struct {
	config Config

	mu       sync.Mutex // guards calendar, the windows of all counters, and the lists below
	calendar *calendar
	tasks    []*Task
}

// New makes an executor without tasks.
func New(c Config) *Executor {
	c.Rate = max(1, c.Rate)
	return &Executor{config: c, calendar: newCalendar(c.Buckets, c.Start)}
}

// Task gives the next task of the executor.
func (e *Executor) Task() *Task {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := &Task{executor: e, first: len(e.tasks) == 0, named: map[string]*user{}}
	e.tasks = append(e.tasks, t)
	return t
}

// Task counts what one task does. Its methods are called by the executor's goroutine.
type Task struct {
	executor *Executor
	first    bool
	outputs  []*Output
	inputs   []*Input
	counts   []*Count

	// What the executor's goroutine alone knows.
	users  []*user
	named  map[string]*user
	reads  []reading // each interval
	gauges []reading // with the system's own metrics
	groups []group
}

// Output gives the counters for a stream that the task emits on; the caller keeps it.
func (t *Task) Output(stream string) *Output {
	t.executor.mu.Lock()
	defer t.executor.mu.Unlock()
	for _, o := range t.outputs {
		if o.stream == stream {
			return o
		}
	}
	o := &Output{stream: stream, rate: int64(t.executor.config.Rate)}
	t.outputs = append(t.outputs, o)
	return o
}

// Input gives the counters for a stream of a component that the task takes; the caller keeps it.
func (t *Task) Input(component, stream string) *Input {
	t.executor.mu.Lock()
	defer t.executor.mu.Unlock()
	for _, in := range t.inputs {
		if in.component == component && in.stream == stream {
			return in
		}
	}
	in := &Input{component: component, stream: stream, rate: int64(t.executor.config.Rate)}
	t.inputs = append(t.inputs, in)
	return in
}

// Output counts on a stream that a task emits on. Only sampled events are told.
type Output struct {
	stream string
	rate   int64

	emitted, transferred, acked, failed counter
	complete                            latency

	// What the last data points were made of.
	rates  [4]rate
	recent recent
}

// Emitted counts a tuple that went to some number of tasks.
func (o *Output) Emitted(tasks int) {
	o.emitted.total.Add(o.rate)
	o.transferred.total.Add(o.rate * int64(tasks))
}

// Acked counts a spout's tuple whose tree was done after a time.
func (o *Output) Acked(complete time.Duration) {
	o.acked.total.Add(o.rate)
	o.complete.record(complete)
}

// Failed counts a spout's tuple that failed or timed out.
func (o *Output) Failed() { o.failed.total.Add(o.rate) }

func (o *Output) counters() [4]*counter {
	return [4]*counter{&o.emitted, &o.transferred, &o.acked, &o.failed}
}

// Input counts on a stream that a bolt takes. Only sampled events are told.
type Input struct {
	component, stream string
	rate              int64

	executed, acked, failed counter
	execute, process        latency

	// What the last data points were made of.
	rates   [3]rate
	recents [2]recent
}

// Executed counts a tuple whose execution took a time.
func (in *Input) Executed(execute time.Duration) {
	in.executed.total.Add(in.rate)
	in.execute.record(execute)
}

// Acked counts a tuple that was acked, some time after its execution began.
func (in *Input) Acked(process time.Duration) {
	in.acked.total.Add(in.rate)
	in.process.record(process)
}

// Failed counts a tuple that was failed.
func (in *Input) Failed() { in.failed.total.Add(in.rate) }

func (in *Input) counters() [3]*counter { return [3]*counter{&in.executed, &in.acked, &in.failed} }
