// SPDX-License-Identifier: Apache-2.0

// This file is difference 3: a scheduler strategy that does not exist.

package diffs

func diff03() Diff {
	return Diff{
		Number: 3,
		Name:   "UnknownStrategy",
		Sentence: "A topology.scheduler.strategy that gust does not know is refused at submit, where Storm takes the name of any class " +
			"and loads it in Nimbus.",
		Scenario: Refusals,
		At: []Place{
			refusal("conf strategy-unknown", "accepted",
				invalid("topology.scheduler.strategy 'org.gust.compat.Ghost' is not a known strategy")),
		},
	}
}
