// SPDX-License-Identifier: Apache-2.0

package nimbus_test

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/nimbus"
	"github.com/gust-stream/gust/nimbus/nimbustest"
	"github.com/gust-stream/gust/thrift/storm"
)

func TestRestartMovesNobody(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*nimbustest.Site){"Stop": (*nimbustest.Site).StopNimbus, "Crash": (*nimbustest.Site).CrashNimbus} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			restartMovesNobody(t, stop)
		})
	}
}

func restartMovesNobody(t *testing.T, stop func(*nimbustest.Site)) {
	t.Helper()
	site := nimbustest.Start(t, nimbustest.Options{Tune: quick})
	c := site.Client(t)
	sup := site.Supervisor(t, "sup-1", 6700, 6701)
	site.Supervisor(t, "sup-2", 6700, 6701)
	id := nimbustest.Submit(t, c, "wc", config.Conf{config.TopologyWorkers: int64(4)}, nimbustest.WordCount(2, 2, 2))
	nimbustest.Until(t, "it is assigned", func() bool { return sup.Executors(id) == 5 })
	before, err := site.State.Assignment(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	stop(site)
	site.StartNimbus(t, quick)
	c = site.Client(t)
	polled, err := c.GetSupervisorAssignments(t.Context(), "sup-1")
	if err != nil || !polled.StormAssignment[id].Equals(before) {
		t.Errorf("after the restart sup-1 polls %v, %v", polled, err)
	}
	// The other topology proves that scheduling goes on; the first one must not move by it.
	other := nimbustest.Submit(t, c, "other", nil, nimbustest.WordCount(1, 1, 1))
	nimbustest.Until(t, "the scheduler has seen both", func() bool {
		s, err := c.GetTopologySummaryByName(t.Context(), "other")
		return err == nil && s.GetSchedStatus() != ""
	})
	if a, err := site.State.Assignment(t.Context(), other); err != nil || a != nil {
		t.Errorf("the other topology got %v, %v, but no slot is free", a, err)
	}
	after, err := site.State.Assignment(t.Context(), id)
	if err != nil || !after.Equals(before) {
		t.Errorf("assignment changed to %v, %v", after, err)
	}
	if s := status(t, c); s != "ACTIVE" {
		t.Errorf("status is %s", s)
	}
}

// A supervisor that died alone keeps its workers: they answer on their port.
func TestSupervisorThatDiedAloneKeepsItsWorkers(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", nimbustest.Host+":0")
	if err != nil {
		t.Fatal(err)
	}
	nimbustest.Background(t, "worker port", func(ctx context.Context) error {
		stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
		defer stop()
		for {
			conn, err := listener.Accept()
			if err != nil {
				return nil // closed at the end of the test
			}
			_ = conn.Close()
		}
	})
	_, text, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	site := nimbustest.Start(t, nimbustest.Options{Tune: func(c *nimbus.Config) {
		quick(c)
		c.Detection = 2 * time.Second // a busy machine needs some time to take a connection
	}})
	c := site.Client(t)
	one := site.Supervisor(t, "sup-1", port)
	id := nimbustest.Submit(t, c, "wc", nil, nimbustest.WordCount(1, 1, 1))
	nimbustest.Until(t, "it is assigned", func() bool { return one.Executors(id) == 4 })
	before, err := site.State.Assignment(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	one.Stop()
	died := time.Now()
	two := site.Supervisor(t, "sup-2", 6700)
	nimbustest.Until(t, "twice the detection timeout has passed", func() bool { return time.Since(died) > 4*time.Second })
	if n := two.Executors(id); n != 0 {
		t.Errorf("%d executors moved although their worker lives", n)
	}
	after, err := site.State.Assignment(t.Context(), id)
	if err != nil || !after.Equals(before) {
		t.Errorf("assignment changed to %v, %v", after, err)
	}
	_ = listener.Close() // now the worker dies too
	nimbustest.Until(t, "the work has moved", func() bool { return two.Executors(id) == 4 })
}

func TestLostSupervisorWithoutAnotherLosesNothing(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{Tune: quick})
	c := site.Client(t)
	sup := site.Supervisor(t, "sup-1", 6700)
	id := nimbustest.Submit(t, c, "wc", nil, nimbustest.WordCount(1, 1, 1))
	nimbustest.Until(t, "it is assigned", func() bool { return sup.Executors(id) == 4 })
	before, err := site.State.Assignment(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	sup.Stop()
	nimbustest.Until(t, "the scheduler has looked for another place", func() bool {
		s, err := c.GetTopologySummaryByName(t.Context(), "wc")
		return err == nil && s.GetSchedStatus() != "Fully Scheduled"
	})
	after, err := site.State.Assignment(t.Context(), id)
	if err != nil || !after.Equals(before) {
		t.Errorf("assignment changed to %v, %v", after, err)
	}
	sup.Restart(t)
	nimbustest.Until(t, "all is well again", func() bool {
		s, err := c.GetTopologySummaryByName(t.Context(), "wc")
		return err == nil && s.GetSchedStatus() == "Fully Scheduled"
	})
	if after, err = site.State.Assignment(t.Context(), id); err != nil || !after.Equals(before) {
		t.Errorf("assignment changed to %v, %v", after, err)
	}
}

func TestDeadExecutorsMove(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{Tune: func(c *nimbus.Config) {
		quick(c)
		c.TaskTimeout, c.LaunchTimeout = time.Second, time.Second
	}})
	c := site.Client(t)
	one := site.Supervisor(t, "sup-1", 6700)
	id := nimbustest.Submit(t, c, "wc", nil, nimbustest.WordCount(1, 1, 1))
	nimbustest.Until(t, "it is assigned", func() bool { return one.Executors(id) == 4 })
	two := site.Supervisor(t, "sup-2", 6700)
	one.Mute(true) // the supervisor goes on, its worker hangs
	nimbustest.Until(t, "the work has moved", func() bool { return two.Executors(id) == 4 })
}

func TestHeartbeatsOfOthersDoNotCount(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{Tune: quick})
	c := site.Client(t)
	one := site.Supervisor(t, "sup-1", 6700)
	id := nimbustest.Submit(t, c, "wc", nil, nimbustest.WordCount(1, 1, 1))
	nimbustest.Until(t, "it is assigned", func() bool { return one.Executors(id) == 4 })
	two := site.Supervisor(t, "sup-2", 6700)
	one.Stop()
	// Somebody else, who does not run the executors, beats for them.
	nimbustest.Background(t, "impostor", func(ctx context.Context) error {
		for stamp := int32(1); ctx.Err() == nil; stamp++ {
			_ = c.SendSupervisorWorkerHeartbeats(ctx, &storm.SupervisorWorkerHeartbeats{
				SupervisorID: "sup-3", WorkerHeartbeats: []*storm.SupervisorWorkerHeartbeat{{
					StormID: id, TimeSecs: stamp, Executors: []*storm.ExecutorInfo{{TaskStart: 1, TaskEnd: 1}, {TaskStart: 2, TaskEnd: 2}},
				}},
			})
		}
		return nil
	})
	nimbustest.Until(t, "the work has moved", func() bool { return two.Executors(id) == 4 })
}

