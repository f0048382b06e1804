// SPDX-License-Identifier: Apache-2.0

// This file tests single rules; the whole is compared with Storm in golden_test.go.

package topology

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
)

// defaults are the values of Storm's defaults that matter here.
func defaults() config.Conf {
	return config.Conf{
		config.TopologyWorkers: int64(1), config.TopologyAckerExecutors: nil, config.TopologyEventloggerExecutors: int64(0),
		config.TopologyMessageTimeoutSecs:               int64(30),
		config.TopologyComponentResourcesOnheapMemoryMb: 128.0, config.TopologyComponentResourcesOffheapMemoryMb: 0.0,
		config.TopologyComponentCpuPcorePercent: 10.0,
	}
}

// sample is a spout s and a bolt b that groups by field x.
func sample() *storm.StormTopology {
	object := &storm.ComponentObject{SerializedJava: []byte{1}}
	return &storm.StormTopology{
		Spouts: map[string]*storm.SpoutSpec{"s": {SpoutObject: object, Common: &storm.ComponentCommon{
			Inputs:          map[*storm.GlobalStreamId]*storm.Grouping{},
			Streams:         map[string]*storm.StreamInfo{"default": {OutputFields: []string{"x"}}},
			ParallelismHint: new(int32(2)),
		}}},
		Bolts: map[string]*storm.Bolt{"b": {BoltObject: object, Common: &storm.ComponentCommon{
			Inputs: map[*storm.GlobalStreamId]*storm.Grouping{
				{ComponentId: "s", StreamId: "default"}: {Fields: []string{"x"}},
			},
			Streams:         map[string]*storm.StreamInfo{},
			ParallelismHint: new(int32(3)), JSONConf: new(`{"topology.tasks":5}`),
		}}},
		StateSpouts: map[string]*storm.StateSpoutSpec{},
	}
}

func TestTasksAndExecutors(t *testing.T) {
	t.Parallel()
	normal, err := Normalize(defaults(), sample())
	if err != nil {
		t.Fatal(err)
	}
	system, err := System(defaults(), normal)
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := TasksOf(system)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Tasks{"__acker", "b", "b", "b", "b", "b", "s", "s"}, tasks); diff != "" {
		t.Error(diff)
	}
	counts := ComponentExecutors(system)
	if diff := cmp.Diff(map[string]int32{"__acker": 1, "__system": 0, "b": 3, "s": 2}, counts); diff != "" {
		t.Error(diff)
	}
	want := []Executor{{1, 1, "__acker"}, {2, 3, "b"}, {4, 5, "b"}, {6, 6, "b"}, {7, 7, "s"}, {8, 8, "s"}}
	if diff := cmp.Diff(want, Executors(tasks, counts)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Executor{{7, 7, "s"}, {8, 8, "s"}}, Executors(tasks, map[string]int32{"s": 9, "b": 0})); diff != "" {
		t.Error(diff)
	}
}

func TestTooManyTasks(t *testing.T) {
	t.Parallel()
	user := sample()
	user.Bolts["b"].Common.JSONConf = new(`{"topology.tasks":2000000000}`)
	user.Spouts["s"].Common.JSONConf = new(`{"topology.tasks":1}`)
	system, err := System(defaults(), user)
	if err != nil {
		t.Fatal(err)
	}
	_, err = TasksOf(system)
	wantInvalid(t, err, "Component: [b] brings the topology to more than 32767 tasks")
}

func TestTasksOfNeedsANormalizedTopology(t *testing.T) {
	t.Parallel()
	system, err := System(defaults(), sample())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TasksOf(system); !errors.Is(err, config.ErrNotSet) {
		t.Errorf("got %v", err)
	}
}

func wantInvalid(t *testing.T, err error, want string) {
	t.Helper()
	var e *storm.InvalidTopologyException
	if !errors.As(err, &e) || e.Msg != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestFaultsThatStormLetsPass has those checks that Storm does not make.
func TestFaultsThatStormLetsPass(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*storm.StormTopology)
		want   string
	}{
		"UnknownGrouping": {
			func(s *storm.StormTopology) {
				for in := range s.Bolts["b"].Common.Inputs {
					s.Bolts["b"].Common.Inputs[in] = &storm.Grouping{}
				}
			},
			"Component: [b] subscribes from stream: [default] of component [s] with an unknown grouping",
		},
		"ConfIsNoJSON": {
			func(s *storm.StormTopology) { s.Bolts["b"].Common.JSONConf = new(`{"a":`) },
			"Component: [b] has a configuration that cannot be read: parse conf as json: unexpected EOF",
		},
		"TasksIsNoNumber": {
			func(s *storm.StormTopology) { s.Bolts["b"].Common.JSONConf = new(`{"topology.tasks":"x"}`) },
			`Component: [b] has a configuration that cannot be read: conf key topology.tasks: "x" is not an integer`,
		},
		"NoCommonPart": {
			func(s *storm.StormTopology) { s.Bolts["b"].Common = nil },
			"Component: [b] has no common part",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sample()
			tc.change(s)
			_, err := System(defaults(), s)
			wantInvalid(t, err, tc.want)
		})
	}
}

