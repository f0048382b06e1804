// SPDX-License-Identifier: Apache-2.0

package component

// This file makes Storm's description of a declared topology, and says what is wrong with it.

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gust-stream/gust/thrift/storm"
)

// Binary is the name that a topology's program has among its resources.
const Binary = "topology"

// Launcher is the shell script that runs a component. Storm has room for two words in a component's command, and loses the mark of
// programs when it unpacks them; so the words are sh and this script, and which component it is comes with the handshake.
const Launcher = `#!/bin/sh
# Becomes the topology's program. Unpacking a JAR forgets that it is one.
[ -x ./` + Binary + ` ] || chmod +x ./` + Binary + ` || exit 126
exec ./` + Binary + ` --component
`

// Files are the files that a JAR has below resources/ beside the program, by name.
func (t *Topology) Files() map[string]string { return map[string]string{Binary + ".sh": Launcher} }

// Storm is the topology as it is submitted. The error says all that is wrong with what was declared.
func (t *Topology) Storm() (*storm.StormTopology, error) {
	out := &storm.StormTopology{Spouts: map[string]*storm.SpoutSpec{}, Bolts: map[string]*storm.Bolt{}, StateSpouts: map[string]*storm.StateSpoutSpec{}}
	var faults []error
	if t.name == "" {
		faults = append(faults, errors.New("the topology has no name"))
	}
	if len(t.spouts) == 0 {
		faults = append(faults, errors.New("the topology has no spout"))
	}
	if _, err := json.Marshal(t.conf); err != nil {
		faults = append(faults, fmt.Errorf("conf: %w", err))
	}
	declared := map[string]*common{}
	for _, c := range t.components {
		if declared[c.id] != nil {
			faults = append(faults, fmt.Errorf("component %q is declared twice", c.id))
		}
		declared[c.id] = c
	}
	for _, c := range t.components {
		object := &storm.ComponentObject{Shell: &storm.ShellComponent{ExecutionCommand: "sh", Script: Binary + ".sh"}}
		described, err := c.storm(declared)
		switch {
		case err != nil:
			faults = append(faults, fmt.Errorf("component %q: %w", c.id, err))
		case c.bolt:
			out.Bolts[c.id] = &storm.Bolt{BoltObject: object, Common: described}
		default:
			out.Spouts[c.id] = &storm.SpoutSpec{SpoutObject: object, Common: described}
		}
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("topology %q: %w", t.name, errors.Join(faults...))
	}
	return out, nil
}

// storm describes one component.
func (c *common) storm(declared map[string]*common) (*storm.ComponentCommon, error) {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.id == "" || strings.HasPrefix(c.id, "__") {
		fault("an id is not empty and does not begin with __, which is for Storm's own")
	}
	if c.parallelism < 1 {
		fault("parallelism %d", c.parallelism)
	}
	hint := int32(c.parallelism) //nolint:gosec // Nimbus bounds it
	out := &storm.ComponentCommon{Inputs: map[*storm.GlobalStreamId]*storm.Grouping{}, Streams: map[string]*storm.StreamInfo{}, ParallelismHint: &hint}
	conf, err := json.Marshal(c.conf)
	if err != nil {
		fault("conf: %w", err)
	}
	if text := string(conf); len(c.conf) > 0 {
		out.JSONConf = &text
	}
	for _, s := range c.streams {
		if len(slices.Compact(slices.Sorted(slices.Values(s.Fields)))) != len(s.Fields) {
			fault("stream %q has a field twice: %q", s.Name, s.Fields)
		}
		out.Streams[s.Name] = &storm.StreamInfo{OutputFields: append([]string{}, s.Fields...), Direct: s.Direct}
	}
	if c.bolt && len(c.inputs) == 0 {
		fault("the bolt takes no stream")
	}
	seen := map[[2]string]bool{}
	for _, in := range c.inputs {
		if err := in.check(declared); err != nil {
			fault("stream %q of %q: %w", in.stream, in.component, err)
			continue
		}
		at := [2]string{in.component, in.stream}
		if seen[at] {
			fault("stream %q of %q is taken twice", in.stream, in.component)
		}
		seen[at] = true
		out.Inputs[&storm.GlobalStreamId{ComponentId: in.component, StreamId: in.stream}] = in.grouping
	}
	return out, errors.Join(faults...)
}

// check says what is wrong with a stream that a bolt takes.
func (in *input) check(declared map[string]*common) error {
	source := declared[in.component]
	if source == nil {
		return errors.New("there is no such component")
	}
	stream := source.streams[in.stream]
	switch {
	case stream == nil:
		return errors.New("the component declares no such stream")
	case in.grouping == nil:
		return errors.New("no grouping is declared")
	case stream.Direct != in.direct:
		return errors.New("direct streams and the direct grouping go together")
	case in.keyed && len(in.fields) == 0:
		return errors.New("a grouping by fields names none")
	}
	for _, field := range in.fields {
		if !slices.Contains(stream.Fields, field) {
			return fmt.Errorf("grouped by field %q, but it has %q", field, stream.Fields)
		}
	}
	return nil
}
