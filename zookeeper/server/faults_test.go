// SPDX-License-Identifier: Apache-2.0

// Disks that are full or fail, and clocks that are wrong.

package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// faultyDisk makes log files that fail when told to.
type faultyDisk struct {
	full     atomic.Bool // no more space
	noAlloc  bool        // a file system without preallocation
	badSyncs atomic.Int32
	syncs    atomic.Int64
}

type faultyFile struct {
	logFile
	d    *faultyDisk
	mu   sync.Mutex
	size int64
}

func (d *faultyDisk) open(path string, flag int) (logFile, error) {
	f, err := openOSFile(path, flag)
	if err != nil {
		return nil, err
	}
	return &faultyFile{logFile: f, d: d}, nil
}

func (f *faultyFile) Allocate(size int64) error {
	if f.d.noAlloc {
		return syscall.EOPNOTSUPP
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.d.full.Load() && size > f.size {
		return syscall.ENOSPC
	}
	f.size = max(f.size, size)
	return f.logFile.Allocate(size)
}

func (f *faultyFile) WriteAt(b []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.d.full.Load() && off+int64(len(b)) > f.size {
		n, _ := f.logFile.WriteAt(b[:len(b)/2], off) // a full disk may take a part
		return n, syscall.ENOSPC
	}
	return f.logFile.WriteAt(b, off)
}

func (f *faultyFile) Sync() error {
	f.d.syncs.Add(1)
	if f.d.badSyncs.Add(-1) >= 0 {
		return syscall.EIO
	}
	return f.logFile.Sync()
}

func faulty(d *faultyDisk) func(*Server) { return func(s *Server) { s.opener = d.open } }

// eventually waits for f to hold.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	deadline := time.After(wait)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !f() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

// fill creates znodes until one is refused, and returns those acknowledged.
func fill(t *testing.T, c *zk.Conn, prefix string) []string {
	t.Helper()
	var acked []string
	for i := range 10000 {
		path := fmt.Sprintf("/%s%d", prefix, i)
		if _, err := c.Create(path, make([]byte, 10000), 0, open); err != nil {
			return acked
		}
		acked = append(acked, path)
	}
	t.Fatal("the disk never gets full")
	return nil
}

func allThere(t *testing.T, c *zk.Conn, paths []string) {
	t.Helper()
	for _, p := range paths {
		if ok, _, err := c.Exists(p); err != nil || !ok {
			t.Fatalf("%s was acknowledged: %v %v", p, ok, err)
		}
	}
}

// TestFullDisk refuses writes, goes on answering reads on the same connections, loses
// nothing that was acknowledged, and writes again when there is space.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	d := &faultyDisk{}
	dir := t.TempDir()
	s := start(t, dir, nil, faulty(d))
	c, _ := connect(t, s.addr, 20*time.Second)
	session := c.SessionID()
	d.full.Store(true)
	acked := fill(t, c, "a")
	if len(acked) == 0 {
		t.Fatal("nothing fitted into what was preallocated")
	}
	allThere(t, c, acked)
	if _, err := c.Create("/again", make([]byte, 10000), 0, open); err == nil {
		t.Error("full disk takes a write")
	}
	if ok, _, err := c.Exists("/again"); ok || err != nil {
		t.Errorf("refused write happened: %v %v", ok, err)
	}
	if c.SessionID() != session || c.State() != zk.StateHasSession {
		t.Error("the connection was lost")
	}
	d.full.Store(false)
	if _, err := c.Create("/again", make([]byte, 10000), 0, open); err != nil {
		t.Errorf("with space again: %v", err)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	s2 := start(t, dir, nil)
	c2, _ := connect(t, s2.addr, 20*time.Second)
	allThere(t, c2, append(acked, "/again"))
}

// TestFullDiskWithoutPreallocation finds out only when it writes. Connections are
// dropped, nothing half written is seen, and clients come back.
func TestFullDiskWithoutPreallocation(t *testing.T) {
	t.Parallel()
	d := &faultyDisk{noAlloc: true}
	dir := t.TempDir()
	s := start(t, dir, nil, faulty(d))
	c, _ := connect(t, s.addr, 20*time.Second)
	if _, err := c.Create("/before", nil, 0, open); err != nil {
		t.Fatal(err)
	}
	session := c.SessionID()
	d.full.Store(true)
	if _, err := c.Create("/lost", nil, 0, open); err == nil {
		t.Error("acknowledged")
	}
	eventually(t, "reads are answered though the disk is full", func() bool {
		ok, _, err := c.Exists("/before")
		return ok && err == nil
	})
	if ok, _, err := c.Exists("/lost"); err == nil && ok {
		t.Error("a write that was not acknowledged is visible though it is not durable")
	}
	d.full.Store(false)
	eventually(t, "writes work again", func() bool {
		_, err := c.Create("/after", nil, 0, open)
		return err == nil || errors.Is(err, zk.ErrNodeExists)
	})
	if c.SessionID() != session {
		t.Error("the session was lost")
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	s2 := start(t, dir, nil)
	c2, _ := connect(t, s2.addr, 20*time.Second)
	allThere(t, c2, []string{"/before", "/after"})
}

// TestFailedSync never acknowledges what it could not sync.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	d := &faultyDisk{}
	s := start(t, t.TempDir(), nil, faulty(d))
	c, _ := connect(t, s.addr, 20*time.Second)
	if _, err := c.Create("/a", nil, 0, open); err != nil {
		t.Fatal(err)
	}
	d.badSyncs.Store(1)
	if _, err := c.Create("/b", nil, 0, open); err == nil {
		t.Error("acknowledged without a sync")
	}
	eventually(t, "the server is back", func() bool {
		_, err := c.Set("/a", nil, -1)
		return err == nil
	})
}

// TestGroupCommit shares syncs between requests that arrive together.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	d := &faultyDisk{}
	s := start(t, t.TempDir(), nil, faulty(d))
	c, _ := connect(t, s.addr, 20*time.Second)
	before := d.syncs.Load()
	const writers, each = 50, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if _, err := c.Create(fmt.Sprintf("/w%d-%d", w, i), nil, 0, open); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := d.syncs.Load() - before; n > writers*each/4 {
		t.Errorf("%d syncs for %d writes of %d clients", n, writers*each, writers)
	}
}

