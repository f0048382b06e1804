// SPDX-License-Identifier: Apache-2.0

package engine_test

// Tests that objects as this machine's Java writes them are read like the recorded ones that topology/engine's own tests use.

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/compat-tests/stockjava"
	"github.com/gust-stream/gust/topology/engine/enginetest"
)

const recorded = "../../topology/engine/testdata/java-2.8.3.txt"

// TestJavaObjectsAreReadCompat compares what is said of objects made now with what is said of the recorded ones. With
// GUST_COMPAT=record it writes the record.
func TestJavaObjectsAreReadCompat(t *testing.T) {
	old, err := enginetest.Load(recorded)
	if err != nil && os.Getenv("GUST_COMPAT") != "record" {
		t.Fatal(err)
	}
	var names [][]byte
	for _, name := range enginetest.Names() {
		names = append(names, []byte(name))
	}
	answers := append(bytes.Join(stockjava.Ask(t, "java", "Variants", names), []byte("\n")), '\n')
	if os.Getenv("GUST_COMPAT") == "record" {
		if err := os.WriteFile(recorded, answers, 0o644); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
		return
	}
	live, err := enginetest.Parse(answers)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range enginetest.Names() {
		if diff := cmp.Diff(enginetest.Describe(old[name]), enginetest.Describe(live[name])); diff != "" {
			t.Errorf("%s: recorded -, now +:\n%s", name, diff)
		}
	}
}
