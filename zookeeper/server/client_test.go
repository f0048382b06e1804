// SPDX-License-Identifier: Apache-2.0

// The protocol as go-zookeeper/zk speaks it.

package server

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/zookeeper/jute"
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

func nextEvent(t *testing.T, ch <-chan zk.Event) zk.Event {
	t.Helper()
	select {
	case e := <-ch:
		return e
	case <-time.After(wait):
		t.Fatal("no event")
		return zk.Event{}
	}
}

func TestClientWatches(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), nil)
	a, _ := connect(t, s.addr, 20*time.Second)
	b, _ := connect(t, s.addr, 20*time.Second)
	_, _, created, err := b.ExistsW("/w")
	if err != nil {
		t.Fatal(err)
	}
	_, _, children, err := b.ChildrenW("/")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Create("/w", nil, zk.FlagEphemeral, open); err != nil {
		t.Fatal(err)
	}
	if e := nextEvent(t, created); e.Type != zk.EventNodeCreated || e.Path != "/w" {
		t.Errorf("created: %+v", e)
	}
	if e := nextEvent(t, children); e.Type != zk.EventNodeChildrenChanged || e.Path != "/" {
		t.Errorf("children: %+v", e)
	}
	_, _, changed, err := b.GetW("/w")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Set("/w", []byte("x"), -1); err != nil {
		t.Fatal(err)
	}
	if e := nextEvent(t, changed); e.Type != zk.EventNodeDataChanged {
		t.Errorf("changed: %+v", e)
	}
	_, _, deleted, err := b.GetW("/w")
	if err != nil {
		t.Fatal(err)
	}
	a.Close() // its ephemeral goes with the session
	if e := nextEvent(t, deleted); e.Type != zk.EventNodeDeleted {
		t.Errorf("deleted: %+v", e)
	}
}

func TestClientMulti(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), nil)
	c, _ := connect(t, s.addr, 20*time.Second)
	res, err := c.Multi(
		&zk.CreateRequest{Path: "/m", Data: []byte("1"), Acl: open},
		&zk.CreateRequest{Path: "/m/s", Acl: open, Flags: zk.FlagSequence},
		&zk.SetDataRequest{Path: "/m", Data: []byte("2"), Version: 0},
		&zk.CheckVersionRequest{Path: "/m", Version: 1},
	)
	if err != nil || len(res) != 4 || res[1].String != "/m/s0000000000" || res[2].Stat.Version != 1 {
		t.Errorf("multi: %+v %v", res, err)
	}
	_, err = c.Multi(
		&zk.SetDataRequest{Path: "/m", Data: []byte("3"), Version: -1},
		&zk.DeleteRequest{Path: "/m", Version: -1},
	)
	if !errors.Is(err, zk.ErrNotEmpty) {
		t.Errorf("failing multi: %v", err)
	}
	if data, st, err := c.Get("/m"); err != nil || string(data) != "2" || st.Version != 1 {
		t.Errorf("after it: %q %+v %v", data, st, err)
	}
}

func TestClientRights(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), func(c *Config) { c.SuperDigest = digest([]byte("super:user")) })
	a, _ := connect(t, s.addr, 20*time.Second)
	b, _ := connect(t, s.addr, 20*time.Second)
	if err := a.AddAuth("digest", []byte("storm:secret")); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Create("/s", []byte("x"), 0, zk.DigestACL(zk.PermAll, "storm", "secret")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.Get("/s"); err != nil {
		t.Errorf("owner: %v", err)
	}
	if _, _, err := b.Get("/s"); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("stranger: %v", err)
	}
	if _, err := b.SetACL("/s", open, -1); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("stranger changes rights: %v", err)
	}
	if _, err := b.Create("/t", nil, 0, zk.AuthACL(zk.PermAll)); !errors.Is(err, zk.ErrInvalidACL) {
		t.Errorf("rights for an identity that was not proved: %v", err)
	}
	if err := b.AddAuth("digest", []byte("super:user")); err != nil {
		t.Fatal(err)
	}
	if acl, _, err := b.GetACL("/s"); err != nil || len(acl) != 1 || acl[0].ID != digest([]byte("storm:secret")) {
		t.Errorf("super: %+v %v", acl, err)
	}
}

// TestClientExpires cuts a client off for longer than its session lasts.
func TestClientExpires(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), func(c *Config) { c.TickTime = 50 * time.Millisecond })
	w, _ := connect(t, s.addr, time.Second)
	raw := dialRaw(t, s.addr)
	raw.hello(100)
	raw.create("/e")
	_, _, gone, err := w.ExistsW("/e")
	if err != nil {
		t.Fatal(err)
	}
	if e := nextEvent(t, gone); e.Type != zk.EventNodeDeleted {
		t.Errorf("event %+v", e)
	}
	if raw.receive() != nil {
		t.Error("the connection of an expired session stays")
	}
	again := dialRaw(t, s.addr)
	again.send(helloFrame(100, raw.session, raw.password))
	d := jute.NewDecoder(again.receive())
	d.Int()
	d.Int()
	if id := d.Long(); id != 0 {
		t.Errorf("expired session %x is resumed", id)
	}
}

// TestContainersGo deletes empty containers, and only those that had a child.
func TestContainersGo(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), func(c *Config) { c.TickTime = 20 * time.Millisecond; c.ContainerCheck = 20 * time.Millisecond })
	c, _ := connect(t, s.addr, time.Second)
	for _, p := range []string{"/young", "/old"} {
		if _, err := c.CreateContainer(p, nil, zk.FlagContainer, open); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Create("/old/x", nil, 0, open); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete("/old/x", -1); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the container that was emptied is deleted", func() bool {
		ok, _, err := c.Exists("/old")
		return err == nil && !ok
	})
	if ok, _, err := c.Exists("/young"); err != nil || !ok {
		t.Errorf("young container: %v %v", ok, err)
	}
}

func TestConfigFaults(t *testing.T) {
	t.Parallel()
	err := Config{TickTime: -1, MaxFrame: 5, MaxConns: -1, SuperDigest: "x"}.Validate()
	for _, want := range []string{"no address", "no directory", "tick time", "largest frame 5", "connection limit", "super digest"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if _, err := New(Config{}, zap.NewNop()); err == nil {
		t.Error("taken")
	}
}

// TestListenBeforeRun tells the address early, and clients that come early are served.
func TestListenBeforeRun(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Addr: "127.0.0.1:0", Dir: t.TempDir()}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Listen()
	if err != nil || first.String() != second.String() {
		t.Errorf("%v and %v: %v", first, second, err)
	}
	r := dialRaw(t, first.String())
	r.send(helloFrame(4000, 0, make([]byte, 16)))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	if r.receive() == nil {
		t.Error("not served")
	}
	taken, err := New(Config{Addr: first.String(), Dir: t.TempDir()}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if err := taken.Run(ctx); err == nil || !strings.Contains(err.Error(), first.String()) {
		t.Errorf("second server on one address: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
