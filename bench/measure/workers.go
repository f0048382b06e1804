// SPDX-License-Identifier: Apache-2.0

// This file measures what users of one topology wait for: its start and the
// return of a killed worker.

package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gust-stream/gust/internal/testbed"
	"github.com/gust-stream/gust/thrift/leader"

	"github.com/gust-stream/gust/bench/report"
	"github.com/gust-stream/gust/bench/rig"
)

const (
	// stockTick is how often stock's Nimbus schedules. What waits for it is
	// measured at phases that are spread over it evenly, on both sides.
	stockTick = 10 * time.Second
	// steady is how long a worker acks before it is killed.
	steady = 5 * time.Second
	// stepLimit bounds each wait for a worker.
	stepLimit = 3 * time.Minute
	// submitsEach is how often a run measures a submit.
	submitsEach = 2
	// settled is how long a cluster runs on after its last topology was
	// killed: stock's supervisor would take it up again after the next start otherwise.
	settled = 5 * time.Second
	// archiveLimit is how long gust gets to make its class-data archive, once, before it is measured.
	archiveLimit = time.Minute
)

func workers() Group {
	return Group{
		ID:   "workers",
		Name: "workers",
		Rows: []report.Row{
			{
				ID: "submit", Title: "submitTopology until the worker process exists", Stock: "submit stock", Gust: "submit gust",
				Unit: report.Seconds, Factor: 1.0 / 20, Target: "at most 1/20",
			},
			{
				ID: "jar", Title: "`storm jar` start until the first tuple is acked", Stock: "jar stock", Gust: "jar gust",
				Unit: report.Seconds, Factor: 1.0 / 3, Target: "at most 1/3",
			},
			{
				ID: "worker-kill", Title: "kill -9 of a worker until tuples are acked again", Stock: "worker-kill stock", Gust: "worker-kill gust",
				Unit: report.Seconds, Factor: 0.6, Target: "at most 0.6",
			},
			{
				ID: "worker-kill-twin", Title: "kill -9 of a worker until tuples are acked again, gust with a twin", Stock: "worker-kill stock",
				Gust: "worker-kill gust with a twin", Unit: report.Seconds, Factor: 0.4, Target: "at most 0.4",
			},
		},
		Measure: measureWorkers,
	}
}

// side is one kind of cluster that lives through the group; between its turns it is stopped.
type side struct {
	*Run
	*rig.Cluster
	nimbus            *leader.Nimbus
	workers, archived int
}

func measureWorkers(ctx context.Context, r *Run) error {
	if err := r.recordTopology(ctx); err != nil {
		return err
	}
	var sides []*side
	for _, kind := range []rig.Kind{rig.Stock, rig.Gust} {
		if r.skips(kind) {
			continue
		}
		c, err := r.Site.NewCluster(kind, "workers-"+string(kind), rig.Shape{Slots: 2})
		if err != nil {
			return err
		}
		s := &side{Run: r, Cluster: c}
		sides = append(sides, s)
		// A first worker warms the files that JVMs read, and has gust make its archive.
		if err := s.turn(ctx, s.warm); err != nil {
			return err
		}
	}
	for rep := range r.Reps {
		for _, s := range sides {
			if err := s.turn(ctx, func(ctx context.Context) error { return s.measure(ctx, rep) }); err != nil {
				return err
			}
		}
	}
	for _, s := range sides {
		if s.Kind.IsGust() {
			remark := fmt.Sprintf("%d of %d workers of gust ran with its class-data archive", s.archived, s.workers)
			r.note("jar", "%s", remark)
			r.note("worker-kill", "%s", remark)
		}
	}
	if !r.Wanted["worker-kill-twin"] || r.skips(rig.Gust) {
		return nil
	}
	return measureTwin(ctx, r)
}

// turn starts the cluster, does its work and stops it, under the lock.
func (s *side) turn(ctx context.Context, do func(context.Context) error) error {
	return s.Lock.Hold(ctx, func() error {
		return errors.Join(s.started(ctx, do), s.Stop())
	})
}

func (s *side) started(ctx context.Context, do func(context.Context) error) error {
	if _, err := s.Start(ctx); err != nil {
		return err
	}
	var err error
	if s.nimbus, err = s.Client(ctx); err != nil {
		return err
	}
	defer func() { _ = s.nimbus.Close() }() // the cluster ends next
	if err := do(ctx); err != nil {
		return err
	}
	return pause(ctx, settled)
}

// warm runs one worker, and gives gust the time to make its class-data archive.
func (s *side) warm(ctx context.Context) error {
	if err := s.submit(ctx, s.Cluster, s.nimbus, "warm"); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	if _, err := s.AwaitAck(limited, "warm", time.Time{}); err != nil {
		return err
	}
	if s.Kind.IsGust() {
		limited, cancel := context.WithTimeout(ctx, archiveLimit)
		defer cancel()
		if err := s.AwaitArchive(limited); err != nil {
			s.Say("%s: no class-data archive: %v", s.Kind, err)
		}
	}
	return kill(ctx, s.Cluster, s.nimbus, "warm")
}

