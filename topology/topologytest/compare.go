// SPDX-License-Identifier: Apache-2.0

// This file asks package topology and compares its answers with Storm's.

package topologytest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology"
)

// entry is the answer to one part of a question: a value, the text of an
// InvalidTopologyException, or whatever else was thrown.
type entry struct {
	OK      any
	Invalid string
	Thrown  string
}

// Answers are a side's answers by part.
type Answers map[string]entry

// parts are what a question asks for, in the order in which it is answered.
func parts() []string {
	return []string{"name", "heap", "conf", "normalized", "size", "system", "tasks", "executors", "worker", "overridden"}
}

// Compare gives the differences between Storm's answers to a question, as its
// driver printed them, and those of package topology, - Storm, + gust; "" if there are none.
func Compare(ctx context.Context, q Question, line []byte) (string, error) {
	want, err := parse(ctx, line)
	if err != nil {
		return "", err
	}
	before, err := q.Encode(ctx)
	if err != nil {
		return "", err
	}
	got := ask(q)
	var out strings.Builder
	for _, part := range parts() {
		w, ok := want[part]
		if !ok {
			return "", fmt.Errorf("no answer to %s", part)
		}
		if repeats := strings.HasPrefix(want["system"].Invalid, "Duplicate"); repeats && part != "name" && part != "system" {
			continue // what Storm makes of one of two components of one name, before it refuses both
		}
		if diff := gocmp.Diff(w, got[part], byValue()); diff != "" {
			fmt.Fprintf(&out, "%s:\n%s", part, diff)
		}
	}
	unchanged, err := Decode(ctx, before)
	if err != nil {
		return "", err
	}
	if diff := gocmp.Diff(unchanged, q, byValue()); diff != "" {
		fmt.Fprintf(&out, "the question itself was changed:\n%s", diff)
	}
	return out.String(), nil
}

// ask answers a question with package topology.
func ask(q Question) Answers {
	a := Answers{}
	merged := config.Merge(q.Nimbus, q.Conf)
	set := func(part string, v any, err error) { a[part] = answer(v, err) }
	set("name", nil, topology.CheckName(q.Name))
	set("heap", nil, topology.CheckHeap(q.Conf, q.Nimbus, q.Topology))
	set("size", nil, topology.CheckSize(q.Conf, q.Nimbus, q.Topology))
	conf, err := topology.NormalizeConf(q.Nimbus, q.Conf, q.Topology)
	set("conf", map[string]any(conf), err)
	normal, err := topology.Normalize(merged, q.Topology)
	set("normalized", normal, err)
	system, err := topology.System(merged, normal)
	set("system", system, err)
	if err != nil {
		set("tasks", nil, err)
		set("executors", nil, err)
		set("worker", nil, nil)
	} else {
		tasks, err := topology.TasksOf(system)
		set("tasks", tasks.Map(), err)
		executors := topology.Executors(tasks, q.Counts)
		set("executors", executors, err)
		worker, err := workerOf(q, merged, normal, system, executors)
		set("worker", worker, err)
	}
	overridden, err := topology.OverrideResources(normal, q.Overrides)
	set("overridden", overridden, err)
	return a
}

func workerOf(q Question, merged config.Conf, normal, system *storm.StormTopology, executors []topology.Executor) (any, error) {
	if len(executors) == 0 {
		return nil, nil //nolint:nilnil // no executor, no worker: Storm's driver says null
	}
	requests, err := topology.RequestsOf(merged, system)
	if err != nil {
		return nil, err
	}
	var running []string
	for _, e := range executors {
		running = append(running, e.Component)
	}
	return topology.WorkerResources(normal, requests, running, q.Nimbus.Float(config.StormWorkerMinCpuPcorePercent, 0)), nil
}

func answer(v any, err error) entry {
	if e, ok := errors.AsType[*storm.InvalidTopologyException](err); ok {
		return entry{Invalid: e.Msg}
	}
	if err != nil {
		return entry{Thrown: err.Error()}
	}
	return entry{OK: v}
}

// parse turns Storm's JSON answers into the types that package topology gives.
func parse(ctx context.Context, line []byte) (Answers, error) {
	var raw map[string]struct {
		OK      json.RawMessage
		Invalid string
		Thrown  string
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return nil, fmt.Errorf("decode answers: %w", err)
	}
	out := Answers{}
	for part, r := range raw {
		e := entry{Invalid: r.Invalid, Thrown: r.Thrown}
		if len(r.OK) > 0 && string(r.OK) != "null" {
			v, err := parseValue(ctx, part, r.OK)
			if err != nil {
				return nil, fmt.Errorf("decode answer to %s: %w", part, err)
			}
			e.OK = v
		}
		out[part] = e
	}
	return out, nil
}

