// SPDX-License-Identifier: Apache-2.0

// This file runs the comparison and, with -record, keeps it for the unit test.

package topology

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/gust-stream/gust/compat-tests/stockjava"
	"github.com/gust-stream/gust/topology/topologytest"
)

var (
	seed   = flag.Uint64("seed", 1, "seed of the generated topologies")
	cases  = flag.Int("cases", 600, "number of generated topologies")
	record = flag.String("record", "", "file to write the questions and Storm's answers to")
)

func TestTopologyCompat(t *testing.T) {
	ctx := t.Context()
	r := rand.New(rand.NewPCG(*seed, 0))
	all := make([]topologytest.Question, *cases)
	lines := make([][]byte, *cases)
	for i := range all {
		all[i] = topologytest.Generate(r)
		var err error
		if lines[i], err = all[i].Encode(ctx); err != nil {
			t.Fatal(err)
		}
	}
	answers := stockjava.Ask(t, "java", "org.apache.storm.daemon.nimbus.TopologyDriver", lines)

	different := 0
	var recorded bytes.Buffer
	for i, a := range answers {
		diff, err := topologytest.Compare(ctx, all[i], a)
		if err != nil {
			t.Fatalf("topology %d: %v", i, err)
		}
		if diff != "" {
			different++
			t.Errorf("topology %d of seed %d, Storm -, gust +:\n%s", i, *seed, diff)
		}
		recorded.Write(bytes.Join([][]byte{[]byte(`{"question":`), lines[i], []byte(`,"answers":`), a, []byte("}\n")}, nil))
	}
	t.Logf("%d topologies, %d answers differ", len(all), different)
	if *record != "" {
		if err := os.WriteFile(*record, recorded.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
