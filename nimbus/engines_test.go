// SPDX-License-Identifier: Apache-2.0

package nimbus_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/nimbus/nimbustest"
	"github.com/gust-stream/gust/thrift/storm"
)

// shells makes components of a word count child processes.
func shells(topology *storm.StormTopology, ids ...string) *storm.StormTopology {
	object := func(id string) *storm.ComponentObject {
		return &storm.ComponentObject{Shell: &storm.ShellComponent{ExecutionCommand: "python3", Script: id + ".py"}}
	}
	for id, s := range topology.Spouts {
		if slices.Contains(ids, id) {
			s.SpoutObject = object(id)
		}
	}
	for id, b := range topology.Bolts {
		if slices.Contains(ids, id) {
			b.BoltObject = object(id)
		}
	}
	return topology
}

func savedEngines(t *testing.T, c *storm.NimbusClient, id string) any {
	t.Helper()
	text, err := c.GetTopologyConf(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, text)[config.GustTopologyEngines]
}

func TestEnginesAreDecidedAtTheSubmit(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{})
	c := site.Client(t)
	sup := site.Supervisor(t, "sup-1", 6700, 6701, 6702, 6703, 6704)

	claimed := config.Conf{config.GustTopologyEngines: map[string]any{"spout": "go"}}
	java := nimbustest.Submit(t, c, "java", claimed, nimbustest.WordCount(1, 1, 1))
	if got := savedEngines(t, c, java); got != nil {
		t.Errorf("a Java topology has engines %v", got)
	}

	one := config.Conf{config.TopologyWorkers: int64(1)}
	golang := nimbustest.Submit(t, c, "go", one, shells(nimbustest.WordCount(1, 2, 1), "spout", "split", "count"))
	want := map[string]any{"spout": "go", "split": "go", "count": "go", "__acker": "go"}
	if diff := cmp.Diff(any(want), savedEngines(t, c, golang)); diff != "" {
		t.Error(diff)
	}

	mixed := nimbustest.Submit(t, c, "mixed", one, shells(nimbustest.WordCount(1, 2, 3), "split"))
	if diff := cmp.Diff(any(map[string]any{"split": "go"}), savedEngines(t, c, mixed)); diff != "" {
		t.Error(diff)
	}
	nimbustest.Until(t, "all are assigned", func() bool {
		return sup.Executors(java) == 4 && sup.Executors(golang) == 5 && sup.Executors(mixed) == 7
	})
	// Tasks of the mixed one: the acker 1, count 2 to 4, split 5 and 6, the spout 7.
	slots := map[int64][]int64{}
	for executor, at := range sup.Pushed()[mixed].ExecutorNodePort {
		slots[at.Port[0]] = append(slots[at.Port[0]], executor[0])
	}
	for port, tasks := range slots {
		slices.Sort(tasks)
		if !slices.Equal(tasks, []int64{5, 6}) && !slices.Equal(tasks, []int64{1, 2, 3, 4, 7}) {
			t.Errorf("slot %d has tasks %v", port, tasks)
		}
	}
	summary, err := c.GetTopologySummaryByName(t.Context(), "mixed")
	if err != nil || summary.NumWorkers != 2 ||
		summary.GetSchedStatus() != "Fully Scheduled on one worker for each of the engines java and go, where 1 was asked for" {
		t.Errorf("summary is %v, %v", summary, err)
	}
}

func TestMissingSlotsAreNamed(t *testing.T) {
	t.Parallel()
	core, lines := observer.New(zap.WarnLevel)
	site := nimbustest.Start(t, nimbustest.Options{Log: zap.New(core)})
	c := site.Client(t)
	sup := site.Supervisor(t, "sup-1", 6700)
	id := nimbustest.Submit(t, c, "mixed", nil, shells(nimbustest.WordCount(1, 2, 3), "split"))
	const want = "Not all executors scheduled: 5 of 7 placed on 1 of 2 workers, no free slot: 1 supervisors offer 1, " +
		"the topology takes one worker for each of the engines java and go, where 1 was asked for; without a slot: split (2)"
	var got string
	nimbustest.Until(t, "what fits is assigned", func() bool {
		s, err := c.GetTopologySummaryByName(t.Context(), "mixed")
		got = s.GetSchedStatus()
		return err == nil && sup.Executors(id) == 5 && got != ""
	})
	if got != want {
		t.Errorf("status is\n%s\nwant\n%s", got, want)
	}
	lacking := lines.FilterMessage("topology lacks slots").All()
	if len(lacking) != 1 || lacking[0].ContextMap()["status"] != want || lacking[0].ContextMap()["topology_id"] != id {
		t.Errorf("logged: %v", lacking)
	}
	site.Supervisor(t, "sup-2", 6700)
	nimbustest.Until(t, "all is assigned", func() bool {
		s, err := c.GetTopologySummaryByName(t.Context(), "mixed")
		return err == nil && strings.HasPrefix(s.GetSchedStatus(), "Fully Scheduled")
	})
}

func TestEnginesAreDecidedAnewByARebalance(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{})
	c := site.Client(t)
	sup := site.Supervisor(t, "sup-1", 6700, 6701, 6702)
	id := nimbustest.Submit(t, c, "wc", nil, shells(nimbustest.WordCount(1, 2, 1), "split"))
	nimbustest.Until(t, "it is assigned", func() bool { return sup.Executors(id) == 5 })
	rebalance := func(overrides string) error {
		return c.Rebalance(t.Context(), "wc", &storm.RebalanceOptions{WaitSecs: new(int32(0)), TopologyConfOverrides: &overrides})
	}
	err := rebalance(`{"gust.topology.worker.engine": "go"}`)
	if refused, ok := errors.AsType[*storm.InvalidTopologyException](err); !ok || !strings.Contains(refused.Msg, "spout") {
		t.Errorf("an engine that cannot be is answered with %v", err)
	}
	if err := rebalance(`{"gust.topology.worker.engine": "java", "gust.topology.engines": {"count": "go"}}`); err != nil {
		t.Fatal(err)
	}
	nimbustest.Until(t, "all is on one Java worker", func() bool {
		s, err := c.GetTopologySummaryByName(t.Context(), "wc")
		return err == nil && s.Status == "ACTIVE" && s.NumWorkers == 1 && savedEngines(t, c, id) == nil
	})
}
