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
	"github.com/gust-stream/gust/topology/engine"
	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/acker"
	"github.com/gust-stream/gust/worker/metrics"
)

// kind makes the executor of the component's kind.
func (b *builder) kind(c *core, conf config.Conf, tasks int) (runner, error) {
	registry := b.config.Registry
	if c.component == tuple.AckerComponent {
		c.takesTrees = true
		return &trees{core: c, acker: acker.New()}, nil
	}
	if b.config.Topology.Spouts[c.component] != nil {
		c.takesTrees = true
		s := &spout{core: c, max: int(conf.Int(config.TopologyMaxSpoutPending, 0)) * tasks}
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
		c.tickSecs = conf.Int(config.TopologyTickTupleFreqSecs, 0)
	}
	if registry != nil {
		if made := registry.NewBolt(c.component); made != nil {
			return &bolt{
				core: c, executes: metrics.NewSampler(b.counting.Rate), processes: metrics.NewSampler(b.counting.Rate), made: made,
				make: func() component.Bolt { return registry.NewBolt(c.component) },
			}, nil
		}
	}
	return newShellBolt(c, b.counting.Rate), nil
}

// nurse tells an executor of child processes what they are.
func (b *builder) nurse(r runner, conf config.Conf) error {
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
			Conf: maps.Clone(map[string]any(conf)), Context: multilang.Context(b.config.Topology, b.names, t.id), Settings: b.settings,
		}}
		t.child = c
		n.children = append(n.children, c)
	}
	return nil
}
