// SPDX-License-Identifier: Apache-2.0

// This file measures what workers do: stock's with components in Java and gust's Go workers with the same components in Go, and
// Python children below both.

package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gust-stream/gust/internal/testbed"
	"github.com/gust-stream/gust/thrift/storm"

	"github.com/gust-stream/gust/bench/report"
	"github.com/gust-stream/gust/bench/rig"
)

const (
	// span is how long a rate is measured.
	span = 10 * time.Second
	// idleSpan is how long an idle worker is measured; /proc counts in 10 ms.
	idleSpan = 20 * time.Second
)

// Series of samples, to be followed by the side.
const (
	pythonJSON    = "python-json "
	pythonMsgpack = "python-msgpack "
	ackedOne      = "acked-one "
	ackedTwo      = "acked-two "
	unacked       = "unacked "
	idleCPU       = "idle-cpu "
	workerMemory  = "worker-memory "
	firstTuple    = "first-tuple "
)

func goWorkerRows() []report.Row {
	rate := func(id, title, series string, factor float64, target string) report.Row {
		return report.Row{
			ID: id, Title: title, Stock: series + "stock", Gust: series + "gust", Unit: report.PerSecond, Factor: factor, Target: target,
		}
	}
	const splitter = "Python sentence splitter, acked, sentences"
	alone := rate("python-json-alone", splitter+", storm.py, JSON, beside the child in a bare pipe", pythonJSON, 0.9,
		"at least 0.9 of the child alone")
	alone.Stock, alone.Beside = pythonJSON+"alone", "child alone"
	packed := rate("python-msgpack-alone", splitter+", pystorm, msgpack, beside the child in a bare pipe", pythonMsgpack, 0.9,
		"at least 0.9 of the child alone")
	packed.Stock, packed.Beside = pythonMsgpack+"alone", "child alone"
	recorded := rate("python-json-recorded", splitter+", storm.py, JSON, beside the child on a recording, which waits for nothing", pythonJSON, 0, "printed")
	recorded.Stock, recorded.Beside = pythonJSON+"recorded", "child alone"
	packedRecorded := rate("python-msgpack-recorded", splitter+", pystorm, msgpack, beside the child on a recording", pythonMsgpack, 0, "printed")
	packedRecorded.Stock, packedRecorded.Beside = pythonMsgpack+"recorded", "child alone"
	beside := rate("python-msgpack", splitter+", gust on pystorm with msgpack, stock on storm.py with JSON", pythonMsgpack, 0, "printed")
	beside.Stock = pythonJSON + "stock"
	each := rate("unacked", "spout and bolt, unacked, one worker, tuples a second and core used", unacked, 3e6, "at least 3 million")
	each.Alone = true
	rows := []report.Row{
		rate("python-json", splitter+", storm.py, JSON", pythonJSON, 3, "at least 3 times"), alone, recorded, packed, packedRecorded, beside,
		rate("acked-one", "spout and bolt, acked, one worker, tuples", ackedOne, 5, "at least 5 times"), each,
		rate("acked-two", "spout and bolt, acked, two workers, tuples", ackedTwo, 4, "at least 4 times"),
	}
	for _, at := range []struct{ id, workers string }{{"latency-one", "one worker"}, {"latency-two", "two workers"}} {
		for _, p := range []string{"p50", "p99"} {
			rows = append(rows, report.Row{
				ID: at.id + "-" + p, Title: "complete latency at 1,000 tuples a second, " + at.workers + ", " + p,
				Stock: at.id + "-" + p + " stock", Gust: at.id + "-" + p + " gust", Unit: report.Seconds, Factor: 1.0 / 5, Target: "at most 1/5",
			})
		}
	}
	return append(rows, report.Row{
		ID: "idle-cpu", Title: "processor time of an idle worker with 28 executors", Stock: idleCPU + "stock", Gust: idleCPU + "gust",
		Unit: report.Cores, Alone: true, Factor: 0.01, Target: "at most 1 % of a core",
	}, report.Row{
		ID: "worker-memory", Title: "memory of a worker with ten Python bolts, without its children", Stock: workerMemory + "stock",
		Gust: workerMemory + "gust", Unit: report.Bytes, Factor: 0.1, Target: "at most 1/10",
	}, report.Row{
		ID: "first-tuple", Title: "start of a worker process until its first tuple", Stock: firstTuple + "stock", Gust: firstTuple + "gust",
		Unit: report.Seconds, Alone: true, Factor: 0.1, Target: "at most 100 ms",
	})
}

