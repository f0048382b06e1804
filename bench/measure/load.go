// SPDX-License-Identifier: Apache-2.0

// This file describes the topologies whose work is measured, once for both sides.

package measure

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"

	"github.com/gust-stream/gust/internal/testbed"
	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/thrift/storm"

	"github.com/gust-stream/gust/bench/rig"
)

const sentence = "the cow jumped over the moon"

// Names of the components, in their order.
const (
	spoutID = "spout" // emits
	splitID = "split" // Python's; may be missing
	sinkID  = "sink"  // acks
)

// load is a topology: spouts, Python bolts unless there are none, sinks, one acker.
type load struct {
	name   string
	rows   []string // that it is for
	script string   // of the Python bolts

	spouts, splits, sinks int32
	workers               int
	conf                  map[string]any
	// pending is topology.max.spout.pending, 0 is Storm's default, without a bound.
	pending int
	// counted is the component whose tuples are the row's.
	counted string
	// only is the side that runs it, "" for both.
	only string
	// as is the load that this one is another try of, with another bound; "" if it is none.
	as string
}

// topology is the load as one side runs it.
func (l load) topology(kind rig.Kind, b *rig.Bundle) *storm.StormTopology {
	version := testbed.Version
	t := &storm.StormTopology{
		Spouts: map[string]*storm.SpoutSpec{spoutID: {SpoutObject: l.own(kind, "RateSpout"), Common: common(l.spouts, "value")}},
		Bolts:  map[string]*storm.Bolt{}, StateSpouts: map[string]*storm.StateSpoutSpec{}, StormVersion: &version,
	}
	from := spoutID
	if l.script != "" {
		child := &storm.ComponentObject{Shell: &storm.ShellComponent{ExecutionCommand: b.Python, Script: l.script}}
		t.Bolts[splitID] = &storm.Bolt{BoltObject: child, Common: shuffled(from, common(l.splits, "word"))}
		from = splitID
	}
	t.Bolts[sinkID] = &storm.Bolt{BoltObject: l.own(kind, "TallyBolt"), Common: shuffled(from, common(l.sinks))}
	return t
}

// own is a component of the bench's: a class in Java, in Go a part of the program that the topology brings.
func (load) own(kind rig.Kind, class string) *storm.ComponentObject {
	if kind.IsGust() {
		return &storm.ComponentObject{Shell: &storm.ShellComponent{ExecutionCommand: "sh", Script: component.Binary + ".sh"}}
	}
	object := &storm.JavaObject{FullClassName: "org.gust.compat.part." + class, ArgsList: []*storm.JavaObjectArg{}}
	return &storm.ComponentObject{JavaObject: object}
}

func common(parallelism int32, fields ...string) *storm.ComponentCommon {
	c := storm.NewComponentCommon()
	c.Inputs = map[*storm.GlobalStreamId]*storm.Grouping{}
	c.Streams = map[string]*storm.StreamInfo{}
	if len(fields) > 0 {
		c.Streams["default"] = &storm.StreamInfo{OutputFields: fields}
	}
	c.ParallelismHint = &parallelism
	return c
}

func shuffled(from string, c *storm.ComponentCommon) *storm.ComponentCommon {
	c.Inputs[&storm.GlobalStreamId{ComponentId: from, StreamId: "default"}] = &storm.Grouping{Shuffle: storm.NewNullStruct()}
	return c
}

// confOf is the conf that the load is submitted with, as JSON.
func (l load) confOf(r *Run, kind rig.Kind, c *rig.Cluster, name string) (string, error) {
	conf := map[string]any{
		"topology.workers": l.workers, "topology.acker.executors": 1, "compat.out": filepath.Join(c.Out(), name),
	}
	if l.pending > 0 && r.Pending >= 0 {
		conf["topology.max.spout.pending"] = cmp.Or(r.Pending, l.pending)
	}
	if kind.IsGust() {
		conf["gust.topology.go.binary"] = component.Binary
		if r.Profile > 0 {
			conf["bench.profile.secs"] = int(r.Profile.Seconds())
		}
	}
	maps.Copy(conf, l.conf)
	text, err := json.Marshal(conf)
	if err != nil {
		return "", fmt.Errorf("conf of %s: %w", name, err)
	}
	return string(text), nil
}
