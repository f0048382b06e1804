// SPDX-License-Identifier: Apache-2.0

// Answers that differ on purpose. Each is a promise: a difference that is gone
// fails the test until its entry is removed.

package zookeeper

import "testing"

// difference is a line of the real server and what ours says instead.
type difference struct {
	theirs, ours string
	why          string
}

// differences is empty: ours answers all that the suite asks as the real one does.
// What the suite leaves out is in zookeeper/DESIGN.md.
func differences() []difference {
	return nil
}

// expected takes the known differences out of both transcripts.
func expected(t *testing.T, got, want []string, all bool) (ours, theirs []string) {
	t.Helper()
	known := map[string]difference{}
	for _, d := range differences() {
		known[d.theirs] = d
	}
	seen := map[string]bool{}
	for i := range want {
		d, ok := known[want[i]]
		if !ok || i >= len(got) || got[i] != d.ours {
			continue
		}
		seen[d.theirs] = true
		want[i] = d.ours
	}
	for _, d := range differences() {
		if all && !seen[d.theirs] {
			t.Errorf("known difference is gone: %q (%s)", d.theirs, d.why)
		}
	}
	return got, want
}
