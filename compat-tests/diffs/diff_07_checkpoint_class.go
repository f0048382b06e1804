// SPDX-License-Identifier: Apache-2.0

// This file is difference 7: the class in checkpoint tuples.

package diffs

func diff07() Diff {
	return Diff{
		Number: 7,
		Name:   "CheckpointClassRegistered",
		Sentence: "A topology with stateful bolts has org.apache.storm.spout.CheckPointState$Action in topology.kryo.register, or on several workers the " +
			"first checkpoint would end them (\"Class is not registered\"). Not with topology.fall.back.on.java.serialization, which needs no registration.",
		Scenario: "stateful",
		At: []Place{{
			Path:  []string{"conf", "topology.kryo.register"},
			Stock: map[string]any{},
			Gust:  map[string]any{"org.apache.storm.spout.CheckPointState$Action": nil},
		}},
	}
}
