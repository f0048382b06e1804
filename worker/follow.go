// SPDX-License-Identifier: Apache-2.0

package worker

// This file follows what operators change: activation, debugging, log levels, credentials.

import (
	"context"
	"errors"
	"maps"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/thrift/storm"
)

// followStorm passes on whether the topology is active, once all connections were there.
func (w *Worker) followStorm(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-w.engine.Connected():
	}
	return ended(w.cluster.WatchStorm(ctx, w.args.TopologyID, w.applyState))
}

// applyBase takes the state of the topology as it is at the start. Spouts wait for the connections.
func (w *Worker) applyBase(base *storm.StormBase) {
	if base != nil {
		w.engine.SetDebug(debugOf(w.args.TopologyID, base))
	}
}

// applyState takes a change of the topology's state. One that is gone leaves the spouts silent until the supervisor ends us.
func (w *Worker) applyState(base *storm.StormBase) {
	active := base != nil && base.Status == storm.TopologyStatus_ACTIVE
	w.log.Info("topology state", zap.Bool("active", active))
	w.applyBase(base)
	w.engine.SetActive(active)
}

// debugOf gives the share of tuples that each component shows to event loggers, in percent. Storm keeps that of the whole
// topology under the topology's id.
func debugOf(topologyID string, base *storm.StormBase) map[string]float64 {
	percent := map[string]float64{}
	for id, options := range base.ComponentDebug {
		if id == topologyID {
			id = ""
		}
		percent[id] = 0 // one that is off is so whatever holds for the topology
		if options != nil && options.GetEnable() {
			percent[id] = options.GetSamplingpct()
		}
	}
	return percent
}

// followLevels keeps the levels of the loggers as the cluster state has them, and undoes them when their time is over.
func (w *Worker) followLevels(ctx context.Context) error {
	configs := make(chan *storm.LogConfig)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return w.cluster.WatchLogConfig(ctx, w.args.TopologyID, func(c *storm.LogConfig) {
			select {
			case configs <- c:
			case <-ctx.Done():
			}
		})
	})
	group.Go(func() error {
		w.applyLevels(ctx, configs)
		return nil
	})
	return ended(group.Wait())
}

// applyLevels puts in force what comes in, until ctx ends.
func (w *Worker) applyLevels(ctx context.Context, configs <-chan *storm.LogConfig) {
	var current *storm.LogConfig
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case current = <-configs:
		case <-timer.C:
		}
		timer.Stop()
		now := time.Now()
		if next := w.logs.levels.apply(current, now); !next.IsZero() {
			timer.Reset(next.Sub(now))
		}
	}
}

// followCredentials passes on credentials that are renewed.
func (w *Worker) followCredentials(ctx context.Context) error {
	current := w.credentials
	return ended(w.cluster.WatchCredentials(ctx, w.args.TopologyID, func(c *storm.Credentials) {
		if c != nil && !maps.Equal(c.Creds, current) {
			current = c.Creds
			w.engine.SetCredentials(maps.Clone(current))
		}
	}))
}

// ended makes the end of a watch no error: it ends with the worker.
func ended(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, cluster.ErrClosed) {
		return nil
	}
	return err
}
