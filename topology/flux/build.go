// SPDX-License-Identifier: Apache-2.0

package flux

// This file makes the StormTopology.

import (
	"slices"

	"github.com/gust-stream/gust/thrift/storm"
)

func (l *loader) build() (*storm.StormTopology, error) {
	t := &storm.StormTopology{Spouts: map[string]*storm.SpoutSpec{}, Bolts: map[string]*storm.Bolt{}, StateSpouts: map[string]*storm.StateSpoutSpec{}}
	for _, v := range l.spouts {
		object, common, err := v.build(true)
		if err != nil {
			return nil, err
		}
		t.Spouts[v.id] = &storm.SpoutSpec{SpoutObject: object, Common: common}
	}
	for _, v := range l.bolts {
		if t.Spouts[v.id] != nil {
			return nil, v.at.errorf("%s is a spout and a bolt", v.id)
		}
		if !slices.ContainsFunc(l.streams, func(s stream) bool { return s.to == v.id }) {
			l.warn(v.at, "bolt %s has no input and is left out", v.id)
			continue
		}
		object, common, err := v.build(false)
		if err != nil {
			return nil, err
		}
		t.Bolts[v.id] = &storm.Bolt{BoltObject: object, Common: common}
	}
	for _, s := range l.streams {
		if err := connect(t, s); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// build makes what Thrift holds of a component.
func (v *vertex) build(spout bool) (*storm.ComponentObject, *storm.ComponentCommon, error) {
	object, err := v.child.Object(spout)
	if err != nil {
		return nil, nil, v.at.errorf("component %s: %w", v.id, err)
	}
	common := &storm.ComponentCommon{
		Inputs: map[*storm.GlobalStreamId]*storm.Grouping{}, Streams: map[string]*storm.StreamInfo{}, ParallelismHint: &v.parallelism,
	}
	for name, o := range v.streams {
		common.Streams[name] = &storm.StreamInfo{OutputFields: o.fields, Direct: o.direct}
	}
	if len(v.conf) > 0 {
		text, err := v.conf.JSON()
		if err != nil {
			return nil, nil, v.at.errorf("component %s: %w", v.id, err)
		}
		json := string(text)
		common.JSONConf = &json
	}
	return object, common, nil
}

// connect adds a subscription. What it names must be there.
func connect(t *storm.StormTopology, s stream) error {
	to, ok := t.Bolts[s.to]
	if !ok {
		return s.at.errorf("there is no bolt %s", s.to)
	}
	var from *storm.ComponentCommon
	if spout := t.Spouts[s.from]; spout != nil {
		from = spout.Common
	} else if bolt := t.Bolts[s.from]; bolt != nil {
		from = bolt.Common
	} else {
		return s.at.errorf("there is no component %s", s.from)
	}
	declared, ok := from.Streams[s.id]
	if !ok {
		return s.at.errorf("component %s declares no stream %s", s.from, s.id)
	}
	for _, field := range s.grouping.Fields {
		if !slices.Contains(declared.OutputFields, field) {
			return s.at.errorf("stream %s of %s has no field %q", s.id, s.from, field)
		}
	}
	for in := range to.Common.Inputs { // a second subscription to a stream replaces the first, as in Storm's builder
		if in.ComponentId == s.from && in.StreamId == s.id {
			delete(to.Common.Inputs, in)
		}
	}
	to.Common.Inputs[&storm.GlobalStreamId{ComponentId: s.from, StreamId: s.id}] = s.grouping
	return nil
}
