// SPDX-License-Identifier: Apache-2.0

// This file runs the comparison of groupings and, with -record, keeps it for the unit test.

package grouping

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/gust-stream/gust/compat-tests/stockjava"
	"github.com/gust-stream/gust/worker/grouping/groupingtest"
)

var (
	seed   = flag.Uint64("seed", 1, "seed of what is made up")
	cases  = flag.Int("cases", 3000, "number of made-up groupings")
	record = flag.String("record", "", "file to write the questions and Storm's answers to")
)

func TestGroupingCompat(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 0))
	lines := make([][]byte, *cases)
	for i := range lines {
		var err error
		if lines[i], err = groupingtest.Generate(r).Encode(); err != nil {
			t.Fatal(err)
		}
	}
	answers := stockjava.Ask(t, "java/grouping", "GroupingDriver", lines)
	var recorded bytes.Buffer
	different := 0
	for i, answer := range answers {
		diff, err := groupingtest.Compare(lines[i], answer)
		if err != nil {
			t.Fatalf("grouping %d: %v", i, err)
		}
		if diff != "" {
			different++
			t.Errorf("grouping %d of seed %d: %s\n%s", i, *seed, diff, lines[i])
		}
		recorded.Write(bytes.Join([][]byte{lines[i], []byte("\n"), answer, []byte("\n")}, nil))
	}
	t.Logf("%d groupings, %d differ", len(lines), different)
	if *record != "" {
		if err := os.WriteFile(*record, recorded.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
