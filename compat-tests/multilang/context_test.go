// SPDX-License-Identifier: Apache-2.0

package multilang

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/compat-tests/stockjava"
	"github.com/gust-stream/gust/multilang"
	"github.com/gust-stream/gust/multilang/codec"
	"github.com/gust-stream/gust/topology"
	"github.com/gust-stream/gust/topology/topologytest"
)

// question is one task of a topology.
type question struct {
	Topology []byte           `json:"topology"`
	Tasks    map[int32]string `json:"tasks"`
	Task     int32            `json:"task"`
}

func TestContextCompat(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 0))
	var want []map[string]any
	var lines [][]byte
	for len(lines) < 300 {
		q := topologytest.Generate(r)
		conf, err := topology.NormalizeConf(q.Nimbus, q.Conf, q.Topology)
		if err != nil {
			continue
		}
		normal, err := topology.Normalize(conf, q.Topology)
		if err != nil {
			continue
		}
		system, err := topology.System(conf, normal)
		if err != nil {
			continue
		}
		numbered, err := topology.TasksOf(system)
		if err != nil || len(numbered) == 0 {
			continue
		}
		ask := question{Tasks: map[int32]string{}}
		var users []int32 // tasks
		for i, component := range numbered {
			ask.Tasks[int32(i+1)] = component
			if !strings.HasPrefix(component, "__") {
				users = append(users, int32(i+1))
			}
		}
		if len(users) == 0 {
			continue
		}
		// Storm's Task makes a component's context from the user's topology, with the tasks of the system's.
		if ask.Topology, err = thrift.NewTSerializer().Write(t.Context(), normal); err != nil {
			t.Fatal(err)
		}
		ask.Task = users[r.IntN(len(users))]
		line, err := json.Marshal(ask)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
		want = append(want, multilang.Context(system, ask.Tasks, ask.Task))
	}
	for i, answer := range stockjava.Ask(t, "java", "ContextDriver", lines) {
		storm, err := codec.Decode(answer, codec.JSON)
		if err != nil {
			t.Fatal(err)
		}
		text, err := codec.Append(nil, codec.JSON, want[i])
		if err != nil {
			t.Fatal(err)
		}
		gust, err := codec.Decode(text, codec.JSON)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []any{storm, gust} {
			sortStreams(v)
		}
		if diff := cmp.Diff(storm, gust); diff != "" {
			t.Errorf("question %d, Storm -, gust +:\n%s", i, diff)
		}
	}
}

// sortStreams brings the streams, which Storm lists as its hash map has them, into one order.
func sortStreams(context any) {
	m, _ := context.(map[string]any)
	streams, _ := m["streams"].([]any)
	slices.SortFunc(streams, func(a, b any) int {
		x, _ := a.(string)
		y, _ := b.(string)
		if x < y {
			return -1
		}
		return 1
	})
}
