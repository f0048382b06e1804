// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/cluster"
)

func TestStateReports(t *testing.T) {
	t.Parallel()
	z := startZK(t)
	s := z.connect()
	none, err := s.StateReports(t.Context())
	if err != nil || len(none) != 0 {
		t.Fatalf("got %v, %v", none, err)
	}
	report := cluster.StateReport{Host: "a", Components: []cluster.StateComponent{{
		Topology: "words", Owner: "ann", Component: "count", Tasks: 4, Here: []int32{2, 3}, Entries: 5, Bytes: 6, Opened: 7,
	}}}
	for _, id := range []string{"one", "two"} {
		if err := s.SetStateReport(t.Context(), id, report); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SetStateReport(t.Context(), "../x", report); err == nil {
		t.Fatal("a name that leads elsewhere is taken")
	}
	report.Version = 1
	got, err := s.StateReports(t.Context())
	if diff := cmp.Diff(map[string]cluster.StateReport{"one": report, "two": report}, got); err != nil || diff != "" {
		t.Fatalf("%v %s", err, diff)
	}
	raw, _, err := gozk.Connect([]string{z.addr}, 10*time.Second, gozk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	newer, err := cluster.Pack([]byte(`{"version":2}`))
	if err != nil {
		t.Fatal(err)
	}
	for id, data := range map[string][]byte{"half": newer[:10], "newer": newer, "text": []byte("{")} {
		if _, err := raw.Create("/storm/gust-state/"+id, data, 0, gozk.WorldACL(gozk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.RemoveStateReport(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	got, err = s.StateReports(t.Context())
	if diff := cmp.Diff(map[string]cluster.StateReport{"one": report}, got); err != nil || diff != "" {
		t.Fatalf("%v %s", err, diff)
	}
}
