// SPDX-License-Identifier: Apache-2.0

// This file is difference 1: gust's own keys in a topology's conf.

package diffs

func diff01() Diff {
	return Diff{
		Number: 1,
		Name:   "OwnKeysInConf",
		Sentence: "A topology's conf, as workers and getTopologyConf have it, also holds gust's own keys (gust.*) with their defaults, " +
			"as it holds the defaults of all of Storm's keys.",
		Scenario: EveryTopology,
		At:       []Place{{Path: []string{"conf", "gust.*"}, Stock: Absent, Gust: Some}},
	}
}
