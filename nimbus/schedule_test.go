// SPDX-License-Identifier: Apache-2.0

package nimbus_test

import (
	"testing"
	"time"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/nimbus"
	"github.com/gust-stream/gust/nimbus/nimbustest"
	"github.com/gust-stream/gust/thrift/storm"
)

// quick makes silences count after a short while.
func quick(c *nimbus.Config) {
	c.Detection = time.Second
	c.MonitorEvery = time.Hour // what happens must happen because of an event
}

func TestAssignmentIsPushedAndPolled(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{Tune: quick})
	c := site.Client(t)
	sup := site.Supervisor(t, "sup-1", 6700, 6701, 6702, 6703)
	id := nimbustest.Submit(t, c, "wc", config.Conf{config.TopologyWorkers: int64(2)}, nimbustest.WordCount(2, 3, 4))
	nimbustest.Until(t, "all executors are pushed", func() bool { return sup.Executors(id) == 11 })
	polled, err := c.GetSupervisorAssignments(t.Context(), "sup-1")
	if err != nil || len(polled.StormAssignment) != 1 || !polled.StormAssignment[id].Equals(sup.Pushed()[id]) {
		t.Errorf("polled %v, %v", polled, err)
	}
	stored, err := site.State.Assignment(t.Context(), id)
	if err != nil || !stored.Equals(sup.Pushed()[id]) {
		t.Errorf("stored %v, %v", stored, err)
	}
	heap := 0.0
	for _, r := range stored.WorkerResources {
		heap += r.GetMemOnHeap()
	}
	if heap != 11*128 {
		t.Errorf("workers have %v MB of heap together, want %v", heap, 11*128)
	}
	wait := int32(0)
	if err := c.KillTopologyWithOpts(t.Context(), "wc", &storm.KillOptions{WaitSecs: &wait}); err != nil {
		t.Fatal(err)
	}
	nimbustest.Until(t, "the supervisor is told to stop the workers", func() bool { return len(sup.Pushed()) == 0 })
}

func TestLostSupervisor(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{Tune: quick})
	c := site.Client(t)
	one := site.Supervisor(t, "sup-1", 6700, 6701)
	id := nimbustest.Submit(t, c, "wc", nil, nimbustest.WordCount(1, 1, 1))
	nimbustest.Until(t, "the first supervisor has all", func() bool { return one.Executors(id) == 4 })
	before, err := site.State.Assignment(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}

	one.Stop()
	nimbustest.Until(t, "the loss is seen", func() bool {
		info, err := c.GetClusterInfo(t.Context())
		return err == nil && len(info.Supervisors) == 0
	})
	two := site.Supervisor(t, "sup-2", 6700, 6701)
	nimbustest.Until(t, "the second supervisor has all", func() bool { return two.Executors(id) == 4 })
	after, err := site.State.Assignment(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if before.Equals(after) || len(after.NodeHost) != 1 || after.NodeHost["sup-2"] == "" {
		t.Errorf("assignment is %v", after)
	}
}
