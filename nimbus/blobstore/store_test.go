// SPDX-License-Identifier: Apache-2.0

package blobstore

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/thrift/storm"
)

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s := New(dir)
	if err := s.Load(); err != nil {
		t.Fatal(err)
	}
	return s
}

func read(t *testing.T, s *Store, key string) string {
	t.Helper()
	data, err := s.Read(key, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func crc(text string) int64 {
	return int64(crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)))
}

func TestBucket(t *testing.T) {
	t.Parallel()
	// Values of Math.abs("…".hashCode() % 1024) as a JVM prints them.
	for name, want := range map[string]int{"data_a": 756, "meta_wc-1-1700000000-stormconf.ser": 539, "data_wc-1-1700000000-stormconf.ser": 768} {
		if got := bucket(name); got != want {
			t.Errorf("bucket(%q) = %d, want %d", name, got, want)
		}
	}
}

func TestCheckKey(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"a", "wc-1-1-stormjar.jar", "dep_x y", "été", "日本", "..a", strings.Repeat("k", 250)} {
		if err := CheckKey(key); err != nil {
			t.Errorf("CheckKey(%q): %v", key, err)
		}
	}
	for _, key := range []string{"", ".", "..", "a/b", "../x", "a\\b", "a\x00", "a:b", "\xff", "a\tb", "𠀀", strings.Repeat("k", 251)} {
		if err := CheckKey(key); !errors.Is(err, ErrBadKey) {
			t.Errorf("CheckKey(%q) = %v, want ErrBadKey", key, err)
		}
	}
}

func TestPutSurvivesReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	jar := filepath.Join(t.TempDir(), "jar")
	if err := os.WriteFile(jar, []byte("jar bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	meta := &storm.SettableBlobMeta{Acl: []*storm.AccessControl{{Type: storm.AccessControlType_OTHER, Access: 7}}}
	if err := s.Put(t.Context(), Content{Key: "conf", Meta: meta, Data: []byte("conf bytes")}, Content{Key: "jar", File: jar}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if diff := cmp.Diff([]string{"conf", "jar"}, s.Keys()); diff != "" {
			t.Fatal(diff)
		}
		if got := read(t, s, "jar"); got != "jar bytes" {
			t.Fatalf("jar = %q", got)
		}
		version, err := s.Version("conf")
		if err != nil || version != crc("conf bytes") {
			t.Fatalf("Version = %d, %v; want %d", version, err, crc("conf bytes"))
		}
		got, err := s.Meta(t.Context(), "conf")
		if err != nil || !got.Equals(meta) {
			t.Fatalf("Meta = %v, %v", got, err)
		}
		s = open(t, dir)
	}
}

func TestPutIsAllOrNothing(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	missing := filepath.Join(t.TempDir(), "missing")
	if err := s.Put(t.Context(), Content{Key: "a", Data: []byte("a")}, Content{Key: "b", File: missing}); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("Put = %v, want a missing file", err)
	}
	if keys := s.Keys(); len(keys) != 0 {
		t.Fatalf("keys after a failed put: %v", keys)
	}
	if err := s.Put(t.Context(), Content{Key: "a", Data: []byte("again")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), Content{Key: "a", Data: []byte("other")}); !errors.Is(err, ErrExists) {
		t.Fatalf("second Put = %v, want ErrExists", err)
	}
	if got := read(t, s, "a"); got != "again" {
		t.Fatalf("a = %q", got)
	}
}

func TestUpdateKeepsOldReaders(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	if err := s.Put(t.Context(), Content{Key: "a", Data: []byte("old")}); err != nil {
		t.Fatal(err)
	}
	before, err := s.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = before.Close() }()
	upload, err := s.Update("a")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(upload, "new ")
	if got := read(t, s, "a"); got != "old" {
		t.Fatalf("an unfinished update shows: %q", got)
	}
	fmt.Fprint(upload, "content")
	if err := upload.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, "a"); got != "new content" {
		t.Fatalf("a = %q", got)
	}
	if version, err := s.Version("a"); err != nil || version != crc("new content") {
		t.Fatalf("version = %d, %v", version, err)
	}
	if old, err := io.ReadAll(before); err != nil || string(old) != "old" || before.Version != crc("old") {
		t.Fatalf("the earlier reader sees %q, %v", old, err)
	}
}

