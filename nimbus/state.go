// SPDX-License-Identifier: Apache-2.0

// What a topology with keyed state gets and must fulfil.

package nimbus

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
)

const (
	// checkpointSpout is the spout that Storm's client adds to a topology with stateful bolts.
	checkpointSpout = "$checkpointspout"
	// checkpointAction is a class in that spout's tuples, which Storm forgets to register.
	checkpointAction = "org.apache.storm.spout.CheckPointState$Action"
	// mostShards bounds gust.state.shards.
	mostShards = 4096
)

// checkpoints says whether a topology has stateful bolts.
func checkpoints(topo *storm.StormTopology) bool { return topo.Spouts[checkpointSpout] != nil }

// completeState completes the saved conf of a topology with stateful bolts: the checkpoint's class is registered, or its workers could
// not send checkpoints to each other, and the site's provider of state takes the place of the topology's own where the site wants that.
func completeState(nimbus, saved config.Conf, topo *storm.StormTopology) error {
	if shards := saved.Int(config.GustStateShards, 1); shards < 1 || shards > mostShards || shards&(shards-1) != 0 {
		return invalid("%s is %d; it must be a power of two up to %d", config.GustStateShards, shards, mostShards)
	}
	if change := saved.String(config.GustStateOnChange, refuseChange); change != refuseChange && change != dropChanged {
		return invalid("%s is '%s'; it must be %s or %s", config.GustStateOnChange, change, refuseChange, dropChanged)
	}
	delete(saved, config.GustStateDrop)
	if !checkpoints(topo) {
		return nil
	}
	if register, ok := saved[config.TopologyKryoRegister].(map[string]any); ok && !saved.Bool(config.TopologyFallBackOnJavaSerialization, false) {
		if _, there := register[checkpointAction]; !there {
			register = maps.Clone(register)
			register[checkpointAction] = nil
			saved[config.TopologyKryoRegister] = register
		}
	}
	if provider := nimbus.String(config.TopologyStateProvider, ""); provider != "" && nimbus.Bool(config.GustStateProviderOverride, false) {
		saved[config.TopologyStateProvider] = provider
	}
	return nil
}

// The values of gust.state.on.change.
const (
	refuseChange = "refuse"
	dropChanged  = "drop"
)

// checkStates refuses a topology whose components had other tasks when their keyed states came into being: a task would find another
// one's keys. Where the conf says so, it orders the states to be dropped instead. It changes c, which nobody else has yet.
func (n *Nimbus) checkStates(ctx context.Context, c *code) error {
	reports, err := n.cluster.StateReports(ctx)
	if err != nil {
		return err
	}
	name, owner := c.conf.String(config.TopologyName, ""), c.conf.String(config.TopologySubmitterUser, "")
	oldest := n.now().Add(-time.Duration(n.cfg.Conf.Int(config.GustStateRetainSecs, 0)) * time.Second).UnixMilli()
	tasks := map[string][]int32{}
	for i, component := range c.tasks {
		tasks[component] = append(tasks[component], int32(i+1)) //nolint:gosec // tasks are bounded
	}
	var drop []string
	for _, report := range reports {
		for _, line := range report.Components {
			component, _, _ := strings.Cut(line.Component, "/")
			now, there := tasks[component]
			if line.Topology != name || line.Owner != owner || line.Opened < oldest || !there || slices.Contains(drop, component) {
				continue
			}
			fault := stateFault(&line, now)
			switch {
			case fault == nil:
			case c.conf.String(config.GustStateOnChange, refuseChange) == dropChanged:
				drop = append(drop, component)
			default:
				return fault
			}
		}
	}
	if len(drop) > 0 {
		slices.Sort(drop)
		n.log.Warn("keyed states of an earlier submit are dropped", zap.String("topology", name), zap.Strings("components", drop))
		list := make([]any, 0, len(drop))
		for _, component := range drop {
			list = append(list, component)
		}
		c.conf[config.GustStateDrop] = list
	}
	return nil
}

// stateFault says what keeps tasks from going on with the states that a line tells of.
func stateFault(line *cluster.StateComponent, now []int32) error {
	const way = "set " + config.GustStateOnChange + " to " + dropChanged + ", or remove them with gust state rm, to begin anew"
	if int(line.Tasks) != len(now) {
		return invalid("Component %s has keyed state of %d tasks and is submitted with %d; %s", line.Component, line.Tasks, len(now), way)
	}
	for _, task := range line.Here {
		if !slices.Contains(now, task) {
			return invalid("Component %s has keyed state of task %d, and its tasks are %d to %d now, since those of other components changed; %s",
				line.Component, task, now[0], now[len(now)-1], way)
		}
	}
	return nil
}