func goWorkers() Group {
	return Group{ID: "go-worker", Name: "workers without a JVM", Rows: goWorkerRows(), Measure: measureGoWorkers}
}

// loads are the topologies that are run, in this order.
func loads() []load {
	flat := map[string]any{}
	python := map[string]any{"bench.sentence": sentence}
	slow := map[string]any{"bench.rate": 1000}
	const bound = 1000
	all := []load{
		{
			name: "python-json", rows: []string{"python-json", "python-json-alone", "python-json-recorded", "python-msgpack"}, script: "split.py",
			spouts: 1, splits: 1, sinks: 1, workers: 1, conf: python, pending: bound, counted: spoutID,
		},
		{
			name: "python-msgpack", rows: []string{"python-msgpack", "python-msgpack-alone", "python-msgpack-recorded"}, script: "split_msgpack.py", only: "gust",
			spouts: 1, splits: 1, sinks: 1, workers: 1, pending: bound, counted: spoutID,
			conf: map[string]any{"bench.sentence": sentence, "gust.multilang.serializer": "msgpack"},
		},
		{
			name: "acked-one", rows: []string{"acked-one", "first-tuple"}, spouts: 1, sinks: 1, workers: 1, conf: flat, pending: flatBound,
			counted: spoutID,
		},
		{
			name: "unacked", rows: []string{"unacked", "first-tuple"}, spouts: 1, sinks: 1, workers: 1, counted: sinkID,
			conf: map[string]any{"bench.acked": false},
		},
		{
			name: "acked-two", rows: []string{"acked-two"}, spouts: 1, sinks: 1, workers: 2, conf: flat, pending: flatBound, counted: spoutID,
		},
		{
			name: "latency-one", rows: []string{"latency-one-p50", "latency-one-p99", "first-tuple"}, spouts: 1, sinks: 1, workers: 1,
			conf: slow, counted: spoutID,
		},
		{
			name: "latency-two", rows: []string{"latency-two-p50", "latency-two-p99"}, spouts: 1, sinks: 1, workers: 2, conf: slow,
			counted: spoutID,
		},
		{
			name: "idle", rows: []string{"idle-cpu"}, spouts: 3, sinks: 24, workers: 1, conf: map[string]any{"bench.rate": -1},
		},
		{
			name: "memory", rows: []string{"worker-memory"}, script: "split.py", spouts: 1, splits: 10, sinks: 1, workers: 1, counted: spoutID,
			conf: map[string]any{"bench.rate": 100, "bench.sentence": sentence},
		},
	}
	for _, l := range slices.Clone(all) {
		if l.pending == flatBound {
			l = unbound(l)
			l.only = "stock"
			all = append(all, l)
		}
	}
	return all
}

// flatBound bounds the tuples of spouts that emit as much as they can.
const flatBound = 5000

// unbound is another try of a load, without a bound.
func unbound(l load) load {
	l.as, l.name, l.pending = l.name, l.name+"-unbound", 0
	return l
}

// takeBetter keeps of two tries of stock the one with the better median, for what bound suits it depends on the machine.
func (r *Run) takeBetter(row string) {
	bound, free := r.Samples[row+" stock"], r.Samples[row+"-unbound stock"]
	which := "first"
	if report.Median(free) > report.Median(bound) {
		r.Samples[row+" stock"], which = free, "second"
	}
	if len(bound)+len(free) > 0 {
		r.note(row, "stock was tried with at most 5,000 pending tuples (median %.0f/s) and with any number (%.0f/s); the table has the %s",
			report.Median(bound), report.Median(free), which)
	}
}

