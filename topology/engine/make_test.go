// SPDX-License-Identifier: Apache-2.0

package engine_test

// Tests of the objects that stand for child processes.

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/gust-stream/gust/topology/engine"
	"github.com/gust-stream/gust/topology/engine/enginetest"
	"github.com/gust-stream/gust/topology/engine/javaobject"
)

func TestChildComesBackFromItsObject(t *testing.T) {
	t.Parallel()
	word := rapid.StringMatching(`[a-zäß€😀\x01 ]{1,6}`)
	rapid.Check(t, func(t *rapid.T) {
		want := engine.Child{
			Command: rapid.SliceOfN(word, 1, 5).Draw(t, "command"),
			Env:     rapid.MapOfN(word, rapid.StringN(0, 300, 600), 0, 5).Draw(t, "env"),
			KeepDir: rapid.Bool().Draw(t, "keep"),
		}
		spout := rapid.Bool().Draw(t, "spout")
		object, err := want.Object(spout)
		if err != nil {
			t.Fatal(err)
		}
		got, err := engine.ReadChild(object)
		if err != nil {
			t.Fatal(err)
		}
		got.Class = ""
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
		if plain := len(want.Command) == 2 && len(want.Env) == 0 && !want.KeepDir; plain != (object.Shell != nil) {
			t.Errorf("a ShellComponent: %v", object.Shell != nil)
		}
	})
}

// TestObjectsAreWrittenAsTheyWereRead goes through all that Java wrote.
func TestObjectsAreWrittenAsTheyWereRead(t *testing.T) {
	t.Parallel()
	all, err := enginetest.Load("testdata/java-2.8.3.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range enginetest.Names() {
		o, _, err := javaobject.Read(all[name].Object)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		data, err := javaobject.Write(o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(all[name].Object, data); diff != "" {
			t.Errorf("%s: other bytes", name)
		}
	}
}
