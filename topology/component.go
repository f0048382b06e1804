// SPDX-License-Identifier: Apache-2.0

// This file gives spouts, bolts and state spouts one face.

package topology

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/internal/java"
	"github.com/gust-stream/gust/thrift/storm"
)

// component is a spout, bolt or state spout: its id and what they have in common.
type component struct {
	id     string
	common *storm.ComponentCommon
}

// components lists all components of a topology in the order of task ids: by
// id as Java compares strings. An id that is there twice comes twice.
func components(t *storm.StormTopology) []component {
	out := make([]component, 0, len(t.Bolts)+len(t.Spouts)+len(t.StateSpouts))
	for id, b := range t.Bolts {
		out = append(out, component{id, b.GetCommon()})
	}
	for id, s := range t.Spouts {
		out = append(out, component{id, s.GetCommon()})
	}
	for id, s := range t.StateSpouts {
		out = append(out, component{id, s.GetCommon()})
	}
	slices.SortStableFunc(out, func(a, b component) int { return java.Compare(a.id, b.id) })
	return out
}

// conf is the component's own conf, empty if it has none.
func (c component) conf() (config.Conf, error) {
	if c.common.JSONConf == nil {
		return config.Conf{}, nil
	}
	conf, err := config.ParseJSON([]byte(*c.common.JSONConf))
	if err != nil {
		return nil, invalid("Component: [%s] has a configuration that cannot be read: %v", c.id, err)
	}
	return conf, nil
}

// executors is the component's parallelism hint; none means 1.
func (c component) executors() int32 {
	if c.common.ParallelismHint == nil {
		return 1
	}
	return *c.common.ParallelismHint
}

// integer reads a whole number that fits 32 bits; def stands for a missing one.
func integer(conf config.Conf, key string, def int32) (int32, error) {
	if !conf.Has(key) {
		return def, nil
	}
	n, err := conf.RequireInt(key)
	if err != nil {
		return 0, err
	}
	if n < math.MinInt32 || n > math.MaxInt32 {
		return 0, fmt.Errorf("conf key %s: %d is out of range", key, n)
	}
	return int32(n), nil
}

// isSystem says whether an id is reserved for the system.
func isSystem(id string) bool { return strings.HasPrefix(id, "__") }

// invalid makes the exception that submits are refused with.
func invalid(format string, args ...any) error {
	return &storm.InvalidTopologyException{Msg: fmt.Sprintf(format, args...)}
}

// clone copies a topology deep enough that its components can be given other
// streams, inputs and confs.
func clone(t *storm.StormTopology) *storm.StormTopology {
	out := *t
	out.Spouts = make(map[string]*storm.SpoutSpec, len(t.Spouts))
	for id, s := range t.Spouts {
		c := *s
		c.Common = cloneCommon(s.Common)
		out.Spouts[id] = &c
	}
	out.Bolts = make(map[string]*storm.Bolt, len(t.Bolts))
	for id, b := range t.Bolts {
		c := *b
		c.Common = cloneCommon(b.Common)
		out.Bolts[id] = &c
	}
	out.StateSpouts = make(map[string]*storm.StateSpoutSpec, len(t.StateSpouts))
	for id, s := range t.StateSpouts {
		c := *s
		c.Common = cloneCommon(s.Common)
		out.StateSpouts[id] = &c
	}
	return &out
}

func cloneCommon(c *storm.ComponentCommon) *storm.ComponentCommon {
	out := *c
	out.Inputs = maps.Clone(c.Inputs)
	if out.Inputs == nil {
		out.Inputs = map[*storm.GlobalStreamId]*storm.Grouping{}
	}
	out.Streams = maps.Clone(c.Streams)
	if out.Streams == nil {
		out.Streams = map[string]*storm.StreamInfo{}
	}
	return &out
}

// setConf gives a component of a cloned topology another conf.
func (c component) setConf(conf config.Conf) error {
	text, err := conf.JSON()
	if err != nil {
		return fmt.Errorf("component %s: %w", c.id, err)
	}
	s := string(text)
	c.common.JSONConf = &s
	return nil
}
