// SPDX-License-Identifier: Apache-2.0

// What the files survive: a crash at any byte, and any flipped bit.

package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/zookeeper/jute"
	"github.com/gust-stream/gust/zookeeper/tree"
)

// lazyFile leaves out what only matters when a machine crashes, for tests that make
// thousands of stores.
type lazyFile struct{ logFile }

func (lazyFile) Sync() error { return nil }

func openLazy(path string, flag int) (logFile, error) {
	f, err := openOSFile(path, flag)
	return lazyFile{f}, err
}

func open1(t *testing.T, dir string) *store {
	t.Helper()
	s, err := openStore(dir, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	s.opener = openLazy
	return s
}

func closeStore(t *testing.T, s *store, r recovered) {
	t.Helper()
	if err := errors.Join(r.log.finish(), s.close()); err != nil {
		t.Fatal(err)
	}
}

// image prints a tree: sessions, znodes, data and stats.
func image(tr *tree.Tree) string {
	var out strings.Builder
	fmt.Fprintf(&out, "zxid %d sessions %v\n", tr.Zxid(), tr.Sessions())
	super := &tree.Client{Auth: []jute.ID{{Scheme: tree.SchemeSuper}}}
	var walk func(path string)
	walk = func(path string) {
		data, st, _ := tr.GetData(super, path, false)
		acl, _, _ := tr.GetACL(super, path)
		fmt.Fprintf(&out, "%s %q %+v %v\n", path, data, st, acl)
		names, _, _ := tr.GetChildren(super, path, false)
		for _, n := range names {
			walk(strings.TrimSuffix(path, "/") + "/" + n)
		}
	}
	walk("/")
	return out.String()
}

// step is one batch: what it does to the tree, appended to a log frame.
type step func(t *tree.Tree, frame []byte) []byte

func steps() []step {
	c := &tree.Client{ID: 1, Session: 7}
	world := []jute.ACL{{Perms: jute.PermAll, ID: jute.ID{Scheme: "world", ID: "anyone"}}}
	write := func(w jute.Write) step {
		return func(t *tree.Tree, frame []byte) []byte {
			_, frame = t.Write(c, 1000, w, frame)
			return frame
		}
	}
	create := func(path, data string, flags int32) step {
		return write(jute.Write{Op: jute.OpCreate, Path: path, Data: []byte(data), Flags: flags, ACL: world, TTL: -1})
	}
	set := func(path, data string) step {
		return write(jute.Write{Op: jute.OpSetData, Path: path, Data: []byte(data), Version: -1})
	}
	several := func(parts ...step) step {
		return func(t *tree.Tree, frame []byte) []byte {
			for _, p := range parts {
				frame = p(t, frame)
			}
			return frame
		}
	}
	return []step{
		func(t *tree.Tree, frame []byte) []byte { return t.OpenSession(7, 4000, 1000, frame) },
		create("/a", "one", 0),
		several(create("/e", "", 1), create("/a/s", "x", 2), set("/a", strings.Repeat("z", 600))), // group commit; over a disk's sector
		set("/a", strings.Repeat("\x00", 700)),
		func(t *tree.Tree, frame []byte) []byte {
			_, frame, _ = t.Multi(c, 1000, []jute.Write{
				{Op: jute.OpCreate, Path: "/m", ACL: world, TTL: -1}, {Op: jute.OpDelete, Path: "/a/s0000000000", Version: -1},
			}, frame)
			return frame
		},
		write(jute.Write{Op: jute.OpSetACL, Path: "/m", ACL: []jute.ACL{{Perms: 1, ID: world[0].ID}}, Version: -1}),
		func(t *tree.Tree, frame []byte) []byte { return t.CloseSession(7, 1000, frame) },
		func(t *tree.Tree, frame []byte) []byte { return t.OpenSession(8, 4000, 1000, frame) },
	}
}

// history is a log as steps make it: where each frame ends and the state there.
type history struct {
	log    []byte
	marks  [][]byte
	ends   []int
	images []string
	store  []byte
}

func record(t *testing.T) history {
	t.Helper()
	dir := t.TempDir()
	s := open1(t, dir)
	r, err := s.recover()
	if err != nil {
		t.Fatal(err)
	}
	h := history{ends: []int{fileHeader}, images: []string{image(r.tree)}, marks: [][]byte{nil}}
	for _, do := range steps() {
		frame := do(r.tree, make([]byte, frameHeader))
		if err := r.log.write(frame, r.tree.Zxid(), 0); err != nil {
			t.Fatal(err)
		}
		m, err := os.ReadFile(filepath.Join(dir, markName))
		if err != nil {
			t.Fatal(err)
		}
		h.marks = append(h.marks, m)
		h.ends = append(h.ends, int(r.log.off))
		h.images = append(h.images, image(r.tree))
	}
	closeStore(t, s, r)
	if h.log, err = os.ReadFile(filepath.Join(dir, logName(1))); err != nil {
		t.Fatal(err)
	}
	if h.store, err = os.ReadFile(filepath.Join(dir, storeName)); err != nil {
		t.Fatal(err)
	}
	return h
}

// lay makes a directory with this log and mark.
func (h history) lay(t *testing.T, dir string, log, mark []byte) {
	t.Helper()
	for name, b := range map[string][]byte{storeName: h.store, logName(1): log, markName: mark} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// last is the newest frame that ends at or before off.
func (h history) last(off int) int {
	k := 0
	for k+1 < len(h.ends) && h.ends[k+1] <= off {
		k++
	}
	return k
}

// checkRecovered opens dir, wants state k, goes on writing and opens it again.
func (h history) checkRecovered(t *testing.T, dir string, k int, what string) {
	t.Helper()
	s := open1(t, dir)
	r, err := s.recover()
	if err != nil {
		t.Fatalf("%s: %v", what, errors.Join(err, s.close()))
	}
	if diff := cmp.Diff(h.images[k], image(r.tree)); diff != "" || r.lost != 0 {
		t.Fatalf("%s: not state %d (lost %d):\n%s", what, k, r.lost, diff)
	}
	frame := r.tree.OpenSession(99, 4000, 0, make([]byte, frameHeader))
	if err := r.log.write(frame, r.tree.Zxid(), 0); err != nil {
		t.Fatal(err)
	}
	want := image(r.tree)
	closeStore(t, s, r)
	s = open1(t, dir)
	if r, err = s.recover(); err != nil {
		t.Fatalf("%s: after going on: %v", what, err)
	}
	if diff := cmp.Diff(want, image(r.tree)); diff != "" {
		t.Fatalf("%s: after going on:\n%s", what, diff)
	}
	closeStore(t, s, r)
}

// TestCrashAtEveryByte cuts the log everywhere. What was acknowledged (the frames
// before the cut) is there, and nothing else is.
func TestCrashAtEveryByte(t *testing.T) {
	t.Parallel()
	h := record(t)
	dir := t.TempDir()
	for cut := range len(h.log) + 1 {
		k := h.last(cut)
		h.lay(t, dir, h.log[:cut], h.marks[k])
		h.checkRecovered(t, dir, k, fmt.Sprintf("cut at %d", cut))
	}
}

// TestCrashWithinPreallocatedSpace leaves zeros, or the frame's parts in the wrong
// order, where the last frame was being written.
func TestCrashWithinPreallocatedSpace(t *testing.T) {
	t.Parallel()
	h := record(t)
	dir := t.TempDir()
	for k := range len(h.ends) - 1 {
		start, end := h.ends[k], h.ends[k+1]
		for _, from := range []int{start, start + 1, start + frameHeader, (start + end) / 2, end - 1} {
			for _, fill := range []byte{0, 0xa5} {
				log := make([]byte, len(h.log)+4096)
				copy(log, h.log[:end])
				for i := from; i < end; i++ {
					log[i] = fill
				}
				if from == end-1 && log[from] == h.log[from] {
					continue // nothing is broken
				}
				h.lay(t, dir, log, h.marks[k])
				h.checkRecovered(t, dir, k, fmt.Sprintf("frame %d filled with %x from %d", k, fill, from))
			}
		}
		log := make([]byte, len(h.log)+4096)
		copy(log, h.log[:end])
		clear(log[start : start+frameHeader])
		h.lay(t, dir, log, h.marks[k])
		h.checkRecovered(t, dir, k, fmt.Sprintf("frame %d without header", k))
	}
}

// TestMachineCrashWithOldMark has a mark that is behind the log, or none.
func TestMachineCrashWithOldMark(t *testing.T) {
	t.Parallel()
	h := record(t)
	dir := t.TempDir()
	for _, m := range [][]byte{nil, h.marks[1], []byte("torn")} {
		h.lay(t, dir, h.log, m)
		h.checkRecovered(t, dir, len(h.ends)-1, "old mark")
		h.lay(t, dir, h.log[:len(h.log)-1], m)
		h.checkRecovered(t, dir, len(h.ends)-2, "old mark and torn end")
	}
}

// TestFlippedBits refuses every log in which any bit of what was acknowledged is
// wrong, and says where.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	h := record(t)
	dir := t.TempDir()
	newest := len(h.marks) - 1
	for at := range len(h.log) {
		for _, m := range [][]byte{h.marks[newest], nil} {
			if m == nil && at >= h.ends[newest-1] {
				continue // without a mark the last frame cannot be told from an unfinished one
			}
			log := append([]byte(nil), h.log...)
			log[at] ^= 1 << (at % 8)
			h.lay(t, dir, log, m)
			s := open1(t, dir)
			_, err := s.recover()
			corrupt, ok := errors.AsType[*CorruptError](err)
			_, newer := errors.AsType[*newerError](err)
			if !ok && !newer {
				t.Fatalf("byte %d: %v", at, err)
			}
			if want := h.ends[h.last(at)]; ok && at >= fileHeader && (int(corrupt.Offset) != want || filepath.Base(corrupt.File) != logName(1)) {
				t.Fatalf("byte %d is in the frame at %d: %v", at, want, err)
			}
			if err := s.close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestBlankLogs are left by a rotation that failed; the log before goes on, and may
// have an unfinished end.
func TestBlankLogs(t *testing.T) {
	t.Parallel()
	h := record(t)
	for name, blank := range map[string][]byte{
		"Empty": {}, "HalfHeader": newFileHeader(logMagic, 50)[:20], "Header": newFileHeader(logMagic, 50),
		"Preallocated": append(newFileHeader(logMagic, 50), make([]byte, 5000)...), "Zeros": make([]byte, 5000),
	} {
		dir := t.TempDir()
		k := len(h.ends) - 2
		h.lay(t, dir, h.log[:len(h.log)-3], h.marks[k])
		if err := os.WriteFile(filepath.Join(dir, logName(50)), blank, 0o600); err != nil {
			t.Fatal(err)
		}
		h.checkRecovered(t, dir, k, name)
	}
}

// TestLogCutBelowAcknowledged takes what is left, and goes on with a zxid behind what
// clients have seen.
func TestLogCutBelowAcknowledged(t *testing.T) {
	t.Parallel()
	h := record(t)
	dir := t.TempDir()
	newest := len(h.ends) - 1
	h.lay(t, dir, h.log[:h.ends[3]+5], h.marks[newest])
	s := open1(t, dir)
	r, err := s.recover()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h.images[3], image(r.tree)); diff != "" {
		t.Error(diff)
	}
	m := readMark(h.marks[newest])
	if r.lost != m.zxid {
		t.Errorf("lost %d, clients have seen %d", r.lost, m.zxid)
	}
	closeStore(t, s, r)
}

// TestSnapshotsReplaceLogs rotates, prunes, recovers, and refuses damage.
func TestSnapshotsReplaceLogs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open1(t, dir)
	r, err := s.recover()
	if err != nil {
		t.Fatal(err)
	}
	write := func(do step) {
		if err := r.log.write(do(r.tree, make([]byte, frameHeader)), r.tree.Zxid(), 0); err != nil {
			t.Fatal(err)
		}
	}
	all := steps()
	for _, do := range all[:4] {
		write(do)
	}
	zxid := r.tree.BeginSnapshot()
	if err := r.log.create(zxid + 1); err != nil {
		t.Fatal(err)
	}
	for _, do := range all[4:] {
		write(do)
	}
	chunks := make(chan []byte, 100)
	for done := false; !done; {
		var chunk []byte
		chunk, done = r.tree.NextSnapshot(100)
		chunks <- chunk
	}
	close(chunks)
	if err := s.saveSnapshot(zxid, chunks, nil); err != nil {
		t.Fatal(err)
	}
	want := image(r.tree)
	closeStore(t, s, r)
	f, err := s.list()
	if diff := cmp.Diff(files{logs: []int64{zxid + 1}, snaps: []int64{zxid}}, f, cmp.AllowUnexported(files{})); err != nil || diff != "" {
		t.Errorf("files: %v %s", err, diff)
	}
	s = open1(t, dir)
	if r, err = s.recover(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, image(r.tree)); diff != "" {
		t.Error(diff)
	}
	closeStore(t, s, r)

	path := filepath.Join(dir, snapName(zxid))
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s := open1(t, dir)
		_, err := s.recover()
		if _, ok := errors.AsType[*CorruptError](err); !ok {
			if _, ok := errors.AsType[*newerError](err); !ok {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
	}
	for at := range good {
		b := append([]byte(nil), good...)
		b[at] ^= 1 << (at % 8)
		refused(fmt.Sprintf("flipped bit in byte %d", at), b)
		refused(fmt.Sprintf("cut at %d", at), good[:at])
	}
}

func TestStoreRefusals(t *testing.T) {
	t.Parallel()
	h := record(t)
	cases := map[string]struct {
		spoil func(dir string) error
		want  string
	}{
		"NewerStore": {func(dir string) error {
			b := append([]byte(nil), h.store...)
			b[11] = formatVersion + 1
			return os.WriteFile(filepath.Join(dir, storeName), b, 0o600)
		}, "format version 2 is newer than this build's 1"},
		"NewerLog": {func(dir string) error {
			b := append([]byte(nil), h.log...)
			b[11] = formatVersion + 1
			return os.WriteFile(filepath.Join(dir, logName(1)), b, 0o600)
		}, "format version 2 is newer than this build's 1"},
		"NoIdentity":  {func(dir string) error { return os.Remove(filepath.Join(dir, storeName)) }, "there are logs or snapshots beside it"},
		"BadIdentity": {func(dir string) error { return os.WriteFile(filepath.Join(dir, storeName), h.store[:50], 0o600) }, "wrong length or checksum"},
		"NoLog":       {func(dir string) error { return os.Remove(filepath.Join(dir, logName(1))) }, "it is missing"},
		"GapInLogs": {func(dir string) error {
			return os.Rename(filepath.Join(dir, logName(1)), filepath.Join(dir, logName(2)))
		}, "it is missing"},
		"RenamedLog": {func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, markName)), os.Rename(filepath.Join(dir, logName(1)), filepath.Join(dir, logName(2))))
		}, "header is that of"},
		"DamagedOldLog": {func(dir string) error {
			frame := append(make([]byte, frameHeader), 1, 2, 3)
			putFrameHeader(frame, 50)
			next := append(newFileHeader(logMagic, 50), frame...)
			if err := os.WriteFile(filepath.Join(dir, logName(50)), next, 0o600); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, logName(1)), h.log[:len(h.log)-1], 0o600)
		}, "a later log exists"},
		"ZerosInTheMiddle": {func(dir string) error {
			b := append([]byte(nil), h.log...)
			clear(b[h.ends[2]:])
			return os.WriteFile(filepath.Join(dir, logName(1)), b, 0o600)
		}, "overwritten by zeros"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			h.lay(t, dir, h.log, h.marks[len(h.marks)-1])
			if err := c.spoil(dir); err != nil {
				t.Fatal(err)
			}
			s, err := openStore(dir, zap.NewNop())
			if err == nil {
				s.opener = openLazy
				_, err = s.recover()
				if err := s.close(); err != nil {
					t.Fatal(err)
				}
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("%v; want %q with the file's path", err, c.want)
			}
		})
	}
}

func TestOneServerPerDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open1(t, dir)
	if _, err := openStore(dir, zap.NewNop()); err == nil || !strings.Contains(err.Error(), "is in use by another server") {
		t.Errorf("second: %v", err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	s, err := openStore(dir, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{storeName, markName, lockName} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, st, err)
		}
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
}
