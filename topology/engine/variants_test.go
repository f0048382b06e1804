// SPDX-License-Identifier: Apache-2.0

package engine_test

// Tests of what is made of real Java objects and their classes. compat-tests/engine records them.

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/topology/engine/enginetest"
)

func TestJavaObjectsAreJudged(t *testing.T) {
	t.Parallel()
	all, err := enginetest.Load("testdata/java-2.8.3.txt")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/answers.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, name := range enginetest.Names() {
		got.WriteString(name + ": " + enginetest.Describe(all[name]) + "\n")
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("answers.txt -, now +:\n%s", diff)
	}
}
