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

func ptr[T any](v T) *T { return &v }

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
			ParallelismHint: ptr(int32(2)),
		}}},
		Bolts: map[string]*storm.Bolt{"b": {BoltObject: object, Common: &storm.ComponentCommon{
			Inputs: map[*storm.GlobalStreamId]*storm.Grouping{
				{ComponentId: "s", StreamId: "default"}: {Fields: []string{"x"}},
			},
			Streams:         map[string]*storm.StreamInfo{},
			ParallelismHint: ptr(int32(3)), JSONConf: ptr(`{"topology.tasks":5}`),
		}}},
		StateSpouts: map[string]*storm.StateSpoutSpec{},
	}
}

func TestTasksAndExecutors(t *testing.T) {
	t.Parallel()
	user := sample()
	normal, err := Normalize(defaults(), user)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), user, byValue()); diff != "" {
		t.Errorf("Normalize changed its argument:\n%s", diff)
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
	user.Bolts["b"].Common.JSONConf = ptr(`{"topology.tasks":2000000000}`)
	user.Spouts["s"].Common.JSONConf = ptr(`{"topology.tasks":1}`)
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
			func(s *storm.StormTopology) { s.Bolts["b"].Common.JSONConf = ptr(`{"a":`) },
			"Component: [b] has a configuration that cannot be read: parse conf as json: unexpected EOF",
		},
		"TasksIsNoNumber": {
			func(s *storm.StormTopology) { s.Bolts["b"].Common.JSONConf = ptr(`{"topology.tasks":"x"}`) },
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

func TestJavaDouble(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "0.0", 768: "768.0", 0.5: "0.5", 1e7: "1.0E7", 1.25e-5: "1.25E-5", -3: "-3.0", 12345678.5: "1.23456785E7"} {
		if got := javaDouble(v); got != want {
			t.Errorf("%g is %s, want %s", v, got, want)
		}
	}
}
