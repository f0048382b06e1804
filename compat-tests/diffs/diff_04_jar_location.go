// SPDX-License-Identifier: Apache-2.0

// This file is difference 4: a JAR that was not uploaded.

package diffs

func diff04() Diff {
	return Diff{
		Number: 4,
		Name:   "JarLocation",
		Sentence: "A submit whose JAR is not one that was uploaded to Nimbus's inbox is refused with an InvalidTopologyException that names it; " +
			"Storm answers an internal error, or takes any file that Nimbus can read.",
		Scenario: Refusals,
		At: []Place{
			refusal("jar empty", internal(), invalid("No JAR was uploaded for the topology: its location is empty")),
			refusal("jar null", internal(), invalid("No JAR was uploaded for the topology: its location is empty")),
			refusal("jar missing", internal(), invalid("Uploaded JAR '/nowhere/stormjar-x.jar' is not in the inbox of Nimbus")),
		},
	}
}
