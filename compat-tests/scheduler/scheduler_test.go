// SPDX-License-Identifier: Apache-2.0

// This file runs the comparison and, with -record, keeps it for the unit test.

package scheduler

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/compat-tests/stockjava"
	"github.com/gust-stream/gust/nimbus/scheduler"
	"github.com/gust-stream/gust/nimbus/scheduler/schedulertest"
)

var (
	seed   = flag.Uint64("seed", 1, "seed of the generated clusters")
	cases  = flag.Int("cases", 600, "number of generated clusters")
	record = flag.String("record", "", "file to write the cases and Storm's answers to")
)

func TestPlacementCompat(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 0))
	all := make([]schedulertest.Case, *cases)
	questions := make([][]byte, *cases)
	for i := range all {
		var err error
		if all[i], err = schedulertest.Generate(r); err != nil {
			t.Fatal(err)
		}
		if questions[i], err = json.Marshal(all[i]); err != nil {
			t.Fatal(err)
		}
	}
	answers := stockjava.Ask(t, "java", "org.apache.storm.scheduler.SchedulerDriver", questions)

	placed, different, thrown := 0, 0, 0
	var recorded bytes.Buffer
	for i, raw := range answers {
		var fault struct{ Error string }
		if err := json.Unmarshal(raw, &fault); err == nil && fault.Error != "" {
			// Storm's pass dies when a topology holds more slots than it asks for
			// and lacks an executor; gust has nothing to equal there.
			thrown++
			continue
		}
		var want schedulertest.Answer
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		out, err := scheduler.Schedule(all[i].Input())
		if err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		got := schedulertest.AnswerOf(out)
		if diff := cmp.Diff(want, got); diff != "" {
			different++
			t.Errorf("case %d of seed %d, %s\nStorm -, gust +:\n%s", i, *seed, questions[i], diff)
		}
		for _, lines := range got {
			placed += len(lines)
		}
		recorded.Write(bytes.Join([][]byte{[]byte(`{"case":`), questions[i], []byte(`,"answer":`), raw, []byte("}\n")}, nil))
	}
	if placed == 0 {
		t.Fatal("the generated clusters hold no placement at all")
	}
	if thrown > len(all)/10 {
		t.Errorf("Storm itself failed on %d of %d clusters", thrown, len(all))
	}
	t.Logf("%d clusters, %d executors placed, %d answers differ, Storm threw on %d", len(all), placed, different, thrown)
	if *record != "" {
		if err := os.WriteFile(*record, recorded.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
