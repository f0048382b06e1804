// SPDX-License-Identifier: Apache-2.0

package component

// This file tests what is made of declarations.

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology"
	"github.com/gust-stream/gust/topology/engine"
)

func nothing() Bolt { return Basic(func(*Tuple, *BasicOutput) error { return nil }) }

func silent() Spout { return spoutFunc(func(*SpoutOutput) error { return nil }) }

// spoutFunc is a spout of one function.
type spoutFunc func(out *SpoutOutput) error

func (f spoutFunc) Next(out *SpoutOutput) error { return f(out) }

func TestTopologyAsStormHasIt(t *testing.T) {
	t.Parallel()
	top := NewTopology("words").Workers(2).Ackers(1).Set("own", "value")
	top.Spout("in", silent).Parallelism(2).Tasks(4).Output("sentence").DirectStream("to", "task")
	top.Bolt("split", nothing).Ticks(3).From("in").LocalOrShuffle().FromStream("in", "to").Direct().Output("word", "n").Stream("late", "at")
	top.Bolt("count", nothing).From("split").Fields("word").FromStream("split", "late").All()
	top.Bolt("all", nothing).From("split").Global().FromStream("split", "late").None().From("in").PartialKey("sentence")
	got, err := top.Storm()
	if err != nil {
		t.Fatal(err)
	}
	conf := config.Conf{"topology.acker.executors": int64(1), "topology.workers": int64(2), "topology.message.timeout.secs": int64(30)}
	if _, err := topology.System(conf, got); err != nil {
		t.Errorf("gust's own check: %v", err)
	}
	if top.Conf()[config.GustTopologyGoBinary] != Binary || top.Files()[Binary+".sh"] == "" {
		t.Errorf("conf %v, files %q", top.Conf(), top.Files())
	}
	if diff := cmp.Diff(&storm.ShellComponent{ExecutionCommand: "sh", Script: "topology.sh"}, got.Bolts["count"].BoltObject.Shell); diff != "" {
		t.Errorf("shell (-want +got):\n%s", diff)
	}
	if conf := *got.Spouts["in"].Common.JSONConf; conf != `{"topology.tasks":4}` || *got.Spouts["in"].Common.ParallelismHint != 2 {
		t.Errorf("in: %s", conf)
	}
	null := storm.NewNullStruct()
	want := map[string]*storm.Grouping{
		"split in default": {LocalOrShuffle: null}, "split in to": {Direct: null}, "count split default": {Fields: []string{"word"}},
		"count split late": {All: null}, "all split default": {Fields: []string{}}, "all split late": {None: null},
		"all in default": {CustomSerialized: partialKey([]string{"sentence"})},
	}
	groupings := map[string]*storm.Grouping{}
	for id, bolt := range got.Bolts {
		for from, grouping := range bolt.Common.Inputs {
			groupings[id+" "+from.ComponentId+" "+from.StreamId] = grouping
		}
	}
	if diff := cmp.Diff(want, groupings); diff != "" {
		t.Errorf("groupings (-want +got):\n%s", diff)
	}
	streams := map[string]*storm.StreamInfo{"default": {OutputFields: []string{"word", "n"}}, "late": {OutputFields: []string{"at"}}}
	if diff := cmp.Diff(streams, got.Bolts["split"].Common.Streams); diff != "" {
		t.Errorf("streams (-want +got):\n%s", diff)
	}
	if top.NewBolt("in") != nil || top.NewSpout("split") != nil || top.NewBolt("split") == nil || top.NewSpout("in") == nil {
		t.Error("the registry is not what was declared")
	}
}

func TestFaultsOfATopology(t *testing.T) {
	t.Parallel()
	for want, declare := range map[string]func(t *Topology){
		"no spout":                     func(t *Topology) { *t = *NewTopology("x") },
		"no name":                      func(t *Topology) { t.name = "" },
		`"in" is declared twice`:       func(t *Topology) { t.Bolt("in", nothing).From("in").All() },
		"no such component":            func(t *Topology) { t.Bolt("b", nothing).From("nobody").All() },
		"declares no such stream":      func(t *Topology) { t.Bolt("b", nothing).FromStream("in", "x").All() },
		"no grouping is declared":      func(t *Topology) { t.Bolt("b", nothing).From("in") },
		"direct grouping go together":  func(t *Topology) { t.Bolt("b", nothing).From("in").Direct() },
		"by fields names none":         func(t *Topology) { t.Bolt("b", nothing).From("in").Fields() },
		`grouped by field "y"`:         func(t *Topology) { t.Bolt("b", nothing).From("in").PartialKey("y") },
		"taken twice":                  func(t *Topology) { t.Bolt("b", nothing).From("in").All().From("in").Shuffle() },
		"takes no stream":              func(t *Topology) { t.Bolt("b", nothing) },
		"a field twice":                func(t *Topology) { t.Spout("s", silent).Output("a", "b", "a") },
		"does not begin with __":       func(t *Topology) { t.Spout("__s", silent) },
		"parallelism 0":                func(t *Topology) { t.Spout("s", silent).Parallelism(0) },
		`"s": conf: json: unsupported`: func(t *Topology) { t.Spout("s", silent).Set("x", func() {}) },
		`"x": conf: json: unsupported`: func(t *Topology) { t.Set("x", func() {}) },
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			top := NewTopology("x")
			top.Spout("in", silent).Output("x")
			declare(top)
			if _, err := top.Storm(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestPartialKey reads the object with gust's own reader of Java's objects; compat-tests/gosdk has Java read it.
func TestPartialKey(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z_][a-zA-Z0-9_.-]{0,20}`), 1, 12, rapid.ID[string]).Draw(t, "fields")
		got, err := engine.PartialKeyFields(partialKey(want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("fields (-want +got):\n%s", diff)
		}
	})
}