func TestLeftoversAreRemoved(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{Tune: func(c *nimbus.Config) {
		c.MonitorEvery, c.BlobDelay = time.Second, 0
	}})
	c := site.Client(t)
	putBlob(t, c, "dep-mine", "x")
	putBlob(t, c, "dep-shared", "x")
	putBlob(t, c, "words", "x")
	first := nimbustest.WordCount(1, 1, 1)
	first.DependencyJars = []string{"dep-mine", "dep-shared", "words"} // the last one is not of the kind that goes with a topology
	second := nimbustest.WordCount(1, 1, 1)
	second.DependencyJars = []string{"dep-shared"}
	nimbustest.Submit(t, c, "wc", nil, first)
	nimbustest.Submit(t, c, "other", nil, second)
	if err := c.KillTopologyWithOpts(t.Context(), "wc", &storm.KillOptions{WaitSecs: new(int32(0))}); err != nil {
		t.Fatal(err)
	}
	nimbustest.Until(t, "the leftovers are gone", func() bool {
		page, err := c.ListBlobs(t.Context(), "")
		return err == nil && len(page.Keys) == 3+2 // the blobs of the other topology, and two that it or somebody else needs
	})
	for _, key := range []string{"dep-shared", "words"} {
		if there, err := c.IsRemoteBlobExists(t.Context(), key); err != nil || !there {
			t.Errorf("blob %s is there: %v, %v", key, there, err)
		}
	}
	ids, err := site.State.WorkerBeatTopologies(t.Context())
	if err != nil || len(ids) != 1 {
		t.Errorf("places for heartbeats are %v, %v", ids, err)
	}
}
