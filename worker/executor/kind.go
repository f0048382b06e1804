// SPDX-License-Identifier: Apache-2.0

package executor

// This file finds out what runs a component.

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/multilang"
	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology"
	"github.com/gust-stream/gust/topology/engine"
	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/acker"
	"github.com/gust-stream/gust/worker/metrics"
)

// kind makes the executor of the component's kind.
func (b *builder) kind(c *core) (runner, error) {
	registry := b.config.Registry
	if c.component == tuple.AckerComponent {
		c.takesTrees = true
		return &trees{core: c, acker: acker.New(), executes: newSampler(b.counting.Rate), inputs: map[from]*metrics.Input{}}, nil
	}
	if b.config.Topology.Spouts[c.component] != nil {
		c.takesTrees = true
		s := &spout{core: c, max: int(c.conf.Int(config.TopologyMaxSpoutPending, 0)) * len(c.tasks)}
		s.forget()
		if registry != nil {
			if made := registry.NewSpout(c.component); made != nil {
				s.made = made
				return s, nil
			}
		}
		return newShellSpout(s), nil
	}
	if !strings.HasPrefix(c.component, "__") {
		c.tickSecs = c.conf.Int(config.TopologyTickTupleFreqSecs, 0)
	}
	if makeBolt, err := b.systemBolt(c); makeBolt != nil || err != nil {
		return b.linkedBolt(c, makeBolt, nil), err
	}
	if registry != nil {
		if made := registry.NewBolt(c.component); made != nil {
			return b.linkedBolt(c, func() component.Bolt { return registry.NewBolt(c.component) }, made), nil
		}
	}
	return newShellBolt(c, b.counting.Rate), nil
}

func (b *builder) linkedBolt(c *core, create func() component.Bolt, made component.Bolt) *bolt {
	return &bolt{
		core: c, executes: newSampler(b.counting.Rate), processes: newSampler(b.counting.Rate), make: create, made: made,
	}
}

// systemBolt gives what makes a bolt of the system's, nil if the component is none.
func (b *builder) systemBolt(c *core) (func() component.Bolt, error) {
	line := func() func(string) {
		log := b.config.ComponentLog(c.component, c.first)
		return func(text string) { log.Info(text) }
	}
	if c.component == topology.EventLoggerID {
		write := b.config.Events
		if write == nil {
			write = line()
		}
		return func() component.Bolt { return eventLogger{write} }, nil
	}
	if entry, ok := metrics.LoggingEntry(b.config.Conf, c.component); ok {
		write := b.config.Metrics
		if write == nil {
			write = line()
		}
		bolt, err := metrics.NewLogging(entry, write)
		return func() component.Bolt { return bolt }, err
	}
	return nil, nil
}

// nurse tells an executor of child processes what they are.
func (b *builder) nurse(r runner) error {
	var n *nursery
	var object *storm.ComponentObject
	id := r.base().component
	switch r := r.(type) {
	case *shellBolt:
		n, object = &r.nursery, b.config.Topology.Bolts[id].BoltObject
	case *shellSpout:
		n, object = &r.nursery, b.config.Topology.Spouts[id].SpoutObject
	default:
		return nil
	}
	process, err := engine.ReadChild(object)
	if errors.Is(err, engine.ErrNoChild) {
		return fmt.Errorf("it is not linked into this program and is no child process either: %w", err)
	} else if err != nil {
		return err
	}
	dir := b.config.Resources
	if process.KeepDir {
		dir = ""
	}
	b.killWait = max(b.killWait, b.settings.KillWait)
	for _, t := range n.core.tasks {
		c := &child{task: t, config: multilang.Config{
			Command: process.Command, Env: process.Env, Dir: dir, PidDir: b.config.Pids, Component: id, Task: t.id,
			Conf: maps.Clone(map[string]any(n.core.conf)), Context: multilang.Context(b.config.Topology, b.names, t.id), Settings: b.settings,
			Vigils: b.vigils,
		}}
		t.child = c
		n.children = append(n.children, c)
	}
	return nil
}
