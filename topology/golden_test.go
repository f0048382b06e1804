// SPDX-License-Identifier: Apache-2.0

// This file replays Storm's recorded answers.

package topology_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/gust-stream/gust/topology/topologytest"
)

// TestRecordedAnswersOfStorm reads what compat-tests/topology wrote with -record.
func TestRecordedAnswersOfStorm(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/storm-2.8.3.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	n := 0
	for ; sc.Scan(); n++ {
		var line struct{ Question, Answers json.RawMessage }
		if err := json.Unmarshal(sc.Bytes(), &line); err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
		q, err := topologytest.Decode(t.Context(), line.Question)
		if err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
		diff, err := topologytest.Compare(t.Context(), q, line.Answers)
		if err != nil {
			t.Fatalf("line %d: %v", n+1, err)
		}
		if diff != "" {
			t.Errorf("line %d, Storm -, gust +:\n%s", n+1, diff)
		}
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	if n < 15 {
		t.Errorf("only %d recorded answers", n)
	}
}
