// SPDX-License-Identifier: Apache-2.0

package nimbus_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/nimbus/nimbustest"
	"github.com/gust-stream/gust/thrift/storm"
)

const action = "org.apache.storm.spout.CheckPointState$Action"

// stateful gives a word count the spout that Storm's client adds for stateful bolts.
func stateful(counters int32) *storm.StormTopology {
	topology := nimbustest.WordCount(1, 1, counters)
	topology.Spouts["$checkpointspout"] = nimbustest.WordCount(1, 1, 1).Spouts["spout"]
	return topology
}

func savedConf(t *testing.T, c *storm.NimbusClient, id string) map[string]any {
	t.Helper()
	text, err := c.GetTopologyConf(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, text)
}

func TestTheCheckpointsClassIsRegistered(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{Conf: config.Conf{
		config.TopologyStateProvider: "site.Provider", config.GustStateProviderOverride: true,
	}})
	c := site.Client(t)
	for name, test := range map[string]struct {
		conf     config.Conf
		topology *storm.StormTopology
		register map[string]any
		provider string
	}{
		"plain":    {nil, nimbustest.WordCount(1, 1, 1), map[string]any{}, "site.Provider"},
		"stateful": {config.Conf{config.TopologyStateProvider: "own.Provider"}, stateful(1), map[string]any{action: nil}, "site.Provider"},
		"named": {
			config.Conf{config.TopologyKryoRegister: []any{map[string]any{action: "own.Serializer"}, "a.B"}},
			stateful(1),
			map[string]any{action: "own.Serializer", "a.B": nil},
			"site.Provider",
		},
		"fallback": {config.Conf{config.TopologyFallBackOnJavaSerialization: true}, stateful(1), map[string]any{}, "site.Provider"},
		"foreign":  {config.Conf{config.TopologyStateProvider: "own.Provider"}, nimbustest.WordCount(1, 1, 1), map[string]any{}, "own.Provider"},
	} {
		saved := savedConf(t, c, nimbustest.Submit(t, c, name, test.conf, test.topology))
		if diff := cmp.Diff(any(test.register), saved[config.TopologyKryoRegister]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if got := saved[config.TopologyStateProvider]; got != test.provider {
			t.Errorf("%s: provider is %v", name, got)
		}
	}
}

func TestStatesOfOtherTasksAreRefusedOrDropped(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{})
	c := site.Client(t)
	first := savedConf(t, c, nimbustest.Submit(t, c, "other", nil, stateful(2)))
	owner, _ := first[config.TopologySubmitterUser].(string)
	// Tasks of a word count with two counters: $checkpointspout 1, the acker 2, count 3 and 4.
	line := func(component string, tasks int32, opened time.Time, here ...int32) cluster.StateComponent {
		return cluster.StateComponent{Topology: "wc", Owner: owner, Component: component, Tasks: tasks, Here: here, Opened: opened.UnixMilli()}
	}
	submit := func(conf config.Conf, counters int32) error {
		text, err := conf.JSON()
		if err != nil {
			t.Fatal(err)
		}
		return c.SubmitTopology(t.Context(), "wc", nimbustest.Upload(t, c), string(text), stateful(counters))
	}
	now := time.Now()
	for name, test := range map[string]struct {
		line cluster.StateComponent
		want string
	}{
		"count":  {line("count", 4, now, 3, 4), "count has keyed state of 4 tasks and is submitted with 2;"},
		"window": {line("count/window", 4, now, 3), "count/window has keyed state of 4 tasks and is submitted with 2;"},
		"ids":    {line("count", 2, now, 7), "state of task 7, and its tasks are"},
	} {
		if err := site.State.SetStateReport(t.Context(), "gone", cluster.StateReport{Components: []cluster.StateComponent{test.line}}); err != nil {
			t.Fatal(err)
		}
		if err := submit(config.Conf{}, 2); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := submit(config.Conf{config.GustStateOnChange: "drop", config.GustStateDrop: []any{"split"}}, 2); err != nil {
		t.Fatal(err)
	}
	summary, err := c.GetTopologySummaryByName(t.Context(), "wc")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any([]any{"count"}), savedConf(t, c, summary.ID)[config.GustStateDrop]); diff != "" {
		t.Error(diff)
	}
	if err := submit(config.Conf{config.GustStateOnChange: "ask"}, 2); err == nil {
		t.Error("an unknown value is taken")
	}
}

func TestOldStatesHinderNobody(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{})
	c := site.Client(t)
	owner, _ := savedConf(t, c, nimbustest.Submit(t, c, "other", nil, stateful(2)))[config.TopologySubmitterUser].(string)
	eightDays := time.Now().Add(-8 * 24 * time.Hour).UnixMilli()
	lines := []cluster.StateComponent{
		{Topology: "wc", Owner: owner, Component: "count", Tasks: 9, Here: []int32{1}, Opened: eightDays},
		{Topology: "wc", Owner: owner, Component: "nobody", Tasks: 9, Here: []int32{1}, Opened: time.Now().UnixMilli()},
		{Topology: "wc", Owner: owner + "2", Component: "count", Tasks: 9, Here: []int32{1}, Opened: time.Now().UnixMilli()},
		{Topology: "wc2", Owner: owner, Component: "count", Tasks: 9, Here: []int32{1}, Opened: time.Now().UnixMilli()},
	}
	if err := site.State.SetStateReport(t.Context(), "gone", cluster.StateReport{Components: lines}); err != nil {
		t.Fatal(err)
	}
	nimbustest.Submit(t, c, "wc", nil, stateful(2))
}
