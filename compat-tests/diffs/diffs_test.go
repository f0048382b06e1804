// SPDX-License-Identifier: Apache-2.0

// This file checks the list itself.

package diffs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/compat-tests/diffs"
)

func TestDiffsAreNumberedAndSayWhatDiffers(t *testing.T) {
	t.Parallel()
	last := 0
	for _, diff := range diffs.All() {
		if diff.Number <= last {
			t.Errorf("%s: number %d does not follow %d", diff.Name, diff.Number, last)
		}
		last = diff.Number
		if diff.Name == "" || len(diff.Sentence) < 20 || len(diff.At) == 0 {
			t.Errorf("difference %d lacks a name, a sentence or a place", diff.Number)
		}
		for _, place := range diff.At {
			if cmp.Equal(place.Stock, place.Gust) {
				t.Errorf("difference %d: both sides are the same at %v", diff.Number, place.Path)
			}
		}
	}
}

func TestTake(t *testing.T) {
	t.Parallel()
	record := map[string]any{"a": map[string]any{"b": 1.0, "c": nil}, "d": "text", "gust.a": 1.0, "gust.b": 2.0}
	for _, test := range []struct {
		path []string
		want any
	}{
		{[]string{"a", "b"}, 1.0},
		{[]string{"a", "c"}, nil},
		{[]string{"a", "b"}, diffs.Absent}, // taken above
		{[]string{"d", "e"}, diffs.Absent},
		{[]string{"gust.*"}, diffs.Some},
		{[]string{"gust.*"}, diffs.Absent},
		{nil, diffs.Absent},
	} {
		if diff := cmp.Diff(test.want, diffs.Take(record, test.path)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.path, diff)
		}
	}
	if diff := cmp.Diff(map[string]any{"a": map[string]any{}, "d": "text"}, record); diff != "" {
		t.Errorf("left over (-want +got):\n%s", diff)
	}
}
