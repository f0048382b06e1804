// SPDX-License-Identifier: Apache-2.0

package localizer

// Tests of bringing topologies to disk.

import (
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/config"
)

func withBlobs() config.Conf {
	return config.Conf{
		"topology.name": "wc", "n": int64(7),
		config.TopologyBlobstoreMap: map[string]any{
			"words.txt":  map[string]any{"localname": "words", "workerRestart": true},
			"stop.words": nil,
			"model.zip":  map[string]any{"localname": "model", "uncompress": true},
			"plain":      map[string]any{"uncompress": true},
		},
	}
}

func (n *nimbus) submitAll(t *testing.T) {
	t.Helper()
	c := code("2.8.3")
	c.DependencyJars = []string{"dep-b.jar", "dep-a.jar"}
	c.DependencyArtifacts = []string{"dep-x-1.jar"}
	n.submit(t, withBlobs(), c)
	for _, key := range []string{"words.txt", "stop.words", "plain", "dep-a.jar", "dep-b.jar", "dep-x-1.jar"} {
		n.put(key, []byte(key))
	}
	n.put("model.zip", jar(t, map[string]string{"m/weights": "1 2 3"}))
}

func TestLocalizeLayout(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.nimbus.submitAll(t)
	got := s.localize(t, 6700, nil)
	dir := s.layout.Topology(topologyID)
	want := &Topology{
		ID: topologyID, Conf: withBlobs(), Version: "2.8.3", Owner: owner, Dir: dir,
		Dependencies: []string{filepath.Join(dir, "dep-b.jar"), filepath.Join(dir, "dep-a.jar"), filepath.Join(dir, "dep-x-1.jar")},
		Links:        []string{"model", "plain", "stop.words", "words"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Localize: %s", diff)
	}
	wantTree := []string{
		"stormdist/", "stormdist/" + topologyID + "/",
		"tmp/", "usercache/", "usercache/alice/", "usercache/alice/filecache/",
	}
	for _, name := range []string{
		"dep-a.jar -> dep-a.jar.current", "dep-b.jar -> dep-b.jar.current", "dep-x-1.jar -> dep-x-1.jar.current",
		"model -> model.zip.current", "plain -> plain.current", "resources/", "resources/deep/", "resources/deep/x",
		"resources/split.py", "shared_by_topology/", "stop.words -> stop.words.current", "stormcode.ser",
		"stormcode.ser.version", "stormconf.ser", "stormconf.ser.version", "stormjar.jar", "stormjar.jar.version",
		"words -> words.txt.current",
	} {
		wantTree = append(wantTree, "stormdist/"+topologyID+"/"+name)
	}
	wantTree = append(wantTree, "usercache/alice/filecache/archives/", "usercache/alice/filecache/files/",
		"usercache/alice/filecache/archives/model.zip.1/", "usercache/alice/filecache/archives/model.zip.1/m/",
		"usercache/alice/filecache/archives/model.zip.1/m/weights")
	for _, blob := range []string{"archives/model.zip", "archives/plain", "files/dep-a.jar", "files/dep-b.jar", "files/dep-x-1.jar", "files/stop.words", "files/words.txt"} {
		base := filepath.Base(blob)
		if base != "model.zip" {
			wantTree = append(wantTree, "usercache/alice/filecache/"+blob+".1")
		}
		wantTree = append(wantTree, "usercache/alice/filecache/"+blob+".current -> "+base+".1", "usercache/alice/filecache/"+blob+".version")
	}
	less := cmp.Transformer("set", func(list []string) map[string]bool {
		set := map[string]bool{}
		for _, e := range list {
			set[e] = true
		}
		return set
	})
	if diff := cmp.Diff(wantTree, tree(t, s.layout.Supervisor()), less); diff != "" {
		t.Errorf("disk: %s", diff)
	}
	for path, text := range map[string]string{
		"stormjar.jar.version": "1", "words": "words.txt", "dep-x-1.jar": "dep-x-1.jar", "model/m/weights": "1 2 3",
		"resources/split.py": "print()", "plain": "plain",
	} {
		if c := content(t, dir, path); c != text {
			t.Errorf("%s holds %q", path, c)
		}
	}
	if c := content(t, s.layout.UserFiles(owner), "words.txt.version"); c != "1\n" {
		t.Errorf("version line is %q", c)
	}
	for path, mode := range map[string]fs.FileMode{"stormconf.ser": 0o600, "stormcode.ser": 0o600, "stormjar.jar": 0o640, "words": 0o600, ".": 0o750} {
		if info, err := os.Stat(filepath.Join(dir, path)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestLocalizeShares(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *Config) { c.Threads = 2 })
	s.nimbus.submitAll(t)
	var group sync.WaitGroup
	for port := range 8 {
		group.Go(func() {
			if _, err := s.Localize(t.Context(), request(port, nil)); err != nil {
				t.Errorf("Localize: %v", err)
			}
		})
	}
	group.Wait()
	for key, n := range s.nimbus.downloads {
		if n != 1 {
			t.Errorf("%s was downloaded %d times", key, n)
		}
	}
	if s.nimbus.most > 2 {
		t.Errorf("%d downloads at a time", s.nimbus.most)
	}
	for port := range 8 {
		s.Release(topologyID, port)
		s.Release(topologyID, port)
	}
	if len(s.blobs) != 0 || len(s.holds) != 0 {
		t.Errorf("after all releases: %v, %v", s.blobs, s.holds)
	}
	s.localize(t, 1, nil)
	if n := s.nimbus.count(topologyID + "-stormjar.jar"); n != 1 {
		t.Errorf("unchanged content was downloaded again: %d", n)
	}
	s.nimbus.put("words.txt", []byte("new"))
	s.Release(topologyID, 1)
	s.localize(t, 1, nil)
	if c := content(t, s.layout.Topology(topologyID), "words"); c != "new" {
		t.Errorf("words holds %q", c)
	}
}

func TestLocalizeWithoutNimbus(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.nimbus.submitAll(t)
	if _, err := s.Adopt(t.Context(), request(1, nil)); !errors.Is(err, ErrIncomplete) {
		t.Errorf("Adopt of nothing: %v", err)
	}
	s.localize(t, 1, nil)
	s.nimbus.set(true)
	again := s.again(t)
	if topology, err := again.Adopt(t.Context(), request(1, nil)); err != nil || topology.Version != "2.8.3" || len(topology.Dependencies) != 3 {
		t.Errorf("Adopt: %+v, %v", topology, err)
	}
	if _, err := again.Localize(t.Context(), request(2, nil)); err != nil {
		t.Errorf("Localize of what is on disk: %v", err)
	}
	must(t, os.Remove(filepath.Join(s.layout.Topology(topologyID), "stormcode.ser.version")))
	third := s.again(t)
	if _, err := third.Localize(t.Context(), request(2, nil)); err == nil {
		t.Error("Localize of what is not complete succeeded without a Nimbus")
	}
	if len(third.blobs) != 0 {
		t.Errorf("a failed Localize holds %v", third.blobs)
	}
}

func TestLocalizeBadDownloads(t *testing.T) {
	t.Parallel()
	size := func(change func(int64) int64) func(string, *Blob) (*Blob, error) {
		return func(_ string, b *Blob) (*Blob, error) { b.Size = change(b.Size); return b, nil }
	}
	for name, c := range map[string]struct {
		wrap func(string, *Blob) (*Blob, error)
		text string
	}{
		"Unset":   {size(func(int64) int64 { return 0 }), "announced 0 bytes and sent more"},
		"Less":    {size(func(n int64) int64 { return n - 1 }), "and sent more"},
		"More":    {size(func(n int64) int64 { return n + 1 }), "bytes and sent"},
		"Minus":   {size(func(int64) int64 { return -5 }), "announced -5 bytes"},
		"Reset":   {func(_ string, b *Blob) (*Blob, error) { b.Body = failing(b, syscall.ECONNRESET); return b, nil }, "connection reset"},
		"Refused": {func(string, *Blob) (*Blob, error) { return nil, syscall.ECONNREFUSED }, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.nimbus.submitAll(t)
			s.nimbus.wrap = func(key string, b *Blob) (*Blob, error) {
				if key != "words.txt" {
					return b, nil
				}
				return c.wrap(key, b)
			}
			_, err := s.Localize(t.Context(), request(1, nil))
			if err == nil || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), "words.txt") {
				t.Fatalf("Localize: %v", err)
			}
			if n := s.nimbus.count("words.txt"); n != 3 {
				t.Errorf("tried %d times", n)
			}
			if left := tree(t, s.layout.Tmp()); len(left) != 0 {
				t.Errorf("left in tmp: %v", left)
			}
			s.nimbus.wrap = nil
			s.localize(t, 1, nil)
		})
	}
}

