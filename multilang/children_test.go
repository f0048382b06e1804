// SPDX-License-Identifier: Apache-2.0

package multilang

// This file holds what tests with real children share: an executor in small.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gust-stream/gust/internal/testbed"
	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/tuple"
)

// long is how long tests wait for what should come soon.
const long = time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(goChild) == "split" {
		component.MainBolt(&goSplit{})
		return
	}
	goleak.VerifyTestMain(m)
}

// emitted is a tuple that a child emitted.
type emitted struct {
	Stream  string
	Task    int32
	Anchors []*tuple.Tuple
	ID      any
	Values  []any
}

// runner remembers what a child does. Emits go to tasks 7 and 8 in turn.
type runner struct {
	emits   []emitted
	acked   []*tuple.Tuple
	failed  []*tuple.Tuple
	reports []string
	logs    []string
	metrics map[string]any
	forget  bool // count emits only
	ids     func() []int32
	count   int
}

func (r *runner) Emit(s *component.Stream, anchor *tuple.Tuple, more []*tuple.Tuple, id any, values []any, want bool) ([]int32, error) {
	r.count++
	if !r.forget {
		e := emitted{Stream: s.Name, ID: id, Values: values}
		if anchor != nil {
			e.Anchors = append([]*tuple.Tuple{anchor}, more...)
		}
		r.emits = append(r.emits, e)
	}
	if len(values) != len(s.Fields) {
		return nil, fmt.Errorf("%d values for %d fields", len(values), len(s.Fields))
	}
	if !want {
		return nil, nil
	}
	if r.ids != nil {
		return r.ids(), nil
	}
	return []int32{int32(7 + r.count%2)}, nil
}

func (r *runner) EmitDirect(task int32, s *component.Stream, anchor *tuple.Tuple, more []*tuple.Tuple, id any, values []any) error {
	e := emitted{Stream: s.Name, Task: task, ID: id, Values: values}
	if anchor != nil {
		e.Anchors = append([]*tuple.Tuple{anchor}, more...)
	}
	r.emits = append(r.emits, e)
	return nil
}

func (r *runner) Ack(t *tuple.Tuple)  { r.acked = append(r.acked, t) }
func (r *runner) Fail(t *tuple.Tuple) { r.failed = append(r.failed, t) }
func (r *runner) Report(err error)    { r.reports = append(r.reports, err.Error()) }

func (r *runner) Log(l component.Level, message string) {
	r.logs = append(r.logs, fmt.Sprint(l, " ", message))
}

func (r *runner) Metric(name string, value any) {
	if r.metrics == nil {
		r.metrics = map[string]any{}
	}
	r.metrics[name] = value
}

// bed is an executor in small: it applies batches on the test's goroutine.
type bed struct {
	*runner
	t      testing.TB
	events chan *Batch
	cancel context.CancelFunc
	group  sync.WaitGroup
	err    error // what Run gave; read it after wait
	ended  *ChildError
	logged *observer.ObservedLogs
	dir    string
	bolt   *Bolt
	spout  *Spout
	source *tuple.Source
	lease  sync.Mutex // held by the test's goroutine but while it is parked
	work   func()     // what is done after each batch
}

