// SPDX-License-Identifier: Apache-2.0

// This file declares the topology.

package main

import (
	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/program"
)

func main() { program.Main(topology()) }

func topology() *component.Topology {
	t := component.NewTopology("bench").Workers(1).Ackers(1)
	t.Spout("spout", func() component.Spout { return &rateSpout{} }).Output("value")
	t.Bolt("sink", func() component.Bolt { return &tallyBolt{} }).From("spout").Shuffle()
	return t
}
