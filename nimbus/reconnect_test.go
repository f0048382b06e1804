// SPDX-License-Identifier: Apache-2.0

//go:build !race

// go-zookeeper/zk 1.0.4 reads the last zxid without a lock while it sets its watches again after a reconnect, which the race detector
// reports; so what needs a reconnect is tested without it.

package nimbus_test

import (
	"testing"

	"github.com/gust-stream/gust/nimbus/nimbustest"
)

func TestClusterStateRestarts(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{Tune: quick})
	c := site.Client(t)
	sup := site.Supervisor(t, "sup-1", 6700, 6701)
	id := nimbustest.Submit(t, c, "wc", nil, nimbustest.WordCount(1, 1, 1))
	nimbustest.Until(t, "it is assigned", func() bool { return sup.Executors(id) == 4 })
	before := sup.Pushed()[id]
	site.StopZooKeeper()
	if list, err := c.GetTopologySummaries(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("without the cluster state the topologies are %v, %v", list, err)
	}
	site.StartZooKeeper(t)
	nimbustest.Until(t, "a submit works again", func() bool {
		return c.SubmitTopology(t.Context(), "other", nimbustest.Upload(t, c), "{}", nimbustest.WordCount(1, 1, 1)) == nil
	})
	other, err := c.GetTopologySummaryByName(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	nimbustest.Until(t, "it is assigned", func() bool { return sup.Executors(other.ID) == 4 })
	if after := sup.Pushed()[id]; !after.Equals(before) {
		t.Errorf("assignment changed to %v", after)
	}
}
