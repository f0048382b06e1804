// SPDX-License-Identifier: Apache-2.0

// This file measures the control plane by itself: its start and its memory.

package measure

import (
	"context"
	"time"

	"github.com/gust-stream/gust/internal/testbed"

	"github.com/gust-stream/gust/bench/report"
	"github.com/gust-stream/gust/bench/rig"
)

// idle is how long a control plane is left alone before its memory is read.
const idle = 10 * time.Second

func control() Group {
	return Group{
		ID:   "control",
		Name: "control plane",
		Rows: []report.Row{
			{
				ID: "memory", Title: "control plane, idle memory (PSS), gust as one process", Stock: "memory stock", Gust: "memory gust",
				Unit: report.Bytes, Factor: 1.0 / 20, Target: "at most 1/20",
			},
			{
				ID: "memory-three", Title: "control plane, idle memory (PSS), gust as three processes", Stock: "memory stock", Gust: "memory gust (three)",
				Unit: report.Bytes, Factor: 1.0 / 20, Target: "at most 1/20",
			},
			{
				ID: "start", Title: "control plane, start until getClusterInfo answers, stock by bare java commands", Stock: "start stock", Gust: "start gust",
				Unit: report.Seconds, Factor: 1.0 / 10, Target: "at most 1/10",
			},
			{
				ID: "start-script", Title: "control plane, start until getClusterInfo answers, stock by its own script", Stock: "start stock (script)",
				Gust: "start gust", Unit: report.Seconds, Factor: 1.0 / 25, Target: "at most 1/25",
			},
		},
		Measure: measureControl,
	}
}

func measureControl(ctx context.Context, r *Run) error {
	memory := r.Wanted["memory"] || r.Wanted["memory-three"]
	for rep := range r.Reps {
		for _, kind := range []rig.Kind{rig.Stock, rig.Gust, rig.Three, rig.Script} {
			if r.skips(kind) || kind == rig.Three && !r.Wanted["memory-three"] || kind == rig.Script && !r.Wanted["start-script"] {
				continue
			}
			err := r.with(ctx, kind, rig.Shape{Slots: 4}, func(c *rig.Cluster) error {
				took, err := c.Start(ctx)
				if err != nil {
					return err
				}
				r.Samples.AddTime("start "+string(kind), took)
				r.Say("run %d: %s: start %.3f s", rep+1, kind, took.Seconds())
				if !memory || kind == rig.Script {
					return nil
				}
				if err := pause(ctx, idle); err != nil {
					return err
				}
				pss, err := testbed.PSS(c.Daemons()...)
				if err != nil {
					return err
				}
				r.Samples.Add("memory "+string(kind), float64(pss))
				r.Say("run %d: %s: memory %.1f MB", rep+1, kind, float64(pss)/1e6)
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
