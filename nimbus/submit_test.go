// SPDX-License-Identifier: Apache-2.0

package nimbus_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/nimbus/nimbustest"
	"github.com/gust-stream/gust/thrift/storm"
)

func TestSubmitListKill(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{})
	c := site.Client(t)
	leader, err := c.GetLeader(t.Context())
	if err != nil || leader.Host != nimbustest.Host || int(leader.Port) != site.Port() || !leader.IsLeader {
		t.Fatalf("leader is %v, %v", leader, err)
	}
	if ok, err := c.IsTopologyNameAllowed(t.Context(), "wc"); err != nil || !ok {
		t.Fatalf("name allowed is %v, %v", ok, err)
	}
	id := nimbustest.Submit(t, c, "wc", config.Conf{config.TopologyWorkers: int64(2)}, nimbustest.WordCount(2, 3, 4))
	if !strings.HasPrefix(id, "wc-1-") {
		t.Errorf("id is %s", id)
	}
	if ok, err := c.IsTopologyNameAllowed(t.Context(), "wc"); err != nil || ok {
		t.Errorf("name allowed is %v, %v, but it is in use", ok, err)
	}
	list, err := c.GetTopologySummaries(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != "wc" || list[0].Status != "ACTIVE" {
		t.Fatalf("topologies are %v, %v", list, err)
	}
	base, err := site.State.Storm(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int32{"spout": 2, "split": 3, "count": 4, "__acker": 2, "__system": 0}
	if diff := cmp.Diff(want, base.ComponentExecutors); diff != "" {
		t.Errorf("component executors (-want +have):\n%s", diff)
	}
	wait := int32(0)
	if err := c.KillTopologyWithOpts(t.Context(), "wc", &storm.KillOptions{WaitSecs: &wait}); err != nil {
		t.Fatal(err)
	}
	nimbustest.Until(t, "the topology is gone", func() bool {
		list, err := c.GetTopologySummaries(t.Context())
		return err == nil && len(list) == 0
	})
	history, err := c.GetTopologyHistory(t.Context(), "")
	if err != nil || len(history.TopoIds) != 1 || history.TopoIds[0] != id {
		t.Errorf("history is %v, %v", history, err)
	}
	err = c.KillTopology(t.Context(), "wc")
	if gone, ok := errors.AsType[*storm.NotAliveException](err); !ok || gone.Msg != "wc is not alive" {
		t.Errorf("second kill says %v", err)
	}
}
