// SPDX-License-Identifier: Apache-2.0

// This file measures the loss of a machine: its supervisor and its worker die
// at once, and another supervisor has to take over.

package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gust-stream/gust/internal/testbed"

	"github.com/gust-stream/gust/bench/report"
	"github.com/gust-stream/gust/bench/rig"
)

const (
	// launched is longer than nimbus.task.launch.secs, for which stock takes
	// an executor as alive after it was assigned, whatever it says.
	launched = 125 * time.Second
	// young is how long an assignment is old when it is measured young.
	young = 15 * time.Second
	// takeOver bounds the wait for the other supervisor.
	takeOver = 4 * time.Minute
)

func failover() Group {
	const title = "kill -9 of a supervisor and its worker until another supervisor's worker acks"
	return Group{
		ID:   "failover",
		Name: "failover",
		Rows: []report.Row{
			{
				ID: "failover", Title: title, Stock: "failover stock", Gust: "failover gust",
				Unit: report.Seconds, Factor: 1.0 / 4, Target: "at most 1/4",
			},
			{
				ID: "failover-young", Title: title + ", assigned less than 120 s ago", Stock: "failover-young stock", Gust: "failover-young gust",
				Unit: report.Seconds, Factor: 1.0 / 12, Target: "at most 1/12",
			},
			{
				ID: "failover-2s", Title: title + ", gust.nimbus.detection.timeout.secs 2", Stock: "failover stock", Gust: "failover-2s gust",
				Unit: report.Seconds, Factor: 1.0 / 6, Target: "at most 1/6",
			},
		},
		Measure: measureFailover,
	}
}

// loss is one way to lose a supervisor.
type loss struct {
	row  string
	kind rig.Kind
	age  time.Duration // of the assignment
	conf []string
	reps int
}

func measureFailover(ctx context.Context, r *Run) error {
	if err := r.recordTopology(ctx); err != nil {
		return err
	}
	for _, l := range []loss{
		{"failover", rig.Stock, launched, nil, r.LongReps},
		{"failover", rig.Three, launched, nil, r.LongReps},
		{"failover-young", rig.Stock, young, nil, r.LongReps},
		{"failover-young", rig.Three, young, nil, r.Reps},
		{"failover-2s", rig.Three, young, []string{"gust.nimbus.detection.timeout.secs: 2"}, r.Reps},
	} {
		shared := l.row == "failover" && l.kind == rig.Stock // with the row of 2 s
		if r.skips(l.kind) || !r.Wanted[l.row] && (!shared || !r.Wanted["failover-2s"]) {
			continue
		}
		for rep := range l.reps {
			if err := r.lose(ctx, l, rep); err != nil {
				return err
			}
		}
	}
	r.note("failover", "the worker had been assigned %.0f s before; two supervisors on this machine, each with a host name and folders of its own",
		launched.Seconds())
	r.note("failover-2s", "gust's worker had been assigned %.0f s before, stock's %.0f s, which is the case in stock's favour", young.Seconds(), launched.Seconds())
	return nil
}

// lose measures one loss.
func (r *Run) lose(ctx context.Context, l loss, rep int) error {
	shape := rig.Shape{Slots: 1, Hosts: []string{"localhost", "127.0.0.2"}, Conf: l.conf}
	return r.with(ctx, l.kind, shape, func(c *rig.Cluster) error {
		if _, err := c.Start(ctx); err != nil {
			return err
		}
		nimbus, err := c.Client(ctx)
		if err != nil {
			return err
		}
		err = r.submit(ctx, c, nimbus, "moved")
		if err := errors.Join(err, nimbus.Close()); err != nil {
			return err
		}
		assigned := time.Now()
		limited, cancel := context.WithTimeout(ctx, stepLimit)
		defer cancel()
		before, err := c.AwaitAck(limited, "moved", time.Time{})
		if err != nil {
			return err
		}
		if err := pause(ctx, l.age-time.Since(assigned)); err != nil {
			return err
		}
		took, err := moveAway(ctx, c, before)
		if err != nil {
			return err
		}
		r.Samples.AddTime(l.row+" "+sideOf(l.kind), took)
		r.Say("run %d: %s: %s: acked by the other supervisor's worker after %.2f s", rep+1, l.kind, l.row, took.Seconds())
		return nil
	})
}

// moveAway kills the supervisor that has the worker, and the worker, and gives
// the time until the other supervisor's worker acks.
func moveAway(ctx context.Context, c *rig.Cluster, before rig.Stamp) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, takeOver)
	defer cancel()
	for node := range 2 {
		pids, err := c.WorkersOf(node)
		if err != nil {
			return 0, err
		}
		if len(pids) != 1 || pids[0] != before.PID {
			continue
		}
		began := time.Now()
		if err := errors.Join(c.KillSupervisor(node), testbed.Kill(before.PID)); err != nil {
			return 0, err
		}
		after, err := c.AwaitAck(ctx, "moved", began)
		if err != nil {
			return 0, err
		}
		others, err := c.WorkersOf(1 - node)
		if err != nil {
			return 0, err
		}
		if len(others) != 1 || others[0] != after.PID {
			return 0, fmt.Errorf("worker %d acked, which is none of the other supervisor's workers %v", after.PID, others)
		}
		return after.First.Sub(began), nil
	}
	return 0, fmt.Errorf("no supervisor has the worker %d", before.PID)
}
