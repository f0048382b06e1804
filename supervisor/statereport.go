// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file tells the cluster which keyed states are here, and people when one begins anew although another machine has it.

import (
	"cmp"
	"context"
	"slices"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/internal/clock"
	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/shard"
)

const (
	// tellEvery is the pause between two looks at what there is, tellSizes that between two reports that differ in sizes only.
	tellEvery = 2 * time.Second
	tellSizes = time.Minute
	// tellTime bounds a call.
	tellTime = 10 * time.Second
)

// tell keeps the report in the cluster state up to date until ctx ends.
func (k *states) tell(ctx context.Context, node string, store *shard.Store) {
	trouble := newTrouble(k.log, "keyed states cannot be reported", "keyed states are reported again")
	var last cluster.StateReport
	var at time.Time
	for {
		report := cluster.StateReport{Host: k.host, Components: summarize(store.Namespaces())}
		if at.IsZero() || !sameStates(last, report) || time.Since(at) > tellSizes && !gocmp.Equal(last, report) {
			calling, cancel := context.WithTimeout(ctx, tellTime)
			err := k.cluster.SetStateReport(calling, node, report)
			cancel()
			if ctx.Err() != nil {
				return
			}
			trouble.report(err)
			if err == nil {
				last, at = report, time.Now()
			}
		}
		k.lookAtFresh(ctx, node)
		if clock.Wait(ctx, tellEvery) != nil {
			return
		}
	}
}

// summarize makes a line for each component.
func summarize(all []shard.Info) []cluster.StateComponent {
	type key struct {
		topology, owner, component string
		tasks                      int32
	}
	byKey := map[key]*cluster.StateComponent{}
	for i := range all {
		n := &all[i]
		k := key{n.Topology, n.Owner, n.Component, n.Tasks}
		c := byKey[k]
		if c == nil {
			c = &cluster.StateComponent{Topology: n.Topology, Owner: n.Owner, Component: n.Component, Tasks: n.Tasks}
			byKey[k] = c
		}
		c.Here = append(c.Here, n.Task)
		c.Entries += n.Entries
		c.Bytes += n.Bytes
		c.Opened = max(c.Opened, n.Opened.UnixMilli())
	}
	lines := make([]cluster.StateComponent, 0, len(byKey))
	for _, c := range byKey {
		slices.Sort(c.Here)
		lines = append(lines, *c)
	}
	slices.SortFunc(lines, func(a, b cluster.StateComponent) int {
		return cmp.Or(cmp.Compare(a.Topology, b.Topology), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Component, b.Component),
			cmp.Compare(a.Tasks, b.Tasks))
	})
	return lines
}

// sameStates says whether two reports differ in sizes at most.
func sameStates(a, b cluster.StateReport) bool {
	return slices.EqualFunc(a.Components, b.Components, func(x, y cluster.StateComponent) bool {
		return x.Topology == y.Topology && x.Owner == y.Owner && x.Component == y.Component && x.Tasks == y.Tasks && x.Opened == y.Opened &&
			slices.Equal(x.Here, y.Here)
	})
}

// lookAtFresh says which states began with nothing here although another supervisor has them.
func (k *states) lookAtFresh(ctx context.Context, node string) {
	fresh := k.takeFresh()
	if len(fresh) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	reports, err := k.cluster.StateReports(ctx)
	if err != nil {
		k.log.Warn("whether other supervisors have states that began here is not known", zap.Error(err))
		return
	}
	delete(reports, node)
	for other, report := range reports {
		for _, c := range report.Components {
			if there := begunAnew(fresh, c); len(there) > 0 {
				k.log.Warn("states begin with nothing here and stay behind on the supervisor that had the tasks before: there are no copies",
					zap.String("topology", c.Topology), zap.String("component_id", c.Component), zap.Int32s("task_ids", there),
					zap.String("node", other), zap.String("host", report.Host))
			}
		}
	}
}

// begunAnew are the tasks of fresh whose state is in a line of another's report.
func begunAnew(fresh []stateapi.Definition, c cluster.StateComponent) []int32 {
	var tasks []int32
	for _, d := range fresh {
		if d.Topology == c.Topology && d.Owner == c.Owner && d.Component == c.Component && slices.Contains(c.Here, d.Task) {
			tasks = append(tasks, d.Task)
		}
	}
	return tasks
}
