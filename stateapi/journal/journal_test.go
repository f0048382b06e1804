// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/gust-stream/gust/stateapi"
)

func TestRecordsComeBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir, Options{FileSize: 1000, Start: 77})
	var want []string
	var positions []uint64
	for i := range 100 {
		want = append(want, strings.Repeat("r", i*3))
		start, end, err := j.Append(uint64(i), []byte(want[i])[:i], []byte(want[i])[i:])
		if err != nil {
			t.Fatal(err)
		}
		if end-start != frameSize+uint64(len(want[i])) {
			t.Fatalf("record of %d bytes takes %d", len(want[i]), end-start)
		}
		positions = append(positions, start)
		if i%2 == 0 {
			flush(t, j)
		}
		j.making.Wait()
	}
	check := func() {
		t.Helper()
		got, damage := read(t, j, 0)
		if diff := cmp.Diff(want, got); diff != "" || damage != nil {
			t.Fatal(damage, diff)
		}
		got, _ = read(t, j, positions[40])
		if diff := cmp.Diff(want[40:], got); diff != "" {
			t.Fatal(diff)
		}
	}
	check()
	closed(t, j)
	j = open(t, dir, Options{FileSize: 1000})
	check()
	if j.Start() != 77 || positions[0] != 77 || len(j.files) < 10 {
		t.Fatal(j.Start(), positions[0], len(j.files))
	}
	if err := j.Truncate(positions[50]); err != nil {
		t.Fatal(err)
	}
	if j.Start() > positions[50] || j.Start() < positions[40] {
		t.Fatalf("truncated to %d, asked for %d", j.Start(), positions[50])
	}
	closed(t, j)
	j = open(t, dir, Options{})
	if got, _ := read(t, j, positions[50]); cmp.Diff(want[50:], got) != "" {
		t.Fatal(got)
	}
}

// TestFilesArePrivate also says that nothing is left of a file that was made ahead.
func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir, Options{FileSize: 100})
	add(t, j, 1, strings.Repeat("a", 100))
	flush(t, j)
	j.making.Wait()
	closed(t, j)
	if ahead := last(t, dir); filepath.Base(ahead) != fileName(2) {
		t.Fatal(ahead)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Error(e.Name(), info.Mode(), err)
		}
	}
	j = open(t, dir, Options{FileSize: 100})
	if got, damage := read(t, j, 0); len(got) != 1 || damage != nil {
		t.Fatal(got, damage)
	}
}

// TestManySyncsShareOne holds up an fsync while others come: one more is enough for all.
func TestManySyncsShareOne(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir(), Options{})
	var count atomic.Int32
	entered, leave := make(chan struct{}, 100), make(chan struct{})
	j.fdatasync = func(*os.File) error {
		count.Add(1)
		entered <- struct{}{}
		<-leave
		return nil
	}
	var group sync.WaitGroup
	syncOne := func() {
		end := add(t, j, 1, "x")
		group.Go(func() {
			if err := j.Sync(context.Background(), end); err != nil {
				t.Error(err)
			}
		})
	}
	syncOne()
	<-entered
	for range 50 {
		syncOne()
	}
	close(leave)
	group.Wait()
	if n := count.Load(); n != 2 || j.Synced() != j.End() {
		t.Fatalf("%d fsyncs, synced %d of %d", n, j.Synced(), j.End())
	}
}

func TestSyncEndsWithItsContext(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir(), Options{})
	entered, leave := make(chan struct{}), make(chan struct{})
	j.fdatasync = func(*os.File) error {
		entered <- struct{}{}
		<-leave
		return nil
	}
	end := add(t, j, 1, "x")
	var group sync.WaitGroup
	group.Go(func() { _ = j.Sync(context.Background(), end) })
	<-entered
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := j.Sync(ctx, end); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	j.fdatasync = fdatasync
	close(leave)
	group.Wait()
}

func TestFailedSyncStays(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir(), Options{})
	add(t, j, 1, "x")
	j.fdatasync = func(*os.File) error { return unix.EIO }
	for range 2 {
		if err := j.Sync(context.Background(), j.End()); !errors.Is(err, unix.EIO) {
			t.Fatal(err)
		}
		j.fdatasync = fdatasync
	}
	if _, _, err := j.Append(1, []byte("y")); !errors.Is(err, unix.EIO) || !strings.Contains(err.Error(), fileName(1)) {
		t.Fatal(err)
	}
}