type failingBody struct {
	io.Reader
	io.Closer
}

// failing gives half a blob and then an error.
func failing(b *Blob, err error) io.ReadCloser {
	return failingBody{io.MultiReader(io.LimitReader(b.Body, b.Size/2), errReader{err}), b.Body}
}

type errReader struct{ err error }

func (e errReader) Read([]byte) (int, error) { return 0, e.err }

// TestLocalizeChecksum has bits flip on Nimbus's disk: the version no longer says what the content is.
func TestLocalizeChecksum(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *Config) { c.NoChecksums = false })
	s.nimbus.submitAll(t)
	sum := func(data []byte) int64 { return int64(crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))) }
	for key, data := range s.nimbus.blobs {
		s.nimbus.versions[key] = sum(data)
	}
	s.nimbus.versions["stop.words"] = 1_700_000_000_000 // a time, as other blob stores have it, says nothing about content
	s.nimbus.blobs["words.txt"] = []byte("wordz.txt")
	_, err := s.Localize(t.Context(), request(1, nil))
	if err == nil || !strings.Contains(err.Error(), "words.txt: content has checksum") {
		t.Fatalf("Localize: %v", err)
	}
	s.nimbus.blobs["words.txt"] = []byte("words.txt")
	s.localize(t, 1, nil)
	if c := content(t, s.layout.Topology(topologyID), "words"); c != "words.txt" {
		t.Errorf("words holds %q", c)
	}
}

