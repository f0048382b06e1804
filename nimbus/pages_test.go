// SPDX-License-Identifier: Apache-2.0

package nimbus_test

import (
	"errors"
	"testing"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/nimbus/nimbustest"
	"github.com/gust-stream/gust/thrift/storm"
)

func TestPages(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{})
	c := site.Client(t)
	sup := site.Supervisor(t, "sup-1", 6700, 6701)
	id := nimbustest.Submit(t, c, "wc", config.Conf{config.TopologyWorkers: int64(2)}, nimbustest.WordCount(1, 2, 3))
	nimbustest.Until(t, "it is assigned", func() bool { return sup.Executors(id) == 8 })
	page, err := c.GetTopologyPageInfo(t.Context(), id, ":all-time", false)
	if err != nil || page.GetNumExecutors() != 8 || page.GetNumTasks() != 8 || page.GetNumWorkers() != 2 || len(page.Workers) != 2 ||
		len(page.IDToSpoutAggStats) != 1 || len(page.IDToBoltAggStats) != 2 {
		t.Errorf("topology page is %v, %v", page, err)
	}
	component, err := c.GetComponentPageInfo(t.Context(), id, "count", ":all-time", false)
	if err != nil || component.GetNumExecutors() != 3 || len(component.ExecStats) != 3 || component.ComponentType != storm.ComponentType_BOLT {
		t.Errorf("component page is %v, %v", component, err)
	}
	for _, ask := range []struct{ id, host string }{{"sup-1", ""}, {"", nimbustest.Host}} {
		supervisor, err := c.GetSupervisorPageInfo(t.Context(), ask.id, ask.host, true)
		if err != nil || len(supervisor.SupervisorSummaries) != 1 || len(supervisor.WorkerSummaries) != 2 {
			t.Errorf("supervisor page is %v, %v", supervisor, err)
		}
	}
	info, err := c.GetTopologyInfo(t.Context(), id)
	if err != nil || len(info.Executors) != 8 || info.Executors[0].Host != nimbustest.Host || info.GetSchedStatus() != "Fully Scheduled" {
		t.Errorf("topology info is %v, %v", info, err)
	}
	system, err := c.GetTopology(t.Context(), id)
	if err != nil || system.Bolts["__acker"] == nil || system.Bolts["__system"] == nil {
		t.Errorf("topology is %v, %v", system, err)
	}
	user, err := c.GetUserTopology(t.Context(), id)
	if err != nil || len(user.Bolts) != 2 {
		t.Errorf("user topology is %v, %v", user, err)
	}
	owners, err := c.GetOwnerResourceSummaries(t.Context(), "")
	if err != nil || len(owners) != 1 || owners[0].GetTotalExecutors() != 8 || owners[0].GetAssignedOnHeapMemory() != 8*128 {
		t.Errorf("owners are %v, %v", owners, err)
	}
	cluster, err := c.GetClusterInfo(t.Context())
	if err != nil || len(cluster.Supervisors) != 1 || cluster.Supervisors[0].NumUsedWorkers != 2 || len(cluster.Nimbuses) != 1 || !cluster.Nimbuses[0].IsLeader {
		t.Errorf("cluster is %v, %v", cluster, err)
	}
	for name, call := range map[string]func() error{
		"Info":     func() error { _, err := c.GetTopologyInfo(t.Context(), "nope"); return err },
		"Page":     func() error { _, err := c.GetTopologyPageInfo(t.Context(), "nope", "600", false); return err },
		"Conf":     func() error { _, err := c.GetTopologyConf(t.Context(), "nope"); return err },
		"User":     func() error { _, err := c.GetUserTopology(t.Context(), "nope"); return err },
		"Topology": func() error { _, err := c.GetTopology(t.Context(), "nope"); return err },
		"Beat": func() error {
			return c.SendSupervisorWorkerHeartbeat(t.Context(), &storm.SupervisorWorkerHeartbeat{StormID: "nope", Executors: []*storm.ExecutorInfo{}})
		},
	} {
		err := call()
		if e, ok := errors.AsType[*storm.NotAliveException](err); !ok || e.Msg != "nope" {
			t.Errorf("%s of an unknown id says %v", name, err)
		}
	}
}
