// SPDX-License-Identifier: Apache-2.0

// This file measures calls to Nimbus, with the same Go client on both sides.

package measure

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/bench/report"
	"github.com/gust-stream/gust/bench/rig"
)

// What the calls are measured with.
const (
	topologies = 101
	warmSubmit = 21 // of these the first, not timed
	clients    = 8
	warmCalls  = 5 * time.Second
	timedCalls = 10 * time.Second
)

func calls() Group {
	return Group{
		ID:   "calls",
		Name: "calls to Nimbus",
		Rows: []report.Row{
			{
				ID: "cluster-info", Title: "getClusterInfo with 101 topologies, 8 clients", Stock: "cluster-info stock", Gust: "cluster-info gust",
				Unit: report.PerSecond, Factor: 100, Target: "at least 100 times",
			},
			{
				ID: "submits", Title: "submitTopologyWithOpts in a row, 1 client", Stock: "submits stock", Gust: "submits gust",
				Unit: report.PerSecond, Factor: 10, Target: "at least 10 times",
			},
		},
		Measure: measureCalls,
	}
}

func measureCalls(ctx context.Context, r *Run) error {
	if err := r.recordTopology(ctx); err != nil {
		return err
	}
	for rep := range r.Reps {
		for _, kind := range []rig.Kind{rig.Stock, rig.Three} {
			if r.skips(kind) {
				continue
			}
			err := r.with(ctx, kind, alone(), func(c *rig.Cluster) error {
				if _, err := c.Start(ctx); err != nil {
					return err
				}
				rate, err := submits(ctx, r, c)
				if err != nil {
					return err
				}
				r.Samples.Add("submits "+sideOf(kind), rate)
				r.Say("run %d: %s: %.1f submits a second", rep+1, kind, rate)
				if !r.Wanted["cluster-info"] {
					return nil
				}
				if rate, err = infos(ctx, c); err != nil {
					return err
				}
				r.Samples.Add("cluster-info "+sideOf(kind), rate)
				r.Say("run %d: %s: %.1f getClusterInfo a second", rep+1, kind, rate)
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// submits submits the topologies and gives the rate of the timed ones.
func submits(ctx context.Context, r *Run, c *rig.Cluster) (float64, error) {
	nimbus, err := c.Client(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = nimbus.Close() }() // nothing is outstanding
	location, err := upload(ctx, nimbus, r.Site.Jar)
	if err != nil {
		return 0, err
	}
	var began time.Time
	for i := range topologies {
		if i == warmSubmit {
			began = time.Now()
		}
		if err := r.submitAt(ctx, c, nimbus, fmt.Sprintf("bench%d", i), location); err != nil {
			return 0, err
		}
	}
	return (topologies - warmSubmit) / time.Since(began).Seconds(), nil
}

// infos gives the rate at which getClusterInfo is answered to all clients.
func infos(ctx context.Context, c *rig.Cluster) (float64, error) {
	var answered atomic.Int64
	var stopped atomic.Bool
	group, ctx := errgroup.WithContext(ctx)
	for range clients {
		group.Go(func() error { return ask(ctx, c, &answered, &stopped) })
	}
	var rate float64
	group.Go(func() error {
		defer stopped.Store(true)
		if err := pause(ctx, warmCalls); err != nil {
			return err
		}
		before, began := answered.Load(), time.Now()
		if err := pause(ctx, timedCalls); err != nil {
			return err
		}
		rate = float64(answered.Load()-before) / time.Since(began).Seconds()
		return nil
	})
	return rate, group.Wait()
}

// ask asks over one connection until it is stopped.
func ask(ctx context.Context, c *rig.Cluster, answered *atomic.Int64, stopped *atomic.Bool) error {
	nimbus, err := c.Client(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = nimbus.Close() }() // nothing is outstanding
	for !stopped.Load() {
		info, err := nimbus.GetClusterInfo(ctx)
		if err != nil {
			return fmt.Errorf("ask for the cluster: %w", err)
		}
		if len(info.Topologies) != topologies {
			return fmt.Errorf("ask for the cluster: it has %d topologies, not %d", len(info.Topologies), topologies)
		}
		answered.Add(1)
	}
	return nil
}
