// SPDX-License-Identifier: Apache-2.0

// This file is difference 6: components that need no Java.

package diffs

func diff06() Diff {
	java := []any{"__acker[1-1]", "count[2-2]", "count[3-3]", "sentences[4-4]"}
	return Diff{
		Number: 6,
		Name:   "WorkersOfOneEngine",
		Sentence: "Components that need no Java run on Go workers, and a worker is of one kind: a topology with components of both kinds has at " +
			"least one worker of each, though topology.workers asks for one. gust.topology.worker.engine: java keeps all on Java.",
		Scenario: "python-word-count",
		At: []Place{{
			Path:  []string{"workers"},
			Stock: []any{append(java[:4:4], "split[5-5]", "split[6-6]")},
			Gust:  []any{java, []any{"split[5-5]", "split[6-6]"}},
		}},
	}
}
