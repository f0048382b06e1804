// SPDX-License-Identifier: Apache-2.0

package nimbus_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/nimbus/nimbustest"
	"github.com/gust-stream/gust/thrift/storm"
)

func TestDamagedBlobsStopNobody(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{Tune: quick})
	c := site.Client(t)
	sup := site.Supervisor(t, "sup-1", 6700, 6701)
	id := nimbustest.Submit(t, c, "wc", nil, nimbustest.WordCount(1, 1, 1))
	nimbustest.Until(t, "it is assigned", func() bool { return sup.Executors(id) == 4 })
	before, err := site.State.Assignment(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	site.StopNimbus()
	// Without its journal: that would mend what is damaged here.
	if err := os.Remove(filepath.Join(config.BlobRoot(site.Conf, ""), "blobs.journal")); err != nil {
		t.Fatal(err)
	}
	damaged := 0
	err = filepath.WalkDir(config.BlobRoot(site.Conf, ""), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Base(filepath.Dir(path)) == "data_"+id+"-stormcode.ser" {
			damaged++
			return os.Truncate(path, 7)
		}
		return err
	})
	if err != nil || damaged != 1 {
		t.Fatalf("damaged %d files, %v", damaged, err)
	}
	site.StartNimbus(t, quick)
	c = site.Client(t)
	other := nimbustest.Submit(t, c, "other", nil, nimbustest.WordCount(1, 1, 1))
	nimbustest.Until(t, "another topology is assigned", func() bool { return sup.Executors(other) == 4 })
	after, err := site.State.Assignment(t.Context(), id)
	if err != nil || !after.Equals(before) || sup.Executors(id) != 4 {
		t.Errorf("assignment changed to %v, %v", after, err)
	}
	summary, err := c.GetTopologySummaryByName(t.Context(), "wc")
	if err != nil || !strings.HasPrefix(summary.GetSchedStatus(), "Not scheduled: ") {
		t.Errorf("the damaged topology is %v, %v", summary, err)
	}
	if err := c.KillTopologyWithOpts(t.Context(), "wc", &storm.KillOptions{WaitSecs: new(int32(0))}); err != nil {
		t.Fatal(err)
	}
	nimbustest.Until(t, "it is stopped", func() bool { return sup.Executors(id) == 0 })
}

func TestDamagedStateStopsNobody(t *testing.T) {
	t.Parallel()
	site := nimbustest.Start(t, nimbustest.Options{Tune: quick})
	c := site.Client(t)
	sup := site.Supervisor(t, "sup-1", 6700, 6701)
	bad := nimbustest.Submit(t, c, "bad", nil, nimbustest.WordCount(1, 1, 1))
	good := nimbustest.Submit(t, c, "good", nil, nimbustest.WordCount(1, 1, 1))
	nimbustest.Until(t, "both are assigned", func() bool { return sup.Executors(bad) == 4 && sup.Executors(good) == 4 })
	conn, _, err := zk.Connect([]string{site.ZooKeeper()}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	root := site.Conf.String(config.StormZookeeperRoot, "")
	for _, node := range []string{"/storms/" + bad, "/assignments/" + good, "/workerbeats/" + good + "/sup-1-6701"} {
		if _, err := conn.Set(root+node, []byte("no payload"), -1); errors.Is(err, zk.ErrNoNode) {
			_, err = conn.Create(root+node, []byte("no payload"), 0, zk.WorldACL(zk.PermAll))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	site.StopNimbus()
	site.StartNimbus(t, quick)
	c = site.Client(t)
	nimbustest.Until(t, "the one with a damaged assignment is assigned again", func() bool {
		info, err := c.GetTopologyInfo(t.Context(), good)
		return err == nil && len(info.Executors) == 4
	})
	if a, err := site.State.Assignment(t.Context(), good); err != nil || len(a.ExecutorNodePort) != 4 {
		t.Errorf("stored assignment is %v, %v", a, err)
	}
	if there, err := c.IsRemoteBlobExists(t.Context(), bad+"-stormjar.jar"); err != nil || !there {
		t.Errorf("the jar of the damaged topology is there: %v, %v", there, err)
	}
}
