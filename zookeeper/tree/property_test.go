// SPDX-License-Identifier: Apache-2.0

// Properties that hold for every run of changes.

package tree

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gust-stream/gust/zookeeper/jute"
)

func drawWrite(t *rapid.T) jute.Write {
	names := rapid.SampledFrom([]string{"/a", "/b", "/a/a", "/a/b", "/b/a", "/a/a/a", "/zookeeper/q", "/x/y", "bad"})
	w := jute.Write{
		Op:      rapid.SampledFrom([]jute.Op{jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpDelete, jute.OpSetData, jute.OpSetACL, jute.OpCheck}).Draw(t, "op"),
		Path:    names.Draw(t, "path"),
		Version: rapid.SampledFrom([]int32{-1, -1, 0, 1}).Draw(t, "version"),
		TTL:     -1,
	}
	if rapid.Bool().Draw(t, "data") {
		w.Data = []byte(rapid.SampledFrom([]string{"", "x", "yy"}).Draw(t, "bytes"))
	}
	w.Flags = rapid.SampledFrom([]int32{0, 0, 1, 2, 3}).Draw(t, "flags")
	w.ACL = rapid.SampledFrom([][]jute.ACL{
		{{Perms: 31, ID: anyone()}},
		{{Perms: 31, ID: anyone()}, {Perms: 1, ID: jute.ID{Scheme: "digest", ID: "a:b"}}},
	}).Draw(t, "acl")
	return w
}

// TestReplayAndSnapshotGiveTheSameTree takes snapshots at random moments, in random
// pieces, while random changes go on.
func TestReplayAndSnapshotGiveTheSameTree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tr := New()
		var log, records []byte
		var atSnapshot string
		var logAfter int
		running, taken := false, false
		clients := []*Client{{ID: 1, Session: 1}, {ID: 2, Session: 2}}
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			c := clients[rapid.IntRange(0, 1).Draw(t, "client")]
			now := int64(i)
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				if tr.HasSession(c.Session) {
					log = tr.CloseSession(c.Session, now, log)
				} else {
					log = tr.OpenSession(c.Session, 4000, now, log)
				}
			case 1:
				if !taken && !running {
					tr.BeginSnapshot()
					running, atSnapshot, logAfter = true, dump(tr), len(log)
				}
			case 2, 3:
				if running {
					var done bool
					var more []byte
					more, done = tr.NextSnapshot(rapid.IntRange(1, 300).Draw(t, "size"))
					records = append(records, more...)
					running, taken = !done, done
				}
			case 4:
				ws := make([]jute.Write, rapid.IntRange(0, 5).Draw(t, "parts"))
				for j := range ws {
					for ws[j] = drawWrite(t); ws[j].Op == jute.OpSetACL; ws[j] = drawWrite(t) { // a multi has none
					}
				}
				before := dump(tr)
				var ok bool
				_, log, ok = tr.Multi(c, now, ws, log)
				if diff := cmp.Diff(before, dump(tr)); !ok && diff != "" {
					t.Fatalf("a multi that failed left traces:\n%s", diff)
				}
			default:
				_, log = tr.Write(c, now, drawWrite(t), log)
			}
		}
		want := dump(tr)
		fresh := New()
		if err := fresh.Replay(log); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, dump(fresh)); diff != "" {
			t.Fatalf("replay differs:\n%s", diff)
		}
		if !taken {
			return
		}
		l := NewLoader()
		if err := l.Add(records); err != nil {
			t.Fatal(err)
		}
		loaded, err := l.Tree()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(atSnapshot, dump(loaded)); diff != "" {
			t.Fatalf("snapshot differs from its moment:\n%s", diff)
		}
		// From the snapshot on, once with only what is new and once with all.
		for _, tail := range [][]byte{log[logAfter:], log} {
			if err := loaded.Replay(tail); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, dump(loaded)); diff != "" {
				t.Fatalf("snapshot and replay differ:\n%s", diff)
			}
		}
	})
}

func TestReplayRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	good := func() (*Tree, []byte) {
		tr := New()
		log := tr.OpenSession(1, 4000, 0, nil)
		_, log = tr.Write(&Client{Session: 1}, 0, jute.Write{Op: jute.OpCreate, Path: "/a", ACL: []jute.ACL{{Perms: 31, ID: anyone()}}}, log)
		return tr, log
	}
	cases := map[string]func(log []byte) []byte{
		"Cut":         func(log []byte) []byte { return log[:len(log)-1] },
		"UnknownKind": func(log []byte) []byte { return append(log, append([]byte{9}, make([]byte, 24)...)...) },
		"Gap": func(log []byte) []byte {
			return appendTxn(log, txnOpen, 9, 0, 2)
		},
		"CreateTwice": func(log []byte) []byte {
			log = appendTxn(log, txnChange, 3, 0, 1)
			return append(appendChange(log, change{op: jute.OpCreate, path: "/a"}), endChanges)
		},
		"CreateWithoutParent": func(log []byte) []byte {
			log = appendTxn(log, txnChange, 3, 0, 1)
			return append(appendChange(log, change{op: jute.OpCreate, path: "/b/c"}), endChanges)
		},
		"CreateForNobody": func(log []byte) []byte {
			log = appendTxn(log, txnChange, 3, 0, 1)
			return append(appendChange(log, change{op: jute.OpCreate, path: "/b", owner: 77}), endChanges)
		},
		"DeleteNone": func(log []byte) []byte {
			log = appendTxn(log, txnChange, 3, 0, 1)
			return append(appendChange(log, change{op: jute.OpDelete, path: "/b"}), endChanges)
		},
		"DeleteRoot": func(log []byte) []byte {
			log = appendTxn(log, txnChange, 3, 0, 1)
			return append(appendChange(log, change{op: jute.OpDelete, path: "/"}), endChanges)
		},
		"SetNone": func(log []byte) []byte {
			log = appendTxn(log, txnChange, 3, 0, 1)
			return append(appendChange(log, change{op: jute.OpSetData, path: "/b"}), endChanges)
		},
		"UnknownChange": func(log []byte) []byte {
			log = appendTxn(log, txnChange, 3, 0, 1)
			return append(appendChange(log, change{op: 99, path: "/a"}), endChanges)
		},
		"CloseUnknown": func(log []byte) []byte { return appendTxn(log, txnClose, 3, 0, 5) },
	}
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, log := good()
			if err := New().Replay(spoil(log)); err == nil {
				t.Error("taken")
			}
		})
	}
}

