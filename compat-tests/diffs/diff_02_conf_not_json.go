// SPDX-License-Identifier: Apache-2.0

// This file is difference 2: a conf that is no JSON object.

package diffs

func diff02() Diff {
	const bad = "The conf of topology bad-conf is not valid: parse conf as json: "
	return Diff{
		Number: 2,
		Name:   "ConfNotJSON",
		Sentence: "A topology or component conf that is not a JSON object is refused with an InvalidTopologyException that says what is wrong, " +
			"where Storm answers \"Internal error processing submitTopology\".",
		Scenario: Refusals,
		At: []Place{
			refusal("conf empty", internal(), invalid(bad+"EOF")),
			refusal("conf list", internal(), invalid(bad+"want an object, have a list")),
			refusal("conf not-json", internal(), invalid(bad+"syntax error at byte 2")),
			refusal("conf null", internal(), invalid(bad+"want an object, have null")),
			refusal("conf null-string", internal(), invalid(bad+"EOF")),
			refusal("conf number", internal(), invalid(bad+"want an object, have an integer")),
			refusal("topology component-conf-not-json", internal(), invalid(
				"Component: [rows] has a configuration that cannot be read: parse conf as json: syntax error at byte 2",
			)),
		},
	}
}