// TestFullDisk fills a disk of 1 MiB: appends fail, what was synced stays, and with room it goes on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatalf("mount a disk of 1 MiB, which takes root: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(disk, "journal")
	j := open(t, dir, Options{FileSize: 128 << 10})
	var want []string
	var full error
	for i := 0; full == nil; i++ {
		body := fmt.Sprint(i, strings.Repeat("f", 5000))
		if _, _, full = j.Append(1, []byte(body)); full == nil {
			want = append(want, body)
		}
		if i%5 == 0 {
			flush(t, j)
			j.making.Wait()
		}
	}
	if !errors.Is(full, stateapi.ErrNoRoom) || !errors.Is(full, unix.ENOSPC) || len(want) < 100 {
		t.Fatal(len(want), full)
	}
	flush(t, j)
	if got, damage := read(t, j, 0); cmp.Diff(want, got) != "" || damage != nil {
		t.Fatal("not all there", damage)
	}
	if err := j.Truncate(j.files[len(j.files)-1].start); err != nil {
		t.Fatal(err)
	}
	left, _ := read(t, j, 0)
	add(t, j, 1, "again")
	closed(t, j)
	j = open(t, dir, Options{})
	if got, damage := read(t, j, 0); cmp.Diff(append(left, "again"), got) != "" || damage != nil {
		t.Fatal("not all there", damage)
	}
}

// TestModel plays random steps against a list. A crash loses some of what was not synced, from a record on.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir := memory(t)
		o := Options{FileSize: int64(rapid.IntRange(1, 3000).Draw(rt, "file"))}
		j := open(t, dir, o)
		var want []string
		durable, begin := 0, uint64(0)
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				want = append(want, strings.Repeat("b", rapid.IntRange(0, 500).Draw(rt, "size")))
				add(t, j, 1, want[len(want)-1])
			},
			"sync": func(*rapid.T) {
				flush(t, j)
				j.making.Wait()
				durable = len(want)
			},
			"reopen": func(*rapid.T) {
				closed(t, j)
				j = open(t, dir, o)
				durable = len(want)
			},
			"truncate": func(rt *rapid.T) {
				to := rapid.Uint64Range(j.Start(), j.End()).Draw(rt, "to")
				if err := j.Truncate(to); err != nil {
					rt.Fatal(err)
				}
				begin = j.Start()
			},
			"crash": func(rt *rapid.T) {
				synced := j.Synced()
				crashed := clone(t, dir)
				closed(t, j)
				dir = crashed
				cut := rapid.Uint64Range(synced, j.End()).Draw(rt, "cut")
				lose(t, j, dir, cut)
				end := j.End()
				j = open(t, dir, o)
				if j.End() < synced || j.End() > max(end, synced) {
					rt.Fatalf("ends at %d, synced was %d, cut at %d of %d", j.End(), synced, cut, end)
				}
				lost := 0
				for p := j.End(); p < end; lost++ {
					p += frameSize + uint64(len(want[len(want)-count(want, end, p)]))
				}
				want = want[:len(want)-lost]
				if durable > len(want) {
					rt.Fatalf("%d records were durable, %d are left", durable, len(want))
				}
				durable = len(want)
			},
			"": func(rt *rapid.T) {
				got, damage := read(t, j, 0)
				if damage != nil {
					rt.Fatal(damage)
				}
				if len(got) > len(want) || begin == 0 && len(got) != len(want) || !slices.Equal(want[len(want)-len(got):], got) {
					rt.Fatalf("read %d records, want %d", len(got), len(want))
				}
			},
		})
	})
}

// count is how many of the last records lie behind position p, where all end at end.
func count(want []string, end, p uint64) int {
	n := 0
	for end > p {
		n++
		end -= frameSize + uint64(len(want[len(want)-n]))
	}
	return n
}

// lose overwrites by zeros what lies behind a position.
func lose(t *testing.T, j *Journal, dir string, position uint64) {
	t.Helper()
	for _, f := range j.files {
		path := filepath.Join(dir, filepath.Base(f.path))
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		at := int64(position-f.start) + headerSize
		if f.start > position {
			at = headerSize
		}
		if at >= info.Size() {
			continue
		}
		if err := errors.Join(os.Truncate(path, at), os.Truncate(path, info.Size())); err != nil {
			t.Fatal(err)
		}
	}
}
