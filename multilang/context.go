// SPDX-License-Identifier: Apache-2.0

package multilang

// This file makes the context of the handshake, which tells a child its place in the topology.

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gust-stream/gust/thrift/storm"
)

// Context is a task's context as Storm's TopologyContext gives it to children. The topology may be the system topology, tasks name the
// component of each task.
func Context(topology *storm.StormTopology, tasks map[int32]string, task int32) map[string]any {
	commons := usersOf(topology)
	id := tasks[task]
	names := make(map[string]any, len(tasks))
	for t, component := range tasks {
		names[strconv.Itoa(int(t))] = component
	}
	streams := []any{}
	fields := map[string]any{}
	targets := map[string]any{}
	sources := map[string]any{}
	sourceFields := map[string]any{}
	if own := commons[id]; own != nil {
		for stream, info := range own.Streams {
			streams = append(streams, stream)
			fields[stream] = list(info.OutputFields)
		}
		for source, grouping := range own.Inputs {
			put(sources, source.ComponentId, source.StreamId, groupingOf(grouping))
			if from := commons[source.ComponentId]; from != nil { // all its streams, whichever are taken
				for stream, info := range from.Streams {
					put(sourceFields, source.ComponentId, stream, list(info.OutputFields))
				}
			}
		}
	}
	for target, common := range commons {
		for source, grouping := range common.Inputs {
			if source.ComponentId == id {
				put(targets, source.StreamId, target, groupingOf(grouping))
			}
		}
	}
	slices.SortFunc(streams, compareText)
	return map[string]any{
		"taskid":                   task,
		"componentid":              id,
		"task->component":          names,
		"streams":                  streams,
		"stream->outputfields":     fields,
		"stream->target->grouping": targets,
		"source->stream->grouping": sources,
		"source->stream->fields":   sourceFields,
	}
}

// put sets a value two maps deep.
func put(m map[string]any, first, second string, v any) {
	inner, ok := m[first].(map[string]any)
	if !ok {
		inner = map[string]any{}
		m[first] = inner
	}
	inner[second] = v
}

func list(fields []string) []any {
	out := make([]any, len(fields))
	for i, f := range fields {
		out[i] = f
	}
	return out
}

func compareText(a, b any) int {
	x, _ := a.(string)
	y, _ := b.(string)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// systems begins the names of what Storm adds to a topology. Storm makes a component's context from the topology as it was submitted, and
// pystorm does not take the names of an acker's fields.
const systems = "__"

// usersOf gives what each component declares, without what Storm added.
func usersOf(t *storm.StormTopology) map[string]*storm.ComponentCommon {
	commons := map[string]*storm.ComponentCommon{}
	add := func(id string, common *storm.ComponentCommon) {
		if strings.HasPrefix(id, systems) {
			return
		}
		own := &storm.ComponentCommon{Inputs: map[*storm.GlobalStreamId]*storm.Grouping{}, Streams: maps.Clone(common.Streams)}
		maps.DeleteFunc(own.Streams, func(stream string, _ *storm.StreamInfo) bool { return strings.HasPrefix(stream, systems) })
		for source, grouping := range common.Inputs {
			if !strings.HasPrefix(source.ComponentId, systems) && !strings.HasPrefix(source.StreamId, systems) {
				own.Inputs[source] = grouping
			}
		}
		commons[id] = own
	}
	for id, c := range t.Spouts {
		add(id, c.Common)
	}
	for id, c := range t.Bolts {
		add(id, c.Common)
	}
	for id, c := range t.StateSpouts {
		add(id, c.Common)
	}
	return commons
}

// groupingOf names a grouping as Storm's handshake does: by its kind in the Thrift interface.
func groupingOf(g *storm.Grouping) map[string]any {
	switch {
	case g == nil:
		return map[string]any{}
	case g.IsSetFields():
		return map[string]any{"type": "FIELDS", "fields": list(g.Fields)}
	case g.IsSetShuffle():
		return map[string]any{"type": "SHUFFLE"}
	case g.IsSetAll():
		return map[string]any{"type": "ALL"}
	case g.IsSetNone():
		return map[string]any{"type": "NONE"}
	case g.IsSetDirect():
		return map[string]any{"type": "DIRECT"}
	case g.IsSetCustomObject():
		return map[string]any{"type": "CUSTOM_OBJECT"}
	case g.IsSetCustomSerialized():
		return map[string]any{"type": "CUSTOM_SERIALIZED"}
	case g.IsSetLocalOrShuffle():
		return map[string]any{"type": "LOCAL_OR_SHUFFLE"}
	}
	return map[string]any{}
}
