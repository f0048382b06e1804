// SPDX-License-Identifier: Apache-2.0

package engine_test

// Tests that objects as this machine's Java writes them are read like the recorded ones that topology/engine's own tests use.

import (
	"bytes"
	"encoding/base64"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/compat-tests/stockjava"
	"github.com/gust-stream/gust/topology/engine"
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

// TestJavaReadsObjectsCompat lets Java deserialize the objects that are made for components with longer commands.
func TestJavaReadsObjectsCompat(t *testing.T) {
	var questions [][]byte
	var want []string
	for _, test := range []struct {
		child engine.Child
		spout bool
		want  string
	}{
		{engine.Child{Command: []string{"./one"}}, false, "ShellBolt [./one] {} true true"},
		{
			engine.Child{Command: []string{"python3", "-u", "grüße 😀.py"}, Env: map[string]string{"A": "1", "B": ""}},
			false,
			"ShellBolt [python3, -u, grüße 😀.py] {A=1, B=} true true",
		},
		{engine.Child{Command: []string{"node", "spout.js"}, KeepDir: true}, true, "ShellSpout [node, spout.js] {} false true"},
	} {
		object, err := test.child.Object(test.spout)
		if err != nil {
			t.Fatal(err)
		}
		questions = append(questions, []byte("read "+base64.StdEncoding.EncodeToString(object.SerializedJava)))
		want = append(want, test.want)
	}
	for fields, answer := range map[string]string{"": "null -1", "word": "[word] 0", "a b grüße": "[a, b, grüße] 2"} {
		object, err := engine.PartialKeyGrouping(strings.Fields(fields))
		if err != nil {
			t.Fatal(err)
		}
		questions = append(questions, []byte("read "+base64.StdEncoding.EncodeToString(object)))
		want = append(want, answer)
	}
	for i, answer := range stockjava.Ask(t, "java", "Variants", questions) {
		if string(answer) != want[i] {
			t.Errorf("Java reads %s, want %s", answer, want[i])
		}
	}
}
