// SPDX-License-Identifier: Apache-2.0

// This file holds what all groups share.

package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gust-stream/gust/thrift/storm"

	"github.com/gust-stream/gust/bench/report"
	"github.com/gust-stream/gust/bench/rig"
)

// Group is rows that are measured together.
type Group struct {
	ID      string
	Name    string
	Rows    []report.Row
	Measure func(context.Context, *Run) error
}

// Groups are all rows, in the order of the table.
func Groups() []Group {
	return []Group{control(), workers(), failover(), calls(), passes(), goWorkers(), stateTable()}
}

// Run is one call of the bench.
type Run struct {
	Site     *rig.Site
	Wanted   map[string]bool // row ids
	Reps     int
	LongReps int
	// WorkerReps is for the rows about what workers do, which take minutes on both sides.
	WorkerReps int
	// WarmUp is what a worker gets before it is measured, so that Java's compiler is done.
	WarmUp time.Duration
	// Pending replaces the bound of spouts that emit as much as they can, unless it is 0; below 0 there is none.
	Pending int
	// Profile is how long gust's workers with Go components are profiled, 0 for not.
	Profile time.Duration
	Side    string // if not "", the only one that is measured
	Lock    *Lock
	Samples report.Samples
	Notes   map[string]string // by row id
	Curves  []report.Curve    // of the rows that have them

	topology *storm.StormTopology // the bench topology, once it is recorded
	Say      func(format string, args ...any)
}

// Wants tells whether any row of a group is asked for.
func (r *Run) Wants(g Group) bool {
	for _, row := range g.Rows {
		if r.Wanted[row.ID] {
			return true
		}
	}
	return false
}

// Rows are the rows that are asked for.
func (r *Run) Rows(groups []Group) []report.Row {
	var rows []report.Row
	for _, g := range groups {
		for _, row := range g.Rows {
			if r.Wanted[row.ID] {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// skips tells whether a kind of cluster is on a side that is not measured.
func (r *Run) skips(kind rig.Kind) bool { return r.Side != "" && r.Side != sideOf(kind) }

// note keeps a remark about a row for the report.
func (r *Run) note(id, format string, args ...any) {
	if r.Notes == nil {
		r.Notes = map[string]string{}
	}
	r.Notes[id] = fmt.Sprintf(format, args...)
}

// with runs one cluster under the lock, for one measurement, and ends it whatever happens.
func (r *Run) with(ctx context.Context, kind rig.Kind, shape rig.Shape, do func(*rig.Cluster) error) error {
	return r.Lock.Hold(ctx, func() error {
		c, err := r.Site.NewCluster(kind, "cluster", shape)
		if err != nil {
			return err
		}
		return errors.Join(do(c), c.Stop())
	})
}

// sideOf is which of the two a kind of cluster belongs to.
func sideOf(kind rig.Kind) string {
	if kind.IsGust() {
		return "gust"
	}
	return "stock"
}

// pause waits, unless the context ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