func parseValue(ctx context.Context, part string, raw json.RawMessage) (any, error) {
	switch part {
	case "conf":
		conf, err := config.ParseJSON(raw)
		return map[string]any(conf), err
	case "normalized", "system", "overridden":
		var b []byte
		if err := json.Unmarshal(raw, &b); err != nil {
			return nil, err
		}
		return readTopology(ctx, b)
	case "tasks":
		var m map[int32]string
		err := json.Unmarshal(raw, &m)
		return m, err
	case "executors":
		var lines [][3]any
		if err := json.Unmarshal(raw, &lines); err != nil {
			return nil, err
		}
		var out []topology.Executor
		for _, l := range lines {
			start, _ := l[0].(float64)
			end, _ := l[1].(float64)
			component, _ := l[2].(string)
			out = append(out, topology.Executor{Start: int32(start), End: int32(end), Component: component})
		}
		return out, nil
	default:
		var w struct {
			OnHeap          float64            `json:"on_heap"`
			OffHeap         float64            `json:"off_heap"`
			CPU             float64            `json:"cpu"`
			SharedOnHeap    float64            `json:"shared_on_heap"`
			SharedOffHeap   float64            `json:"shared_off_heap"`
			Resources       map[string]float64 `json:"resources"`
			SharedResources map[string]float64 `json:"shared_resources"`
		}
		err := json.Unmarshal(raw, &w)
		return &storm.WorkerResources{
			MemOnHeap: &w.OnHeap, MemOffHeap: &w.OffHeap, CPU: &w.CPU, SharedMemOnHeap: &w.SharedOnHeap,
			SharedMemOffHeap: &w.SharedOffHeap, Resources: w.Resources, SharedResources: w.SharedResources,
		}, err
	}
}

// byValue compares what matters: inputs by what their pointers show, confs as
// JSON, decorators as a set. Sums may differ in their last bit, a resource of
// 0 may be left out, and a metrics consumer's object has another form.
func byValue() gocmp.Option {
	named := func(name string) func(gocmp.Path) bool {
		return func(p gocmp.Path) bool { return strings.HasSuffix(p.String(), name) }
	}
	return gocmp.Options{
		cmpopts.EquateApprox(1e-12, 0),
		gocmp.Transformer("inputs", func(m map[*storm.GlobalStreamId]*storm.Grouping) map[storm.GlobalStreamId]*storm.Grouping {
			out := make(map[storm.GlobalStreamId]*storm.Grouping, len(m))
			for k, v := range m {
				out[*k] = v
			}
			return out
		}),
		gocmp.FilterPath(named("JSONConf"), gocmp.Transformer("json", parseConf)),
		gocmp.FilterPath(named("Resources"), cmpopts.IgnoreMapEntries(func(_ string, v float64) bool { return v == 0 })),
		cmpopts.IgnoreMapEntries(func(k string, v any) bool { return k == config.TopologyKryoDecorators && v == nil }),
		gocmp.FilterPath(inDecorators, cmpopts.SortSlices(func(a, b any) bool { return fmt.Sprint(a) < fmt.Sprint(b) })),
		gocmp.FilterPath(isConsumerObject, gocmp.Ignore()),
	}
}

func parseConf(s *string) any {
	if s == nil {
		return nil
	}
	conf, err := config.ParseJSON([]byte(*s))
	if err != nil {
		return *s
	}
	return map[string]any(conf)
}

// inDecorators says whether a path is the value of topology.kryo.decorators.
func inDecorators(p gocmp.Path) bool {
	for _, step := range p {
		if m, ok := step.(gocmp.MapIndex); ok && m.Key().String() == config.TopologyKryoDecorators {
			return true
		}
	}
	return false
}

// isConsumerObject says whether a path is the object of a metrics consumer bolt.
func isConsumerObject(p gocmp.Path) bool {
	consumer := false
	for _, step := range p {
		if m, ok := step.(gocmp.MapIndex); ok {
			consumer = strings.HasPrefix(m.Key().String(), topology.MetricsPrefix)
		}
	}
	return consumer && strings.HasSuffix(p.String(), "BoltObject")
}

// ids gives the ids of a topology's spouts and bolts, sorted.
func ids(t *storm.StormTopology) []string {
	out := slices.Concat(slices.Collect(maps.Keys(t.Spouts)), slices.Collect(maps.Keys(t.Bolts)))
	slices.Sort(out)
	return slices.Compact(out)
}

// sorted goes through a map by ascending key.
func sorted[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}
