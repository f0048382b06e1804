// SPDX-License-Identifier: Apache-2.0

// This file is difference 5: a submit without a name.

package diffs

func diff05() Diff {
	const rest = `' is not valid. It can't be null and it must match ^[^/.:\\]+$`
	return Diff{
		Number:   5,
		Name:     "NullName",
		Sentence: "A submit without a name is refused as one with an empty name: the text has '' where Storm's has 'null'.",
		Scenario: Refusals,
		At:       []Place{refusal("name null", invalid("Topology name 'null"+rest), invalid("Topology name '"+rest))},
	}
}
