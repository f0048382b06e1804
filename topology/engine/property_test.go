// SPDX-License-Identifier: Apache-2.0

package engine_test

// This file checks what must hold for every topology.

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/topology"
	"github.com/gust-stream/gust/topology/engine"
)

func TestDecideKeepsOddWiresFromGo(t *testing.T) {
	t.Parallel()
	bolt := serialized(objects(t)["bolt"])
	rapid.Check(t, func(t *rapid.T) {
		b := newBench()
		n := rapid.IntRange(1, 8).Draw(t, "components")
		isJava := map[string]bool{}
		for i := range n {
			id := fmt.Sprint("c", i)
			object := shell("sh", id)
			if isJava[id] = rapid.Bool().Draw(t, "java "+id); isJava[id] {
				object = bolt
			}
			if i == 0 || rapid.IntRange(0, 4).Draw(t, "spout "+id) == 0 {
				b.spout(id, object)
			} else {
				b.bolt(id, object, fmt.Sprint("c", rapid.IntRange(0, i-1).Draw(t, "source of "+id)), shuffle())
			}
		}
		odd := rapid.Bool().Draw(t, "kryo")
		if odd {
			b.conf[config.TopologyKryoRegister] = map[string]any{"com.example.Word": nil}
		}
		system, err := topology.System(b.conf, b.topology)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := engine.Decide(engine.Input{Conf: b.conf, Topology: system})
		if err != nil {
			t.Fatal(err)
		}
		runs := func(id string) engine.Engine { return plan.Components[id].Engine }
		for id, java := range isJava {
			if java && runs(id) != engine.Java || !odd && !java && runs(id) != engine.Go {
				t.Errorf("%s runs on %s", id, runs(id))
			}
		}
		spoutsOnGo := true
		for id := range b.topology.Spouts {
			spoutsOnGo = spoutsOnGo && runs(id) == engine.Go
		}
		if acker := runs(topology.AckerID); (acker == engine.Go) != spoutsOnGo {
			t.Errorf("the acker runs on %s", acker)
		}
		if !odd {
			return
		}
		for id, to := range system.Bolts {
			for in := range to.Common.Inputs {
				if from := in.ComponentId; runs(from) != runs(id) && !strings.HasPrefix(from, topology.SystemID) {
					t.Errorf("%s on %s sends to %s on %s", from, runs(from), id, runs(id))
				}
			}
		}
	})
}