func TestLocalizeFlakyDownload(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.nimbus.submitAll(t)
	s.nimbus.wrap = func(key string, b *Blob) (*Blob, error) {
		if s.nimbus.downloads[key] < 3 {
			b.Body = failing(b, syscall.EPIPE)
		}
		return b, nil
	}
	s.localize(t, 1, nil)
}

// TestLocalizeFullDisk has the disk full once: what nobody uses makes room, and the download is tried again.
func TestLocalizeFullDisk(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.nimbus.submitAll(t)
	s.localize(t, 1, nil)
	stale := filepath.Join(s.layout.Topologies(), "old-1-1")
	must(t, os.MkdirAll(stale, 0o755))
	must(t, os.WriteFile(filepath.Join(stale, "stormjar.jar"), make([]byte, 1000), 0o644))
	s.nimbus.put("words.txt", []byte("longer than before"))
	s.nimbus.wrap = func(_ string, b *Blob) (*Blob, error) {
		if _, err := os.Stat(stale); err == nil {
			b.Body = failing(b, syscall.ENOSPC)
		}
		return b, nil
	}
	s.localize(t, 1, nil)
	if c := content(t, s.layout.Topology(topologyID), "words"); c != "longer than before" {
		t.Errorf("words holds %q", c)
	}
	s.nimbus.put("words.txt", []byte("more"))
	s.nimbus.wrap = func(_ string, b *Blob) (*Blob, error) { b.Body = failing(b, syscall.ENOSPC); return b, nil }
	if _, err := s.Localize(t.Context(), request(1, nil)); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "words.txt") {
		t.Errorf("Localize on a full disk: %v", err)
	}
	if c := content(t, s.layout.Topology(topologyID), "words"); c != "longer than before" {
		t.Errorf("words holds %q", c)
	}
}

func TestLocalizeHostileConf(t *testing.T) {
	t.Parallel()
	entry := func(key, local string) config.Conf {
		return config.Conf{config.TopologyBlobstoreMap: map[string]any{key: map[string]any{"localname": local}}}
	}
	for name, c := range map[string]struct {
		conf config.Conf
		text string
	}{
		"Parent":     {entry("k", "../x"), "separator"},
		"DotDot":     {entry("k", ".."), "not allowed"},
		"Absolute":   {entry("k", "/etc/cron.d/x"), "separator"},
		"Nul":        {entry("k", "a\x00b"), "separator"},
		"Empty":      {entry("k", ""), "is empty"},
		"KeyParent":  {entry("../k", "x"), "blob key"},
		"Conf":       {entry("k", "stormconf.ser"), "reserved"},
		"Version":    {entry("k", "stormjar.jar.version"), "reserved"},
		"Resources":  {entry("k", "resources"), "reserved"},
		"Pids":       {entry("k", "pids"), "reserved"},
		"Heartbeats": {entry("k", "heartbeats"), "reserved"},
		"Twice": {config.Conf{config.TopologyBlobstoreMap: map[string]any{
			"k": map[string]any{"localname": "x"}, "l": map[string]any{"localname": "x"},
		}}, "already"},
		"Missing": {entry("nobody has it", "x"), "no such blob"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.nimbus.submit(t, c.conf, code(""))
			s.nimbus.put("k", []byte("x"))
			s.nimbus.put("l", []byte("x"))
			if _, err := s.Localize(t.Context(), request(1, nil)); err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("Localize: %v", err)
			}
			if _, err := os.Lstat(filepath.Join(s.layout.Topologies(), "x")); err == nil {
				t.Error("a link was made outside the topology's folder")
			}
		})
	}
}