// TestSkipTo makes clients of a lost future welcome again.
func TestSkipTo(t *testing.T) {
	t.Parallel()
	tr := New()
	log := tr.SkipTo(77, 0, nil)
	log = tr.OpenSession(1, 4000, 0, log)
	log = tr.SkipTo(5, 0, log)
	if tr.Zxid() != 78 {
		t.Errorf("zxid %d", tr.Zxid())
	}
	fresh := New()
	if err := fresh.Replay(log); err != nil || dump(fresh) != dump(tr) {
		t.Errorf("replay: %v\n%s", err, dump(fresh))
	}
}

// TestWatchesAreBounded keeps one client from taking all memory.
func TestWatchesAreBounded(t *testing.T) {
	t.Parallel()
	tr, c := New(), &Client{ID: 1}
	var code jute.Code
	for i := 0; code != jute.ThrottledOp && i <= MaxWatches; i++ {
		_, code = tr.Exists(c, fmt.Sprintf("/%d", i), true)
	}
	if code != jute.ThrottledOp {
		t.Error("no bound")
	}
	tr.Forget(c)
	if n := len(tr.data.paths); n != 0 {
		t.Errorf("%d watches left", n)
	}
}

// TestWatchedBytesAreBounded counts long paths by their length, for one client and for all, and lets a client without
// watches have a few even when others have taken all there is.
func TestWatchedBytesAreBounded(t *testing.T) {
	t.Parallel()
	tr := New()
	const size = 1 << 20
	long := "/" + strings.Repeat("x", 2*size) // the paths are pieces of it, so that the test itself needs little memory
	var clients []*Client
	for id := range maxAllWatchBytes/maxWatchBytes + 1 {
		c := &Client{ID: uint64(id)}
		clients = append(clients, c)
		set := 0
		for ; set <= maxWatchBytes/size; set++ {
			if _, code := tr.Exists(c, long[:size+set], true); code == jute.ThrottledOp {
				break
			}
		}
		if bytes := set * size; bytes > maxWatchBytes {
			t.Fatalf("client %d watches %d bytes", id, bytes)
		}
	}
	if tr.watchBytes > maxAllWatchBytes {
		t.Errorf("all watch %d bytes", tr.watchBytes)
	}
	if _, code := tr.Exists(&Client{ID: 99}, "/short", true); code != jute.NoNode {
		t.Errorf("a client without watches gets none: %v", code)
	}
	for _, c := range clients {
		tr.Forget(c)
		if c.watchBytes != 0 {
			t.Errorf("client %d still counts %d bytes", c.ID, c.watchBytes)
		}
	}
}

// TestEventsAreBounded changes one path often in one multi, with many clients watching all of it.
func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	tr := New()
	c := &Client{ID: 1, Session: 1}
	tr.OpenSession(1, 4000, 0, nil)
	if r, _ := tr.Write(c, 0, jute.Write{Op: jute.OpCreate, Path: "/a", ACL: []jute.ACL{{Perms: 31, ID: anyone()}}, TTL: -1}, nil); r.Code != jute.OK {
		t.Fatal(r.Code)
	}
	const watchers = 200
	for id := range watchers {
		tr.AddWatch(&Client{ID: uint64(id + 2)}, "/a", jute.AddWatchPersistent)
	}
	ws := make([]jute.Write, 2*maxEventBytes/eventCost/watchers)
	for i := range ws {
		ws[i] = jute.Write{Op: jute.OpSetData, Path: "/a", Version: -1}
	}
	if _, _, ok := tr.Multi(c, 0, ws, nil); !ok {
		t.Fatal("multi failed")
	}
	events, overrun := tr.TakeEvents(), tr.TakeOverrun()
	if len(events) > maxEventBytes/eventCost || len(overrun) == 0 {
		t.Errorf("%d events for %d clients, %d missed some", len(events), watchers, len(overrun))
	}
	if len(tr.TakeEvents())+len(tr.TakeOverrun()) != 0 {
		t.Error("events come twice")
	}
}

func TestValidPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/": true, "/a": true, "/a/b": true, "/a.b": true, "/...": true, "/.a": true, "/ä/日本": true, "/a b": true,
		"": false, "a": false, "a/b": false, "/a/": false, "//": false, "/a//b": false, "/.": false, "/..": false, "/a/./b": false, "/a/../b": false,
		"/\x00": false, "/\x1f": false, "/\x7f": false, "/\u009f": false, "/\u00a0": true, "/\ue000": false, "/\uf8ff": false, "/\uf900": true,
		"/\uffef": true, "/\ufff0": false, "/😀": false, "/\xff": false,
	} {
		if got := validPath(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}
