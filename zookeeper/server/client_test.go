// SPDX-License-Identifier: Apache-2.0

// The protocol as go-zookeeper/zk speaks it.

package server

import (
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
)

var open = zk.WorldACL(zk.PermAll)

func TestClientOperations(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), nil)
	c, _ := connect(t, s.addr, 20*time.Second)

	if p, err := c.Create("/a", []byte("one"), 0, open); err != nil || p != "/a" {
		t.Fatalf("create: %q, %v", p, err)
	}
	if _, err := c.Create("/a", nil, 0, open); !errors.Is(err, zk.ErrNodeExists) {
		t.Errorf("create again: %v", err)
	}
	if _, err := c.Create("/none/b", nil, 0, open); !errors.Is(err, zk.ErrNoNode) {
		t.Errorf("create without parent: %v", err)
	}
	data, st, err := c.Get("/a")
	if err != nil || string(data) != "one" || st.Version != 0 || st.DataLength != 3 {
		t.Errorf("get: %q %+v %v", data, st, err)
	}
	if st, err = c.Set("/a", []byte("two"), 0); err != nil || st.Version != 1 {
		t.Errorf("set: %+v %v", st, err)
	}
	if _, err = c.Set("/a", []byte("x"), 0); !errors.Is(err, zk.ErrBadVersion) {
		t.Errorf("set with old version: %v", err)
	}
	for i, want := range []string{"/a/s0000000000", "/a/s0000000001"} {
		if p, err := c.Create("/a/s", nil, zk.FlagEphemeral|zk.FlagSequence, open); err != nil || p != want {
			t.Errorf("sequential %d: %q %v", i, p, err)
		}
	}
	names, st, err := c.Children("/a")
	if diff := cmp.Diff([]string{"s0000000000", "s0000000001"}, names); err != nil || diff != "" || st.NumChildren != 2 {
		t.Errorf("children: %v %+v %s", err, st, diff)
	}
	if err := c.Delete("/a", -1); !errors.Is(err, zk.ErrNotEmpty) {
		t.Errorf("delete with children: %v", err)
	}
	if _, err := c.Create("/a/s0000000000/x", nil, 0, open); !errors.Is(err, zk.ErrNoChildrenForEphemerals) {
		t.Errorf("child of ephemeral: %v", err)
	}
	if _, err := c.Sync("/a"); err != nil {
		t.Errorf("sync: %v", err)
	}
	if data, _, err := c.Get("/zookeeper/config"); err != nil || len(data) != 0 {
		t.Errorf("config: %q %v", data, err)
	}
}