func TestLocalizeHostileRequest(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.nimbus.submitAll(t)
	for _, r := range []Request{
		{TopologyID: "../x", Owner: owner}, {TopologyID: topologyID, Owner: "../../x"}, {TopologyID: topologyID}, {Owner: owner},
	} {
		if _, err := s.Localize(t.Context(), r); err == nil {
			t.Errorf("Localize(%+v) succeeded", r)
		}
	}
	c := code("")
	c.DependencyJars = []string{"../../evil.jar"}
	s.nimbus.submit(t, nil, c)
	if _, err := s.Localize(t.Context(), request(1, nil)); err == nil || !strings.Contains(err.Error(), "evil.jar") {
		t.Errorf("Localize of a hostile dependency: %v", err)
	}
}

func TestLocalizeGarbage(t *testing.T) {
	t.Parallel()
	bomb := zipped(t, make([]byte, 64<<20+1)) // package cluster unpacks no more
	for key, data := range map[string][]byte{
		"-stormconf.ser": []byte("not gzip"), "-stormcode.ser": []byte("not gzip"), "-stormjar.jar": []byte("not a zip"),
	} {
		for _, data := range [][]byte{data, zipped(t, []byte("{")), bomb} {
			s := newSite(t)
			s.nimbus.submitAll(t)
			s.nimbus.put(topologyID+key, data)
			if _, err := s.Localize(t.Context(), request(1, nil)); err == nil {
				t.Errorf("garbage in %s was taken", key)
			}
			s.nimbus.submitAll(t)
			s.localize(t, 1, nil) // repaired at the source, it works
		}
	}
}

// TestRecover starts over what a crash at any moment of a commit leaves.
func TestRecover(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.nimbus.submitAll(t)
	dir, files := s.layout.Topology(topologyID), s.layout.UserFiles(owner)
	damage := map[string]func(){
		"Tmp": func() {
			must(t, os.MkdirAll(filepath.Join(s.layout.Tmp(), "_tmp_resources.x", "y"), 0o755))
			must(t, os.WriteFile(filepath.Join(s.layout.Tmp(), "_tmp_blob.y"), []byte("half"), 0o600))
		},
		"OfStock": func() {
			must(t, os.MkdirAll(filepath.Join(dir, "resources.77", "y"), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, "stormjar.jar.77"), []byte("half"), 0o600))
		},
		"NoVersion":    func() { must(t, os.Remove(filepath.Join(dir, "stormjar.jar.version"))) },
		"EmptyVersion": func() { must(t, os.WriteFile(filepath.Join(dir, "stormconf.ser.version"), nil, 0o600)) },
		"NoResources":  func() { must(t, os.RemoveAll(filepath.Join(dir, "resources"))) },
		"NoCurrent":    func() { must(t, os.Remove(filepath.Join(files, "words.txt.current"))) },
		"Dangling":     func() { must(t, os.Remove(filepath.Join(files, "words.txt.1"))) },
		"VersionAhead": func() { must(t, os.WriteFile(filepath.Join(files, "words.txt.version"), []byte("9\n"), 0o600)) },
	}
	for name, harm := range damage {
		s.localize(t, 1, nil)
		harm()
		again := s.again(t)
		again.localize(t, 1, nil)
		if left := tree(t, s.layout.Tmp()); len(left) != 0 {
			t.Errorf("%s: left in tmp: %v", name, left)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "*.77")); err != nil || len(left) != 0 {
			t.Errorf("%s: left of stock: %v, %v", name, left, err)
		}
		if c := content(t, dir, "words") + content(t, dir, "resources/split.py"); c != "words.txtprint()" {
			t.Errorf("%s: %q", name, c)
		}
	}
}
