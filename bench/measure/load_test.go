// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/topology"
	"github.com/gust-stream/gust/topology/engine"

	"github.com/gust-stream/gust/bench/rig"
)

// TestLoadsRunOnGo is about the sides: nothing of gust's may need a JVM, or the rows would compare Java with Java.
func TestLoadsRunOnGo(t *testing.T) {
	t.Parallel()
	defaults, err := config.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range loads() {
		if l.only == "stock" {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			code := l.topology(rig.Gust, &rig.Bundle{Python: "python3"})
			text, err := l.confOf(&Run{}, rig.Gust, &rig.Cluster{}, l.name)
			if err != nil {
				t.Fatal(err)
			}
			var conf config.Conf
			if err := json.Unmarshal([]byte(text), &conf); err != nil {
				t.Fatal(err)
			}
			whole := config.Merge(defaults, config.Normalize(conf))
			if code, err = topology.Normalize(whole, code); err != nil {
				t.Fatal(err)
			}
			system, err := topology.System(whole, code)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := engine.Decide(engine.Input{Conf: whole, Topology: system})
			if err != nil {
				t.Fatal(err)
			}
			for id, choice := range plan.Components {
				if choice.Engine == engine.Java {
					t.Errorf("%s runs on Java: %s", id, choice.Reason)
				}
			}
			tasks, err := topology.TasksOf(system)
			if err != nil {
				t.Fatal(err)
			}
			if want := int(l.spouts+l.splits+l.sinks) + 1; len(tasks) != want {
				t.Errorf("%d tasks, not %d", len(tasks), want)
			}
		})
	}
}

// TestLoadsServeEachRow is about rows that no load is for.
func TestLoadsServeEachRow(t *testing.T) {
	t.Parallel()
	for _, row := range goWorkerRows() {
		if !slices.ContainsFunc(loads(), func(l load) bool { return slices.Contains(l.rows, row.ID) }) {
			t.Errorf("no load is for row %s", row.ID)
		}
	}
}
