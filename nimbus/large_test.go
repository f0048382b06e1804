// SPDX-License-Identifier: Apache-2.0

// Assignments that are larger than Storm's bound on frames.

package nimbus_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/gust-stream/gust/nimbus/nimbustest"
	"github.com/gust-stream/gust/thrift/rpc"
	"github.com/gust-stream/gust/thrift/storm"
)

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