// TestSnapshotsUnderLoad rotates logs while clients write, and prunes what is old.
func TestSnapshotsUnderLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	change := func(c *Config) { c.SnapshotBytes = 64 << 10 }
	s := start(t, dir, change)
	c, _ := connect(t, s.addr, 20*time.Second)
	var acked []string
	for i := range 400 {
		p, err := c.Create(fmt.Sprintf("/n%d", i), make([]byte, 2000), 0, open)
		if err != nil {
			t.Fatal(err)
		}
		acked = append(acked, p)
		if i%3 == 2 {
			if err := c.Delete(acked[0], -1); err != nil {
				t.Fatal(err)
			}
			acked = acked[1:]
		}
	}
	eventually(t, "old logs are deleted", func() bool {
		logs, _ := filepath.Glob(filepath.Join(dir, "log.*"))
		snaps, _ := filepath.Glob(filepath.Join(dir, "snap.*"))
		return len(logs) <= 2 && len(snaps) == 1
	})
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	s2 := start(t, dir, change)
	c2, _ := connect(t, s2.addr, 20*time.Second)
	allThere(t, c2, acked)
	if names, _, err := c2.Children("/"); err != nil || len(names) != len(acked)+1 {
		t.Errorf("%d children, %d acknowledged and zookeeper: %v", len(names), len(acked), err)
	}
}

// TestClockSetBack expires sessions by time that passed, whatever the clock on the
// wall says.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	var offset, passed atomic.Int64
	s := start(t, t.TempDir(), func(c *Config) { c.TickTime = 20 * time.Millisecond; c.MaxSessionTimeout = time.Minute }, func(s *Server) {
		s.wall = func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
		s.mono = func() time.Duration { return time.Duration(passed.Load()) }
	})
	raw := dialRaw(t, s.addr)
	raw.hello(30000)
	offset.Store(int64(-5 * time.Hour))
	raw.create("/e")
	offset.Store(int64(5 * time.Hour)) // and ahead
	watcher, _ := connect(t, s.addr, 30*time.Second)
	if ok, _, err := watcher.Exists("/e"); err != nil || !ok {
		t.Fatalf("a step of the clock expired a session: %v %v", ok, err)
	}
	eventually(t, "time passes and the session expires", func() bool {
		passed.Add(int64(20 * time.Millisecond))
		ok, _, err := watcher.Exists("/e")
		return err == nil && !ok
	})
	if gone := time.Duration(passed.Load()); gone < 30*time.Second {
		t.Errorf("expired after %v", gone)
	}
}

// TestRestartKeepsSessions resumes a session with the next server on the directory.
func TestRestartKeepsSessions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir, func(cfg *Config) { cfg.Addr = restartable })
	c, events := connect(t, s.addr, 20*time.Second)
	if _, err := c.Create("/e", []byte("x"), zk.FlagEphemeral, open); err != nil {
		t.Fatal(err)
	}
	_, _, changed, err := c.GetW("/e")
	if err != nil {
		t.Fatal(err)
	}
	id := c.SessionID()
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	start(t, dir, func(cfg *Config) { cfg.Addr = s.addr })
	deadline := time.After(wait)
	for back := false; !back; {
		select {
		case e := <-events:
			back = e.State == zk.StateHasSession
		case <-deadline:
			t.Fatal("no session after the restart")
		}
	}
	if c.SessionID() != id {
		t.Errorf("session %x became %x", id, c.SessionID())
	}
	if _, err := c.Set("/e", []byte("y"), -1); err != nil {
		t.Error(err)
	}
	select {
	case e := <-changed:
		if e.Type != zk.EventNodeDataChanged {
			t.Errorf("event %+v", e)
		}
	case <-deadline:
		t.Error("the watch did not come along")
	}
}

func TestRunRefusesDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir, nil)
	c, _ := connect(t, s.addr, 20*time.Second)
	for i := range 3 {
		if _, err := c.Create(fmt.Sprintf("/n%d", i), nil, 0, open); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, logName(1))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[fileHeader+frameHeader+5] ^= 4
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	bad, err := New(Config{Addr: "127.0.0.1:0", Dir: dir}, s.log)
	if err != nil {
		t.Fatal(err)
	}
	err = bad.Run(t.Context())
	corrupt, ok := errors.AsType[*CorruptError](err)
	if !ok || corrupt.File != path || corrupt.Offset != fileHeader {
		t.Errorf("run: %v", err)
	}
}
