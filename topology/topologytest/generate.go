// SPDX-License-Identifier: Apache-2.0

// This file makes questions.

package topologytest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
)

// Question is one topology as it may be submitted, with what surrounds it.
type Question struct {
	// Name is the topology's name.
	Name string
	// Nimbus is Nimbus's whole conf, Conf the submitted one.
	Nimbus, Conf config.Conf
	Topology     *storm.StormTopology
	// Counts are the executors of each component after a rebalance.
	Counts map[string]int32
	// Overrides are resource overrides of a rebalance, by component.
	Overrides map[string]map[string]float64
}

// wire is a question as a JSON line carries it; the topology is Thrift binary.
type wire struct {
	Name      string                        `json:"name"`
	Nimbus    json.RawMessage               `json:"nimbus"`
	Conf      json.RawMessage               `json:"conf"`
	Topology  []byte                        `json:"topology"`
	Counts    map[string]int32              `json:"counts"`
	Overrides map[string]map[string]float64 `json:"overrides"`
}

// Encode gives the question as one JSON line without its end.
func (q Question) Encode(ctx context.Context) ([]byte, error) {
	w := wire{Name: q.Name, Counts: q.Counts, Overrides: q.Overrides}
	var err error
	if w.Nimbus, err = q.Nimbus.JSON(); err != nil {
		return nil, fmt.Errorf("encode question: %w", err)
	}
	if w.Conf, err = q.Conf.JSON(); err != nil {
		return nil, fmt.Errorf("encode question: %w", err)
	}
	if w.Topology, err = thrift.NewTSerializer().Write(ctx, q.Topology); err != nil {
		return nil, fmt.Errorf("encode question: %w", err)
	}
	return json.Marshal(w)
}

// Decode reads what Encode wrote.
func Decode(ctx context.Context, line []byte) (Question, error) {
	var w wire
	if err := json.Unmarshal(line, &w); err != nil {
		return Question{}, fmt.Errorf("decode question: %w", err)
	}
	q := Question{Name: w.Name, Counts: w.Counts, Overrides: w.Overrides}
	var err error
	if q.Nimbus, err = config.ParseJSON(w.Nimbus); err != nil {
		return q, err
	}
	if q.Conf, err = config.ParseJSON(w.Conf); err != nil {
		return q, err
	}
	q.Topology, err = readTopology(ctx, w.Topology)
	return q, err
}

func readTopology(ctx context.Context, b []byte) (*storm.StormTopology, error) {
	t := storm.NewStormTopology()
	if err := thrift.NewTDeserializer().Read(ctx, t, b); err != nil {
		return nil, fmt.Errorf("decode topology: %w", err)
	}
	return t, nil
}

