// SPDX-License-Identifier: Apache-2.0

// This file tests tables where memory ends, files change and bytes are hostile.

package table

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/arena"
)

func TestFullMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	a, err := arena.Create(dir, arena.Region)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	table, err := New(a, 1, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	count := uint64(0)
	for ; err == nil; count++ {
		err = table.Put(number(count), number(^count))
	}
	if !errors.Is(err, stateapi.ErrNoRoom) || count < 200_000 {
		t.Fatalf("after %d entries: %v", count, err)
	}
	if err := table.Put([]byte("long"), make([]byte, 1<<20)); !errors.Is(err, stateapi.ErrNoRoom) {
		t.Fatal(err)
	}
	if err := table.Verify(); err != nil {
		t.Fatal(err)
	}
	for n := range count {
		if err := table.Delete(number(n)); err != nil {
			t.Fatal(err)
		}
	}
	if s := table.Stats(); s != (Stats{}) {
		t.Fatalf("empty table has %+v", s)
	}
	fill(t, table, 0, 100_000)
}

func TestShortenedFile(t *testing.T) {
	t.Parallel()
	table := newTable1(t)
	fill(t, table, 1, 20_000)
	r := reader(t, table)
	if _, found, err := r.Get(nil, number(5)); !found || err != nil {
		t.Fatal(found, err)
	}
	if err := os.Truncate(table.arena.Path(), 0); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Get(nil, number(5)); !errors.Is(err, stateapi.ErrCorrupt) {
		t.Fatalf("reader: %v", err)
	}
	if _, err := r.Applied(); !errors.Is(err, stateapi.ErrCorrupt) {
		t.Fatalf("reader: %v", err)
	}
	if _, _, err := table.Get(nil, number(5)); !errors.Is(err, stateapi.ErrCorrupt) {
		t.Fatalf("get: %v", err)
	}
	if err := table.Put(number(5), number(6)); !errors.Is(err, stateapi.ErrCorrupt) {
		t.Fatalf("put: %v", err)
	}
	if _, err := arena.Map(table.arena.Path(), table.arena.ID()); !errors.Is(err, stateapi.ErrCorrupt) {
		t.Fatalf("map: %v", err)
	}
	table.SetApplied(9)
	if err := os.Truncate(table.arena.Path(), int64(table.arena.Capacity())); err != nil {
		t.Fatal(err)
	}
}

func TestSmallNamespacesShareSlots(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	before := a.InUse()
	const namespaces = 10_000
	for id := range uint64(namespaces) {
		table, err := New(a, id+1, 32, nil)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 10 {
			if err := table.Put(fmt.Appendf(nil, "key-%d", n), number(id)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if each := (a.InUse() - before) / namespaces; each > 2048 {
		t.Fatalf("%d bytes each", each)
	} else {
		t.Logf("%d bytes each", each)
	}
}

func TestDeletedEntriesGiveMemoryBack(t *testing.T) {
	t.Parallel()
	table := newTable1(t)
	const count = 1_000_000
	fill(t, table, 0, count)
	peak := table.arena.InUse()
	for n := range uint64(count) {
		if n%10 == 0 {
			continue
		}
		if err := table.Delete(number(n)); err != nil {
			t.Fatal(err)
		}
	}
	if now := table.arena.InUse(); now*5 > peak {
		t.Fatalf("%d of %d bytes are left", now, peak)
	}
	if err := table.Verify(); err != nil {
		t.Fatal(err)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	table := newTable1(t)
	var b stateapi.Batch
	b.Put(make([]byte, 40_000), nil)
	if err := table.Apply(b.Bytes(), 1); !errors.Is(err, stateapi.ErrTooLarge) {
		t.Fatal(err)
	}
	if err := table.Put(nil, make([]byte, MaxValue+1)); !errors.Is(err, stateapi.ErrTooLarge) {
		t.Fatal(err)
	}
}

func TestDamagedImages(t *testing.T) {
	t.Parallel()
	table := newTable1(t)
	if err := errors.Join(table.Put([]byte("k"), []byte("v")), table.Put([]byte("long"), noise(50_000))); err != nil {
		t.Fatal(err)
	}
	image, _, err := table.Image(nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := CheckImage(image.Bytes); err != nil {
		t.Fatal(err)
	}
	for i := range image.Bytes {
		bad := bytes.Clone(image.Bytes)
		bad[i] ^= 0x10
		if i > 2000 && i%997 != 0 {
			continue
		}
		if _, err := CheckImage(bad); !errors.Is(err, stateapi.ErrCorrupt) {
			t.Fatalf("byte %d of %d is wrong: %v", i, len(bad), err)
		}
	}
	for _, short := range []int{0, 1, 63, 64, len(image.Bytes) - 1} {
		if _, err := CheckImage(image.Bytes[:short]); !errors.Is(err, stateapi.ErrCorrupt) {
			t.Fatalf("%d of %d bytes: %v", short, len(image.Bytes), err)
		}
	}
}

// FuzzAdopt changes bytes of an arena and uses it.
func FuzzAdopt(f *testing.F) {
	dir := memoryDir(f)
	a, err := arena.Create(dir, arena.Region)
	if err != nil {
		f.Fatal(err)
	}
	table, err := New(a, 1, 1, nil)
	if err != nil {
		f.Fatal(err)
	}
	fill(f, table, 0, 9000)
	if err := table.Put([]byte("long"), noise(100_000)); err != nil {
		f.Fatal(err)
	}
	var places []uint64 // what the fuzzer may change: header, descriptor, directory, segments' headers
	for at := range uint64(64) {
		places = append(places, at, table.offset+at, offsetOf(table.words[wordDirectory].Load())+at)
		for e := range table.ranges(0, 0) {
			places = append(places, offsetOf(e)+at, offsetOf(e)+64+at)
		}
	}
	whole := bytes.Clone(a.Bytes(0, 8<<20))
	if err := a.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{0, 0, 1})
	f.Add([]byte{1, 5, 0xff, 0, 64, 8})
	f.Fuzz(func(t *testing.T, changes []byte) {
		path := dir + "/fuzzed"
		b := bytes.Clone(whole)
		for ; len(changes) >= 3; changes = changes[3:] {
			b[places[(int(changes[0])<<8|int(changes[1]))%len(places)]] ^= changes[2]
		}
		if err := errors.Join(os.WriteFile(path, b, 0o600), os.Truncate(path, arena.Region)); err != nil {
			t.Fatal(err)
		}
		use(t, path)
	})
}

// use does everything with an arena that may be damaged: errors are fine.
func use(t *testing.T, path string) {
	t.Helper()
	a, err := arena.Adopt(path)
	if err != nil {
		return
	}
	defer func() {
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	for offset, id := range a.Descriptors() {
		table, err := Open(a, offset, nil)
		if err != nil {
			a.Drop(offset)
			continue
		}
		if err := a.Sweep(); err != nil {
			return
		}
		_, _ = content(table)
		_ = table.Verify()
		if v, err := arena.Map(path, a.ID()); err == nil {
			if r, err := NewReader(v, offset, id); err == nil {
				for n := range uint64(20) {
					_, _, _ = r.Get(nil, number(n))
				}
				_, _, _ = r.Get(nil, []byte("long"))
			}
			_ = v.Close()
		}
		for n := range uint64(300) {
			_ = table.Put(number(n), number(n))
			_ = table.Delete(number(n * 7))
		}
		table.Free()
		return
	}
}
