// SPDX-License-Identifier: Apache-2.0

// Assignments that are larger than Storm's bound on frames.

package nimbus_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/nimbus"
	"github.com/gust-stream/gust/nimbus/nimbustest"
	"github.com/gust-stream/gust/thrift/rpc"
	"github.com/gust-stream/gust/thrift/storm"
)

// TestLargePages asks for a page of 8,000 components, of which neither Storm's clients nor this Nimbus take one frame.
func TestLargePages(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{Conf: config.Conf{config.NimbusThriftMaxBufferSize: int64(8 << 20)}}) // for the submit
	conn, err := rpc.Dial(t.Context(), site.Addr(), rpc.ClientConfig{CallTimeout: nimbustest.Limit, MaxFrame: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	topology := nimbustest.WordCount(1, 1, 1)
	for i := range 8000 {
		topology.Bolts[fmt.Sprintf("count-%04d", i)] = topology.Bolts["count"]
	}
	id := nimbustest.Submit(t, storm.NewNimbusClient(conn), "wide", nil, topology)
	page, err := storm.NewNimbusClient(conn).GetTopologyPageInfo(t.Context(), id, ":all-time", false)
	if err != nil || len(page.IDToBoltAggStats) != 8002 {
		t.Fatalf("with room: %v", err)
	}
	site.StopNimbus()
	site.StartNimbus(t, func(c *nimbus.Config) { c.Server.MaxFrame = rpc.DefaultMaxFrame })
	c := site.Client(t)
	for name, call := range map[string]func() error{
		"getTopologyPageInfo": func() error { _, err := c.GetTopologyPageInfo(t.Context(), id, ":all-time", false); return err },
		"getTopology":         func() error { _, err := c.GetTopology(t.Context(), id); return err },
	} {
		err := call()
		want := "Internal error processing " + name + ": the reply is above the limit of 1048576 bytes; " +
			"raise nimbus.thrift.max_buffer_size here and where you ask from"
		if app, ok := errors.AsType[thrift.TApplicationException](err); !ok || app.Error() != want {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if _, err := c.GetTopologySummaries(t.Context()); err != nil {
		t.Errorf("the call after: %v", err)
	}
}

// TestLargeAssignments has 40,000 executors of two topologies on a supervisor that takes frames as Storm's does, and then on one that
// says it takes larger ones.
func TestLargeAssignments(t *testing.T) {
	t.Parallel()
	const each = 20_000
	site := nimbustest.Start(t, nimbustest.Options{})
	sup := site.Supervisor(t, "sup-1", 6700, 6701, 6702)
	var ids []string
	for _, name := range []string{"first", "second"} {
		id := nimbustest.Submit(t, site.Client(t), name, nil, nimbustest.WordCount(1, 10_000, each-10_000-2))
		ids = append(ids, id)
		nimbustest.Until(t, "it is assigned", func() bool {
			a, err := site.State.Assignment(t.Context(), id)
			return err == nil && a != nil && len(a.ExecutorNodePort) == each
		})
	}

	conn, err := rpc.Dial(t.Context(), site.Addr(), rpc.ClientConfig{CallTimeout: nimbustest.Limit, MaxFrame: rpc.LargeFrame})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	c := storm.NewNimbusClient(conn)
	_, err = c.GetSupervisorAssignments(t.Context(), sup.ID)
	if _, refused := errors.AsType[thrift.TApplicationException](err); !refused || !strings.Contains(err.Error(), "above the limit of 1048576 bytes") {
		t.Fatalf("a supervisor that takes 1 MiB asks: %v", err)
	}
	if n := sup.Executors(ids[1]); n != 0 {
		t.Errorf("it was told to run %d executors in a frame that Storm's would refuse", n)
	}

	sup.MaxFrame = rpc.LargeFrame
	sup.Restart(t)
	nimbustest.Until(t, "its new entry is known", func() bool {
		set, err := c.GetSupervisorAssignments(t.Context(), sup.ID)
		return err == nil && len(set.StormAssignment) == 2 && len(set.StormAssignment[ids[1]].ExecutorNodePort) == each
	})
	nimbustest.Submit(t, site.Client(t), "third", nil, nimbustest.WordCount(1, 1, 1)) // makes Nimbus push
	nimbustest.Until(t, "it is pushed", func() bool { return sup.Executors(ids[0])+sup.Executors(ids[1]) == 2*each })
}