func (s *side) measure(ctx context.Context, rep int) error {
	if s.Wanted["jar"] || s.Wanted["worker-kill"] || s.Wanted["worker-kill-twin"] {
		name := fmt.Sprintf("jar%d", rep)
		if err := s.phase(ctx, rep, s.Reps); err != nil {
			return err
		}
		if err := s.jar(ctx, rep, name); err != nil {
			return err
		}
		if err := pause(ctx, steady); err != nil {
			return err
		}
		if err := s.killWorker(ctx, rep, name, "worker-kill "+string(s.Kind)); err != nil {
			return err
		}
		if err := kill(ctx, s.Cluster, s.nimbus, name); err != nil {
			return err
		}
	}
	if !s.Wanted["submit"] {
		return nil
	}
	for i := range submitsEach {
		if err := s.phase(ctx, rep*submitsEach+i, s.Reps*submitsEach); err != nil {
			return err
		}
		if err := s.submitOnce(ctx, rep, fmt.Sprintf("submit%d-%d", rep, i)); err != nil {
			return err
		}
	}
	return nil
}

// phase waits for the i-th of n phases of stock's tick.
func (s *side) phase(ctx context.Context, i, n int) error {
	at := stockTick * time.Duration(2*i+1) / time.Duration(2*n)
	now := time.Since(s.Began()) % stockTick
	return pause(ctx, (at-now+stockTick)%stockTick)
}

// jar measures from the exec of "storm jar" to the first ack.
func (s *side) jar(ctx context.Context, rep int, name string) error {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	watch, err := s.NewWatch(10 * time.Millisecond)
	if err != nil {
		return err
	}
	began := time.Now()
	var client time.Duration
	submitted := make(chan error, 1)
	go func() {
		err := s.SubmitByJar(ctx, name, "topology.acker.executors=1", "topology.workers=1")
		client = time.Since(began)
		submitted <- err
	}()
	_, at, err := watch.Next(ctx)
	if err := errors.Join(err, <-submitted); err != nil {
		return err
	}
	stamp, err := s.AwaitAck(ctx, name, began)
	if err != nil {
		return err
	}
	s.count(stamp)
	took := stamp.First.Sub(began)
	s.Samples.AddTime("jar "+string(s.Kind), took)
	s.Say("run %d: %s: storm jar until acked %.2f s (the command ended after %.2f, a worker was seen after %.2f, its spout opened after %.2f)",
		rep+1, s.Kind, took.Seconds(), client.Seconds(), at.Sub(began).Seconds(), stamp.Opened.Sub(began).Seconds())
	return nil
}

// count keeps how many workers ran with an archive.
func (s *side) count(stamp rig.Stamp) {
	s.workers++
	if usesArchive(stamp.PID) {
		s.archived++
	}
}

// killWorker measures from kill -9 of the worker that acks to the first ack of its successor.
func (s *side) killWorker(ctx context.Context, rep int, name, series string) error {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	before, err := s.AwaitAck(ctx, name, time.Time{})
	if err != nil {
		return err
	}
	watch, err := s.NewWatch(10 * time.Millisecond)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := testbed.Kill(before.PID); err != nil {
		return err
	}
	_, at, err := watch.Next(ctx)
	if err != nil {
		return err
	}
	stamp, err := s.AwaitAck(ctx, name, began)
	if err != nil {
		return err
	}
	s.count(stamp)
	took := stamp.First.Sub(began)
	s.Samples.AddTime(series, took)
	s.Samples.AddTime("worker-start "+string(s.Kind), stamp.First.Sub(at))
	s.Say("run %d: %s: kill of a worker until acked %.2f s (a worker was seen after %.3f, its spout opened after %.2f)",
		rep+1, s.Kind, took.Seconds(), at.Sub(began).Seconds(), stamp.Opened.Sub(began).Seconds())
	return nil
}

// submitOnce measures from the call of submitTopologyWithOpts to the worker process.
func (s *side) submitOnce(ctx context.Context, rep int, name string) error {
	limited, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	location, err := upload(limited, s.nimbus, s.Site.Jar)
	if err != nil {
		return err
	}
	watch, err := s.NewWatch(2 * time.Millisecond)
	if err != nil {
		return err
	}
	began := time.Now()
	submitted := make(chan error, 1)
	go func() { submitted <- s.submitAt(limited, s.Cluster, s.nimbus, name, location) }()
	_, at, err := watch.Next(limited)
	if err := errors.Join(err, <-submitted); err != nil {
		return err
	}
	s.Samples.AddTime("submit "+string(s.Kind), at.Sub(began))
	s.Say("run %d: %s: submit until a worker process %.3f s", rep+1, s.Kind, at.Sub(began).Seconds())
	// Killed in its start a worker halts stock's supervisor, so it may finish that first.
	if _, err := s.AwaitAck(limited, name, began); err != nil {
		return err
	}
	return kill(ctx, s.Cluster, s.nimbus, name)
}

// usesArchive tells whether a JVM was given a class-data archive.
func usesArchive(pid int) bool {
	return slices.ContainsFunc(testbed.Argv(pid), func(arg string) bool { return strings.HasPrefix(arg, "-XX:SharedArchiveFile=") })
}