// installed is the folder with the children that a script installs.
func installed(tb testing.TB) string {
	tb.Helper()
	dir, err := testbed.Find("GUST_MULTILANG_CHILDREN", filepath.Join("build", "multilang"), "storm.py", "make multilang-children")
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

// python is the interpreter with pystorm and streamparse.
func python(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(installed(tb), "venv", "bin", "python")
}

// script is the path of a child in testdata.
func script(tb testing.TB, name string) string {
	tb.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// childEnvironment lets children find storm.py and storm.js.
func childEnvironment(tb testing.TB) []string {
	tb.Helper()
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool { // it makes each piece of a message a write of its own
		return strings.HasPrefix(entry, "PYTHONUNBUFFERED=")
	})
	return append(env, "PYTHONPATH="+installed(tb), "NODE_PATH="+installed(tb))
}

// source is where tuples of these tests come from.
func source() *tuple.Source {
	return &tuple.Source{Component: "words", Stream: "default", Task: 3, Fields: []string{"a"}}
}

// streams are those of every component in these tests.
func streams() []*component.Stream {
	return []*component.Stream{{Name: "default", Fields: []string{"a"}}, {Name: "empty", Index: 1}, {Name: "pair", Fields: []string{"a", "b"}, Index: 2}}
}

func newBed(tb testing.TB, settings Settings, command ...string) (*bed, Config) {
	tb.Helper()
	b := &bed{
		runner: &runner{}, work: func() {}, t: tb, events: make(chan *Batch, 16), dir: tb.TempDir(),
		source: source(),
	}
	pids := filepath.Join(b.dir, "pids")
	if err := os.Mkdir(pids, 0o755); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(b.stop)
	b.lease.Lock()
	return b, Config{
		TryApply: b.tryApply, Vigils: NewVigils(1),
		Command: command, Dir: b.dir, PidDir: pids, Component: "split", Task: 5, Settings: settings,
		Conf: map[string]any{"topology.name": "test", "topology.debug": false}, Context: map[string]any{"taskid": 5, "componentid": "split"}, Environ: childEnvironment(tb),
	}
}

func (b *bed) logger() *zap.Logger {
	core, logs := observer.New(zapcore.DebugLevel)
	b.logged = logs
	return zap.New(core).With(zap.String("component_id", "split"), zap.Int32("task_id", 5))
}

func (b *bed) run(run func(context.Context) error) {
	ctx, cancel := context.WithCancel(b.t.Context())
	b.cancel = cancel
	b.group.Go(func() { b.err = run(ctx) })
}

func startBolt(t *testing.T, settings Settings, command ...string) *bed {
	t.Helper()
	b, cfg := newBed(t, settings, command...)
	return b.asBolt(cfg)
}

func (b *bed) asBolt(cfg Config) *bed {
	b.bolt = NewBolt(cfg, streams(), b.runner, b.events, b.logger())
	b.run(b.bolt.Run)
	return b
}

func (b *bed) asSpout(cfg Config) *bed {
	b.spout = NewSpout(cfg, streams(), b.runner, b.events, b.logger())
	b.run(b.spout.Run)
	return b
}

func startSpout(t *testing.T, settings Settings, command ...string) *bed {
	t.Helper()
	b, cfg := newBed(t, settings, command...)
	return b.asSpout(cfg)
}

// stop ends the child as an executor does.
func (b *bed) stop() {
	if b.cancel != nil {
		b.cancel()
	}
	b.group.Wait()
}

// tryApply does the executor's work on a child's goroutine.
func (b *bed) tryApply(batch *Batch) bool {
	if !b.lease.TryLock() {
		return false
	}
	defer b.lease.Unlock()
	b.take(batch)
	b.work()
	return true
}

// apply takes one batch if one comes soon.
func (b *bed) apply(wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	b.lease.Unlock()
	defer b.lease.Lock()
	select {
	case batch := <-b.events:
		b.lease.Lock()
		b.take(batch)
		b.work()
		b.lease.Unlock()
	case <-timer.C:
	}
}

func (b *bed) take(batch *Batch) {
	if err := batch.Apply(); err != nil {
		if b.ended != nil {
			b.t.Error("a child ended twice")
		}
		if !errors.As(err, &b.ended) {
			b.t.Errorf("not a child's end: %v", err)
		}
	}
}

// until applies batches until a condition holds.
func (b *bed) until(what string, holds func() bool) {
	b.t.Helper()
	limit := time.Now().Add(long)
	for !holds() {
		if b.ended != nil {
			b.t.Fatalf("the child ended while the test waited for %s: %v", what, b.ended)
		}
		if time.Now().After(limit) {
			b.t.Fatalf("%s did not come; emits %v, reports %v, logs %v", what, b.emits, b.reports, b.logs)
		}
		b.apply(10 * time.Millisecond)
	}
}

// end applies batches until the child's end and gives it.
func (b *bed) end() *ChildError {
	b.t.Helper()
	limit := time.Now().Add(long)
	for b.ended == nil {
		if time.Now().After(limit) {
			b.t.Fatalf("the child did not end; emits %v, reports %v", b.emits, b.reports)
		}
		b.apply(10 * time.Millisecond)
	}
	b.group.Wait()
	if b.err == nil || b.err.Error() != b.ended.Error() {
		b.t.Errorf("Run gave %v, the last batch %v", b.err, b.ended)
	}
	return b.ended
}

// tuple makes a tuple of the bed's source.
func (b *bed) tuple(values ...any) *tuple.Tuple {
	return &tuple.Tuple{Source: b.source, Values: values}
}

// deliver gives the bolt tuples, waiting for room.
func (b *bed) deliver(values ...any) []*tuple.Tuple {
	b.t.Helper()
	var sent []*tuple.Tuple
	for _, v := range values {
		b.until("room", func() bool { return b.bolt.Room() > 0 })
		t := b.tuple(v)
		b.bolt.Deliver(t)
		sent = append(sent, t)
	}
	b.bolt.Flush()
	return sent
}