// TestFaults has the faults that Storm refuses; the texts are Storm's, which
// compat-tests/topology compares on generated topologies.
func TestFaults(t *testing.T) {
	t.Parallel()
	subscribe := func(s *storm.StormTopology, id, name string, g *storm.Grouping) {
		s.Bolts["b"].Common.Inputs[&storm.GlobalStreamId{ComponentId: id, StreamId: name}] = g
	}
	shuffle := &storm.Grouping{Shuffle: &storm.NullStruct{}}
	tests := map[string]struct {
		change func(*storm.StormTopology)
		want   string
	}{
		"Component": {
			func(s *storm.StormTopology) { subscribe(s, "no", "default", shuffle) },
			"Component: [b] subscribes from non-existent component [no]",
		},
		"Stream": {
			func(s *storm.StormTopology) { subscribe(s, "s", "no", shuffle) },
			"Component: [b] subscribes from non-existent stream: [no] of component [s]",
		},
		"Fields": {
			func(s *storm.StormTopology) {
				s.Bolts["b"].Common.Streams["d"] = &storm.StreamInfo{OutputFields: []string{"y"}}
				subscribe(s, "b", "d", &storm.Grouping{Fields: []string{"q", "y", "p"}})
			},
			"Component: [b] subscribes from stream: [d] of component [b] + with non-existent fields: [q, p]",
		},
		"ComponentID": {
			func(s *storm.StormTopology) { s.Bolts["__b"] = s.Bolts["b"] },
			"__b is not a valid component id.",
		},
		"StreamID": {
			func(s *storm.StormTopology) { s.Bolts["b"].Common.Streams["__d"] = &storm.StreamInfo{} },
			"__d is not a valid stream id.",
		},
		"Repeated": {
			func(s *storm.StormTopology) { s.Bolts["s"] = s.Bolts["b"] },
			"Duplicate component ids: [s]",
		},
		"SpoutWithInput": {
			func(s *storm.StormTopology) { s.Spouts["s"].Common.Inputs = s.Bolts["b"].Common.Inputs },
			"May not declare inputs for a spout",
		},
		"StateSpoutWithInput": {
			func(s *storm.StormTopology) {
				s.StateSpouts["st"] = &storm.StateSpoutSpec{Common: s.Bolts["b"].Common}
			},
			"May not declare inputs for a spout",
		},
		"TasksWithoutExecutor": {
			func(s *storm.StormTopology) { s.Bolts["b"].Common.ParallelismHint = new(int32) },
			"Number of executors must be greater than 0 when number of tasks is greater than 0",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sample()
			tc.change(s)
			_, err := System(defaults(), s)
			wantInvalid(t, err, tc.want)
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"wc", "a b", "ünï-1_$", "__x"} {
		if err := CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "a/b", "..", "a:b", `a\b`, "a\n", "a\x00"} {
		wantInvalid(t, CheckName(name), "Topology name '"+name+`' is not valid. It can't be null and it must match ^[^/.:\\]+$`)
	}
}

// TestMetricsConsumers are named by class and numbered from the second on.
func TestMetricsConsumers(t *testing.T) {
	t.Parallel()
	conf := defaults()
	entry := map[string]any{"class": "x.Y", "parallelism.hint": int64(2)}
	conf[config.TopologyMetricsConsumerRegister] = []any{entry, entry, map[string]any{"class": "x.Z"}}
	system, err := System(conf, sample())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int32{"__acker": 1, "__system": 0, "b": 3, "s": 2, "__metrics_x.Y": 2, "__metrics_x.Y#2": 2, "__metrics_x.Z": 1}
	if diff := cmp.Diff(want, ComponentExecutors(system)); diff != "" {
		t.Error(diff)
	}
	conf[config.TopologyMetricsConsumerRegister] = []any{map[string]any{}}
	_, err = System(conf, sample())
	wantInvalid(t, err, "topology.metrics.consumer.register has an entry without class")
	conf[config.TopologyMetricsConsumerRegister] = []any{"x"}
	_, err = System(conf, sample())
	wantInvalid(t, err, "topology.metrics.consumer.register has an entry that is not a map")
}

func TestCheckRebalance(t *testing.T) {
	t.Parallel()
	check := func(counts map[string]int32) error {
		return CheckRebalance("topo", sample(), &storm.RebalanceOptions{NumExecutors: counts})
	}
	if err := check(map[string]int32{"b": 1, "__acker": 3, "__nowhere": 1}); err != nil {
		t.Error(err)
	}
	wantInvalid(t, check(map[string]int32{"zzz": 1}), "Invalid component zzz for topology topo, valid values are b,s")
	wantInvalid(t, check(map[string]int32{"b": 0}), "Number of executors must be greater than 0")
	if err := CheckRebalance("topo", sample(), &storm.RebalanceOptions{}); err != nil {
		t.Error(err)
	}
}
