// SPDX-License-Identifier: Apache-2.0

// Any bytes as requests, without a socket in between.

package server

import (
	"net"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/zookeeper/jute"
	"github.com/gust-stream/gust/zookeeper/tree"
)

// FuzzRequest sends frames to an engine whose connection has a session. Every frame
// gets exactly one answer or ends the connection, and the tree's log stays replayable.
func FuzzRequest(f *testing.F) {
	world := []jute.ACL{{Perms: jute.PermAll, ID: jute.ID{Scheme: "world", ID: "anyone"}}}
	for _, op := range []jute.Op{jute.OpCreate, jute.OpCreate2, jute.OpCreateTTL, jute.OpDelete, jute.OpSetData, jute.OpSetACL, jute.OpCheck} {
		w := jute.Write{Op: op, Path: "/a", Data: []byte("x"), ACL: world, Version: -1}
		f.Add(requestFrame(1, op, w.Append(nil)), requestFrame(2, op, w.Append(nil)))
	}
	for op := jute.Op(1); op < 110; op++ {
		f.Add(requestFrame(1, op, jute.AppendInt(jute.AppendString(nil, "/a"), 1)), []byte{0})
	}
	multi := jute.AppendMultiHeader(nil, jute.OpCreate, false, -1)
	multi = jute.Write{Op: jute.OpCreate, Path: "/m", ACL: world}.Append(multi)
	multi = jute.AppendMultiHeader(multi, jute.OpError, true, -1)
	f.Add(requestFrame(1, jute.OpMulti, multi), requestFrame(2, jute.OpMultiRead, multi))
	f.Add(requestFrame(1, jute.OpAuth, jute.AppendBuffer(jute.AppendString(jute.AppendInt(nil, 0), "digest"), []byte("a:b"))), []byte{})
	f.Add(requestFrame(-8, jute.OpSetWatches2, make([]byte, 28)), requestFrame(1, jute.OpCloseSession, nil))

	dir := f.TempDir()
	st, err := openStore(dir, zap.NewNop())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := st.close(); err != nil {
			f.Error(err)
		}
	})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		s, err := New(Config{Addr: "unused:0", Dir: dir}, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		near, far := net.Pipe()
		defer func() { _, _ = near.Close(), far.Close() }()
		c := newConn(s, near, 1)
		e := newEngine(s, st, recovered{tree: tree.New(), log: &logWriter{f: lazyFile{}, off: fileHeader}})
		e.handle(request{c: c, kind: kindHello, frame: helloFrame(4000, 0, make([]byte, 16))})
		if c.client == nil {
			t.Fatal("no session")
		}
		for _, frame := range [][]byte{first, second} {
			answers := 0
			before := len(e.cur.sends)
			alive := !c.isClosed() && e.sessions[c.client.Session] != nil
			e.handle(request{c: c, kind: kindFrame, frame: frame})
			for _, s := range e.cur.sends[before:] {
				answers += s.answers
			}
			if want := 1; alive && answers != want && !c.isClosed() {
				t.Fatalf("%d answers and an open connection", answers)
			}
		}
		e.tick()
		fresh := tree.New()
		if err := fresh.Replay(e.cur.log[frameHeader:]); err != nil {
			t.Fatalf("log cannot be replayed: %v", err)
		}
		if got, want := image(fresh), image(e.tree); got != want {
			t.Fatalf("replay gives\n%s, not\n%s", got, want)
		}
		if e.promised != 0 {
			t.Errorf("%d bytes of log stay promised", e.promised)
		}
	})
}

// FuzzHello sends any first frame.
func FuzzHello(f *testing.F) {
	f.Add(helloFrame(4000, 0, make([]byte, 16)))
	f.Add(helloFrame(-1, 5, nil))
	f.Add([]byte{})
	dir := f.TempDir()
	st := &store{dir: dir, log: zap.NewNop(), secret: make([]byte, secretSize)}
	f.Fuzz(func(t *testing.T, frame []byte) {
		s, err := New(Config{Addr: "unused:0", Dir: dir}, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		near, far := net.Pipe()
		defer func() { _, _ = near.Close(), far.Close() }()
		c := newConn(s, near, 1)
		e := newEngine(s, st, recovered{tree: tree.New(), log: &logWriter{f: lazyFile{}, off: fileHeader}})
		e.handle(request{c: c, kind: kindHello, frame: frame})
		if !c.isClosed() && len(e.cur.sends) != 1 {
			t.Errorf("%d answers and an open connection", len(e.cur.sends))
		}
		if c.client != nil && (c.timeout < 4*time.Second || c.timeout > 40*time.Second) {
			t.Errorf("timeout %v", c.timeout)
		}
	})
}

// FuzzReadFrame reads any bytes as a log.
func FuzzReadFrame(f *testing.F) {
	frame := append(make([]byte, frameHeader), "payload"...)
	putFrameHeader(frame, 1)
	f.Add(frame)
	f.Add(frame[:len(frame)-1])
	f.Fuzz(func(t *testing.T, b []byte) {
		payload, size, fault := readFrame(b)
		if fault == frameOK && (size > len(b) || len(payload) != size-frameHeader) {
			t.Errorf("size %d of %d", size, len(b))
		}
		findFrame(b)
	})
}
