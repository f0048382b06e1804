// SPDX-License-Identifier: Apache-2.0

// This file tests how records are normalized and laid out.

package compat

import (
	"bytes"
	"encoding/json"
	"os/user"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/compat-tests/harness"
)

func TestLayoutReadsBackAndBreaksLongValues(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", width)
	value := map[string]any{
		"short": []any{1.0, 2.0}, "empty": map[string]any{}, "text": "a < b & ä",
		"long": []any{long, map[string]any{"in": long, "also": nil}},
	}
	var out bytes.Buffer
	if err := layout(&out, value, ""); err != nil {
		t.Fatal(err)
	}
	var back any
	if err := json.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatalf("%v:\n%s", err, out.String())
	}
	if diff := gocmp.Diff(any(value), back); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(out.String(), "\n \"short\": [1,2],\n \"text\": \"a < b & ä\"\n") {
		t.Errorf("short values are not on one line each:\n%s", out.String())
	}
}

func TestNormalizeHidesOnlyWhatDiffersBetweenRuns(t *testing.T) {
	t.Parallel()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	conf := map[string]any{
		"storm.id": "fs-1-1700000000", "compat.out": "/tmp/x/results/fs", "topology.submitter.user": me.Username,
		"topology.users": []any{me.Username, "other"}, "nimbus.thrift.port": 4001.0, "drpc.port": 3772.0,
		"topology.workers": 4001.0, "supervisor.slots.ports": []any{1.0, 2.0}, "null": nil,
	}
	if err := normalize(conf, harness.Settings{Dir: "/tmp/x", Nimbus: 4001}, "fs-1-1700000000"); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"storm.id": "<id>", "compat.out": "<dir>/results/fs", "topology.submitter.user": "<user>",
		"topology.users": []any{"<user>", "other"}, "nimbus.thrift.port": "<nimbus port>", "drpc.port": 3772.0,
		"topology.workers": 4001.0, "supervisor.slots.ports": "<slots>", "null": nil,
	}
	if diff := gocmp.Diff(want, conf); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDifferingKeepsNullApartFromAbsent(t *testing.T) {
	t.Parallel()
	got := differing(map[string]any{"same": 1.0, "gone": 2.0, "was": 3.0}, map[string]any{"same": 1.0, "was": nil, "new": nil})
	if diff := gocmp.Diff(map[string]any{"gone": absent, "was": nil, "new": nil}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlacementHidesPortsOnly(t *testing.T) {
	t.Parallel()
	got := placement([]executor{
		{"b", 3, 4, "h", 6701}, {"a", 1, 1, "h", 6702}, {"b", 2, 2, "h", 6701}, {"b", 5, 5, "i", 6701},
	})
	want := [][]string{{"a[1-1]"}, {"b[2-2]", "b[3-4]"}, {"b[5-5]"}}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