func TestCrashLeavesNothingHalf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	upload, err := s.Create(t.Context(), "half", nil)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(upload, "half a fi")
	if s.Has("half") {
		t.Fatal("an unfinished blob shows")
	}
	if _, err := s.Create(t.Context(), "half", nil); !errors.Is(err, ErrExists) {
		t.Fatalf("second Create = %v, want ErrExists", err)
	}
	reborn := open(t, dir) // the process died here
	if keys := reborn.Keys(); len(keys) != 0 {
		t.Fatalf("keys after the crash: %v", keys)
	}
	if err := reborn.Put(t.Context(), Content{Key: "half", Data: []byte("whole")}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, reborn, "half"); got != "whole" {
		t.Fatalf("half = %q", got)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	if err := s.Put(t.Context(), Content{Key: "a", Data: []byte("a")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete("a"); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete("a"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("second Delete = %v, want ErrNotFound", err)
	}
	if _, err := s.Open("a"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("Open = %v, want ErrNotFound", err)
	}
	if keys := open(t, dir).Keys(); len(keys) != 0 {
		t.Fatalf("keys after reload: %v", keys)
	}
}

func TestDamageIsNoUpdate(t *testing.T) {
	t.Parallel()
	meta := &storm.SettableBlobMeta{Acl: []*storm.AccessControl{{Type: storm.AccessControlType_OTHER, Access: 1}}}
	for name, change := range map[string]func(*testing.T, *Store){
		"New": func(*testing.T, *Store) {},
		"Updated": func(t *testing.T, s *Store) {
			t.Helper()
			upload, err := s.Update("a")
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(upload, "more content")
			if err := upload.Commit(); err != nil {
				t.Fatal(err)
			}
		},
		"MetaSet": func(t *testing.T, s *Store) {
			t.Helper()
			if err := s.SetMeta(t.Context(), "a", meta); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := open(t, dir)
			if err := s.Put(t.Context(), Content{Key: "a", Meta: meta, Data: []byte("some content")}); err != nil {
				t.Fatal(err)
			}
			change(t, s)
			if got, err := open(t, dir).Meta(t.Context(), "a"); err != nil || !got.Equals(meta) {
				t.Fatalf("Meta = %v, %v", got, err)
			}
			if _, err := open(t, dir).Open("a"); err != nil {
				t.Fatalf("a sound blob: %v", err)
			}
			path := filepath.Join(s.folder(dataPrefix, "a"), fileName)
			file, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := file.WriteAt([]byte("X"), 3); err != nil {
				t.Fatal(err)
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := open(t, dir).Open("a"); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) {
				t.Fatalf("Open = %v, want ErrDamaged that names %s", err, path)
			}
			// Another file in its place is no damage: somebody put it there whole.
			if err := os.WriteFile(path+".other", []byte("from elsewhere"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path+".other", path); err != nil {
				t.Fatal(err)
			}
			if got := read(t, open(t, dir), "a"); got != "from elsewhere" {
				t.Fatalf("a = %q", got)
			}
		})
	}
}

func TestConcurrentCreateHasOneWinner(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	var wins sync.Map
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			err := s.Put(t.Context(), Content{Key: "a", Data: fmt.Appendf(nil, "%d", i)})
			if err == nil {
				wins.Store(i, true)
			} else if !errors.Is(err, ErrExists) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	count := 0
	wins.Range(func(winner, _ any) bool {
		count++
		if got := read(t, s, "a"); got != fmt.Sprint(winner) {
			t.Errorf("content %q, winner %v", got, winner)
		}
		return true
	})
	if count != 1 {
		t.Fatalf("%d winners", count)
	}
}

func BenchmarkPutThree(b *testing.B) {
	s := New(b.TempDir())
	if err := s.Load(); err != nil {
		b.Fatal(err)
	}
	data := make([]byte, 4<<10)
	for i := 0; b.Loop(); i++ {
		name := fmt.Sprintf("wc-%d-1-", i)
		if err := s.Put(b.Context(), Content{Key: name + "jar", Data: data}, Content{Key: name + "code", Data: data}, Content{Key: name + "conf", Data: data}); err != nil {
			b.Fatal(err)
		}
	}
}