// Generate makes a question; about a third of them have a fault.
func Generate(r *rand.Rand) Question {
	q := Question{Name: pick(r, "wc", "a b", "x-1_2", "ünï", "a/b", "a.b", "a:b", `a\b`), Nimbus: nimbusConf(r), Conf: topologyConf(r)}
	if r.IntN(3) > 0 {
		q.Name = "wc"
	}
	q.Topology = newTopology(r)
	if r.IntN(3) == 0 {
		spoil(r, q.Topology)
	}
	q.Counts = map[string]int32{"__acker": int32(r.IntN(3)), "__system": 0}
	q.Overrides = map[string]map[string]float64{}
	for _, id := range append(ids(q.Topology), "nowhere") {
		if r.IntN(5) > 0 {
			q.Counts[id] = int32(r.IntN(7))
		}
		if r.IntN(3) == 0 {
			q.Overrides[id] = map[string]float64{
				pick(r, "onheap.memory.mb", "offheap.memory.mb", "topology.component.resources.onheap.memory.mb", "gpu.count"): float64(r.IntN(500)) + 0.5,
			}
		}
	}
	return q
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// maybe sets a key in half of the cases.
func maybe(r *rand.Rand, c config.Conf, key string, from ...any) {
	if r.IntN(2) == 0 {
		c[key] = pick(r, from...)
	}
}

func nimbusConf(r *rand.Rand) config.Conf {
	c := config.Conf{
		config.StormMessagingNettyAuthentication:        r.IntN(4) == 0,
		config.TopologyWorkerNimbusThriftClientUseTls:   r.IntN(4) == 0,
		config.WorkerMaxTimeoutSecs:                     int64(600),
		config.TopologyWorkerMaxHeapSizeMb:              pick[any](r, 768.0, 768.0, 200.0),
		config.TopologyWorkers:                          int64(1),
		config.TopologyAckerExecutors:                   nil,
		config.TopologyEventloggerExecutors:             int64(0),
		config.TopologyMaxTaskParallelism:               nil,
		config.TopologyMessageTimeoutSecs:               int64(30),
		config.TopologyComponentResourcesOnheapMemoryMb: 128.0, config.TopologyComponentResourcesOffheapMemoryMb: 0.0,
		config.TopologyComponentCpuPcorePercent: 10.0,
		config.TopologyTasks:                    nil,
		config.StormCgroupHierarchyDir:          "/cgroup/storm_resources",
		config.WorkerMetrics:                    map[string]any{"CGroupMemory": "org.apache.storm.metrics2.cgroup.CGroupMemoryUsage"},
		config.StormWorkersArtifactsDir:         "workers-artifacts",
	}
	if r.IntN(4) == 0 {
		c[config.StormMetricsReporters] = []any{map[string]any{"class": "a.Reporter"}}
	}
	if r.IntN(4) == 0 {
		c[config.StormTopologyMetricsSystemReporters] = []any{map[string]any{"class": "b.Reporter"}}
	}
	if r.IntN(4) == 0 {
		c[config.NimbusSlotsPerTopology] = int64(2)
	}
	if r.IntN(4) == 0 {
		c[config.NimbusExecutorsPerTopology] = int64(6)
	}
	if r.IntN(3) == 0 {
		c[config.StormWorkerMinCpuPcorePercent] = 150.0
	}
	if r.IntN(3) == 0 {
		c[config.TopologyComponentResourcesMap] = map[string]any{"onheap.memory.mb": int64(64), "gpu.count": 1.0}
	}
	return c
}

func topologyConf(r *rand.Rand) config.Conf {
	c := config.Conf{config.StormId: "wc-1-1700000000"}
	maybe(r, c, config.TopologyWorkers, int64(1), int64(2), int64(3))
	maybe(r, c, config.TopologyAckerExecutors, nil, int64(0), int64(2))
	maybe(r, c, config.TopologyEventloggerExecutors, nil, int64(0), int64(2))
	maybe(r, c, config.TopologyMaxTaskParallelism, nil, int64(3), int64(8))
	maybe(r, c, config.TopologyMessageTimeoutSecs, int64(5), int64(90))
	maybe(r, c, config.StormWorkersArtifactsDir, "elsewhere")
	maybe(r, c, config.StormMessagingNettyAuthentication, true, false)
	maybe(r, c, config.TopologyWorkerNimbusThriftClientUseTls, true, false)
	maybe(r, c, config.TopologyWorkerTimeoutSecs, int64(60), int64(900))
	maybe(r, c, config.TopologyKryoRegister, []any{"a.A", map[string]any{"b.B": "b.Ser"}}, []any{})
	maybe(r, c, config.TopologyKryoDecorators, []any{"d.D", "d.E"})
	maybe(r, c, "topology.custom", map[string]any{"x": []any{int64(1), 2.0, "three", nil, true}})
	if r.IntN(4) == 0 {
		c[config.TopologyMetricsReporters] = []any{map[string]any{"class": "c.Reporter"}}
	}
	if r.IntN(3) == 0 {
		consumer := map[string]any{"class": "org.example.Consumer", "parallelism.hint": int64(1 + r.IntN(3)), "argument": "x"}
		c[config.TopologyMetricsConsumerRegister] = []any{consumer, map[string]any{"class": "org.example.Other"}, consumer, consumer}
	}
	if r.IntN(6) == 0 {
		c[config.TopologyAckerResourcesOnheapMemoryMb] = int64(33)
		c[config.TopologyAckerCpuPcorePercent] = 1.5
		c[config.TopologyMetricsConsumerResourcesOffheapMemoryMb] = 7.0
	}
	if r.IntN(6) == 0 {
		c[config.TopologyWorkerMaxHeapSizeMb] = 300.0
	}
	return c
}

// names has ids whose order differs between bytes, UTF-16 units and locales.
func names() []string {
	return []string{"a", "B", "b", "a2", "a10", "_x", "spout-1", "Zähler", "ﾊ", "😀", "z", "count", "split"}
}

func newTopology(r *rand.Rand) *storm.StormTopology {
	t := &storm.StormTopology{
		Spouts: map[string]*storm.SpoutSpec{}, Bolts: map[string]*storm.Bolt{}, StateSpouts: map[string]*storm.StateSpoutSpec{},
	}
	all := names()
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	spouts := 1 + r.IntN(3)
	bolts := r.IntN(5)
	var sources []source
	for i, id := range all[:spouts+bolts] {
		c := newCommon(r)
		if i >= spouts {
			taken := map[string]bool{}
			for range 1 + r.IntN(3) {
				from := pick(r, sources...)
				if taken[from.id+"/"+from.stream] {
					continue
				}
				taken[from.id+"/"+from.stream] = true
				c.Inputs[&storm.GlobalStreamId{ComponentId: from.id, StreamId: from.stream}] = newGrouping(r, from.fields)
			}
			t.Bolts[id] = &storm.Bolt{BoltObject: object(r), Common: c}
		} else {
			t.Spouts[id] = &storm.SpoutSpec{SpoutObject: object(r), Common: c}
		}
		for stream, info := range sorted(c.Streams) {
			sources = append(sources, source{id, stream, info.OutputFields})
		}
	}
	if r.IntN(4) == 0 {
		t.SharedMemory = map[string]*storm.SharedMemory{
			"m": {Name: "m", OnHeap: new(float64(30)), OffHeapWorker: new(float64(5)), OffHeapNode: new(float64(9))},
			"n": {Name: "n", OnHeap: new(0.25)},
		}
		t.ComponentToSharedMemory = map[string][]string{}
		for _, id := range ids(t) {
			t.ComponentToSharedMemory[id] = pick(r, []string{"m"}, []string{"m", "n"}, []string{})
		}
	}
	t.StormVersion = new("2.8.3")
	return t
}

type source struct {
	id, stream string
	fields     []string
}

func newCommon(r *rand.Rand) *storm.ComponentCommon {
	c := &storm.ComponentCommon{Inputs: map[*storm.GlobalStreamId]*storm.Grouping{}, Streams: map[string]*storm.StreamInfo{
		"default": {OutputFields: []string{"word", "count"}[:1+r.IntN(2)]},
	}}
	if r.IntN(3) == 0 {
		c.Streams["side"] = &storm.StreamInfo{OutputFields: []string{"k"}, Direct: r.IntN(2) == 0}
	}
	if r.IntN(4) > 0 {
		c.ParallelismHint = new(int32(1 + r.IntN(5)))
	}
	if r.IntN(2) == 0 {
		return c
	}
	conf := config.Conf{}
	maybe(r, conf, config.TopologyTasks, int64(1), int64(4), int64(9), nil)
	maybe(r, conf, config.TopologyMaxTaskParallelism, int64(2))
	maybe(r, conf, config.TopologyComponentResourcesOnheapMemoryMb, int64(100), 250.5, 700.0)
	maybe(r, conf, config.TopologyKryoRegister, []any{"c.C", map[string]any{"b.B": "c.Ser"}})
	maybe(r, conf, config.TopologyKryoDecorators, []any{"d.F", "d.D"})
	if r.IntN(3) == 0 {
		conf[config.TopologyComponentResourcesMap] = map[string]any{"cpu.pcore.percent": 25.0, "gpu.count": int64(2), "fpga": 0.5}
	}
	text, err := conf.JSON()
	if err != nil {
		return c // cannot be: the conf is built from plain values
	}
	c.JSONConf = new(string(text))
	return c
}

func newGrouping(r *rand.Rand, fields []string) *storm.Grouping {
	switch r.IntN(8) {
	case 0:
		return &storm.Grouping{Shuffle: &storm.NullStruct{}}
	case 1:
		return &storm.Grouping{All: &storm.NullStruct{}}
	case 2:
		return &storm.Grouping{None: &storm.NullStruct{}}
	case 3:
		return &storm.Grouping{Direct: &storm.NullStruct{}}
	case 4:
		return &storm.Grouping{LocalOrShuffle: &storm.NullStruct{}}
	case 5:
		return &storm.Grouping{Fields: []string{}} // global
	case 6:
		return &storm.Grouping{CustomSerialized: []byte{1, 2, 3}}
	default:
		return &storm.Grouping{Fields: fields}
	}
}

func object(r *rand.Rand) *storm.ComponentObject {
	if r.IntN(3) == 0 {
		return &storm.ComponentObject{Shell: &storm.ShellComponent{ExecutionCommand: "python3", Script: "split.py"}}
	}
	return &storm.ComponentObject{SerializedJava: []byte{0xac, 0xed, 0, 5, 0x70}}
}

// spoil gives a topology one fault.
func spoil(r *rand.Rand, t *storm.StormTopology) {
	extra := newCommon(r)
	in := func(id, stream string, g *storm.Grouping) {
		extra.Inputs[&storm.GlobalStreamId{ComponentId: id, StreamId: stream}] = g
		t.Bolts["faulty"] = &storm.Bolt{BoltObject: object(r), Common: extra}
	}
	spout := ids(&storm.StormTopology{Spouts: t.Spouts})[0]
	shuffle := &storm.Grouping{Shuffle: &storm.NullStruct{}}
	switch r.IntN(9) {
	case 0:
		in("nowhere", "default", shuffle)
	case 1:
		in(spout, "nostream", shuffle)
	case 2:
		in(spout, "default", &storm.Grouping{Fields: []string{"nofield", "word", "neither"}})
	case 3:
		t.Bolts["__mine"] = &storm.Bolt{BoltObject: object(r), Common: extra}
	case 4:
		t.Spouts[spout].Common.Streams["__mine"] = &storm.StreamInfo{OutputFields: []string{}}
	case 5:
		t.Bolts[spout] = &storm.Bolt{BoltObject: object(r), Common: extra}
	case 6:
		t.Spouts[spout].Common.Inputs[&storm.GlobalStreamId{ComponentId: spout, StreamId: "default"}] = shuffle
	case 7:
		t.Spouts[spout].Common.ParallelismHint = new(int32)
		t.Spouts[spout].Common.JSONConf = new(`{"topology.tasks":3}`)
	case 8:
		t.Spouts[spout].Common.ParallelismHint = new(int32) // no fault: no executor, no task
		t.Spouts[spout].Common.JSONConf = nil
	}
}