func measureGoWorkers(ctx context.Context, r *Run) error {
	var bundle *rig.Bundle
	if err := r.Lock.Hold(ctx, func() (err error) {
		bundle, err = r.Site.NewBundle(ctx)
		return err
	}); err != nil {
		return err
	}
	var faults []error
	for rep := range r.WorkerReps {
		if err := r.childrenAlone(ctx, bundle, rep); err != nil {
			return err
		}
		for _, kind := range []rig.Kind{rig.Stock, rig.Gust} {
			if r.skips(kind) {
				continue
			}
			c, err := r.Site.NewCluster(kind, "goworkers-"+string(kind), rig.Shape{Slots: 2})
			if err != nil {
				return err
			}
			s := &side{Run: r, Cluster: c}
			// What did not work does not keep the rest from being measured.
			faults = append(faults, s.turn(ctx, func(ctx context.Context) error { return s.loads(ctx, bundle, rep) }))
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	r.takeBetter("acked-one")
	r.takeBetter("acked-two")
	return errors.Join(faults...)
}

// loads runs each load that a wanted row needs. One that fails does not keep the others from running.
func (s *side) loads(ctx context.Context, b *rig.Bundle, rep int) error {
	var faults []error
	for _, l := range loads() {
		wanted := slices.ContainsFunc(l.rows, func(id string) bool { return s.Wanted[id] })
		if !wanted || l.only != "" && l.only != sideOf(s.Kind) {
			continue
		}
		if err := s.load(ctx, b, l, rep); err != nil {
			err = fmt.Errorf("run %d: %s: %s: %w", rep+1, s.Kind, l.name, err)
			s.Say("%v", err)
			faults = append(faults, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(faults...)
}

// load runs one topology: submit, warm up, measure, kill.
func (s *side) load(ctx context.Context, b *rig.Bundle, l load, rep int) (err error) {
	name := fmt.Sprintf("%s-%d", l.name, rep)
	conf, err := l.confOf(s.Run, s.Kind, s.Cluster, name)
	if err != nil {
		return err
	}
	jar := b.Java
	if s.Kind.IsGust() {
		jar = b.Go
	}
	location, err := upload(ctx, s.nimbus, jar)
	if err != nil {
		return err
	}
	options := &storm.SubmitOptions{InitialStatus: storm.TopologyInitialStatus_ACTIVE}
	if err := s.nimbus.SubmitTopologyWithOpts(ctx, name, location, conf, l.topology(s.Kind, b), options); err != nil {
		return fmt.Errorf("submit: %w", err)
	}
	defer func() { err = errors.Join(err, kill(context.WithoutCancel(ctx), s.Cluster, s.nimbus, name)) }()
	w := &work{side: s, load: l, rep: rep, name: name}
	if err := w.awaitStart(ctx); err != nil {
		return err
	}
	if err := pause(ctx, s.WarmUp); err != nil {
		return err
	}
	return w.measure(ctx)
}

// work is a load that runs.
type work struct {
	*side

	load load
	rep  int
	name string
	pids []int // of its workers
}

// awaitStart waits until all that will run runs, and takes the time of the first tuple.
func (w *work) awaitStart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	var sinks []rig.Ledger
	if err := testbed.Await(ctx, "the tasks of "+w.name, 25*time.Millisecond, func() (bool, error) {
		spouts, err := w.Ledgers(w.name, spoutID)
		if err != nil || len(spouts) < int(w.load.spouts) {
			return false, err
		}
		if sinks, err = w.Ledgers(w.name, sinkID); err != nil || len(sinks) < int(w.load.sinks) {
			return false, err
		}
		w.pids = nil
		for _, l := range slices.Concat(spouts, sinks) {
			if !slices.Contains(w.pids, l.PID) {
				w.pids = append(w.pids, l.PID)
			}
		}
		return w.load.counted == "" || len(sinks[0].Marks) > 0, nil
	}); err != nil {
		return err
	}
	if len(w.pids) != w.load.workers {
		return fmt.Errorf("spout and bolt are in the processes %v, which are not %d", w.pids, w.load.workers)
	}
	if w.load.as != "" || !slices.Contains(w.load.rows, "first-tuple") {
		return nil
	}
	started, err := rig.StartedAt(w.pids[0])
	if err != nil {
		return err
	}
	took := sinks[0].Marks[0].At.Sub(started)
	w.Samples.AddTime(firstTuple+string(w.Kind), took)
	w.Say("run %d: %s: %s: start of the worker until its first tuple %.3f s", w.rep+1, w.Kind, w.load.name, took.Seconds())
	return nil
}
