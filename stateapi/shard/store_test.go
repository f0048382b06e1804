// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gust-stream/gust/stateapi"
)

// TestDamageOnDisk flips a byte of each file in turn. While memory is whole, Verify names the file and mends it; a start without memory then has
// everything. Without Verify the start names it, unless the twin stands in.
func TestDamageOnDisk(t *testing.T) {
	t.Parallel()
	for _, what := range []string{manifestFile, manifestTwin, imagesPrefix + "*", "journal-*"} {
		for _, mended := range []bool{true, false} {
			c := folders(t)
			r := start(t, c)
			o := r.session(t, "bolt")
			for n := 1; n <= 400; n++ {
				if _, err := r.Write(t.Context(), o.Session, round(n)); err != nil {
					t.Fatal(err)
				}
				if n == 200 {
					if err := r.Snapshot(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
			path := flip(t, filepath.Join(c.Dir, what))
			if mended {
				err := r.Verify(t.Context())
				if what != manifestTwin && what != manifestFile && (!errors.Is(err, stateapi.ErrCorrupt) || !strings.Contains(err.Error(), path+", offset ") && !strings.Contains(err.Error(), path+": damaged at offset ")) {
					t.Errorf("%s: verify says %v", what, err)
				}
				if err := r.Verify(t.Context()); err != nil {
					t.Errorf("%s: verify after it was mended: %v", what, err)
				}
			}
			r.end(t)
			c.NewArena = true
			r = start(t, c)
			o, err := r.Open(t.Context(), definition("bolt"), 0)
			if whole := mended || strings.HasSuffix(what, ".json"); whole {
				if n, wrong := check(r.Store, o.Session); n != 400 || errors.Join(err, wrong) != nil {
					t.Errorf("%s, mended %t: %d rounds, %v", what, mended, n, errors.Join(err, wrong))
				}
			} else if !errors.Is(err, stateapi.ErrCorrupt) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: open says %v", what, err)
			}
			r.end(t)
		}
	}
}

// flip changes a byte in the last half of the first file that matches and returns its path.
func flip(t *testing.T, pattern string) string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatal(pattern, err)
	}
	b, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	at := len(bytes.TrimRight(b, "\x00")) * 3 / 4
	if in := bytes.Index(b[at:], []byte(`"Kind"`)); in >= 0 { // in a journal's record, not in its head, which has a twin
		at += in
	}
	b[at] ^= 0x10
	f, err := os.OpenFile(paths[0], os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt(b[at:at+1], int64(at))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return paths[0]
}

// TestMemoryFull commits more than fits: it is durable, refused until there is room, and then there by itself, also after a start.
func TestMemoryFull(t *testing.T) {
	t.Parallel()
	c := folders(t)
	c.MemoryMax = 3 << 20
	r := start(t, c)
	o, other := r.session(t, "bolt"), r.session(t, "other")
	var refused error
	n := 0
	for ; refused == nil && n < 1000; n++ {
		var b stateapi.Batch
		b.Put(strconv.AppendInt(nil, int64(n), 10), bytes.Repeat([]byte{byte(n)}, 60<<10))
		if _, refused = r.Write(t.Context(), o.Session, b.Bytes()); refused != nil {
			n--
		}
	}
	if !errors.Is(refused, stateapi.ErrNoRoom) {
		t.Fatal(refused)
	}
	if _, _, err := r.Get(t.Context(), o.Session, nil, []byte("0")); !errors.Is(err, stateapi.ErrNoRoom) {
		t.Errorf("get of a state that has no room: %v", err)
	}
	if err := r.Snapshot(t.Context()); err != nil {
		t.Errorf("snapshot beside a state that has no room: %v", err)
	}
	if _, err := r.Write(t.Context(), other.Session, round(1)); err != nil && !errors.Is(err, stateapi.ErrNoRoom) {
		t.Error(err)
	}
	r.arena.SetLimit(0)
	whole := func() {
		t.Helper()
		for limit := time.Now().Add(20 * time.Second); ; {
			var err error
			for i := 0; i < n && err == nil; i++ {
				var value []byte
				value, _, err = r.Get(context.Background(), o.Session, nil, strconv.AppendInt(nil, int64(i), 10))
				if err == nil && !bytes.Equal(value, bytes.Repeat([]byte{byte(i)}, 60<<10)) {
					t.Fatalf("value %d of %d is %d bytes", i, n, len(value))
				}
			}
			if err == nil {
				return
			}
			if !errors.Is(err, stateapi.ErrNoRoom) || time.Now().After(limit) {
				t.Fatal(err)
			}
		}
	}
	whole()
	r.end(t)
	c.NewArena = true // and the limit is back: nothing fits into the new arena
	r = start(t, c)
	if _, _, err := r.Get(t.Context(), o.Session, nil, []byte("0")); !errors.Is(err, stateapi.ErrNoRoom) {
		t.Errorf("get after a start without room: %v", err)
	}
	r.arena.SetLimit(0)
	whole()
	r.end(t)
}

// TestPages iterates over long values: no page is much larger than wanted, and every key comes once.
func TestPages(t *testing.T) {
	t.Parallel()
	c := folders(t)
	r := start(t, c)
	defer r.end(t)
	o := r.session(t, "bolt")
	const values = 120
	var b stateapi.Batch
	for i := range values {
		b.Put(strconv.AppendInt(nil, int64(i), 10), make([]byte, 100<<10))
	}
	if _, err := r.Write(t.Context(), o.Session, b.Bytes()); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for cursor := uint64(0); ; {
		page, next, err := r.Iterate(t.Context(), o.Session, cursor, 1<<10)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) > 11 {
			t.Errorf("a page of %d entries", len(page))
		}
		for _, e := range page {
			seen[string(e.Key)]++
		}
		if cursor = next; next == 0 {
			break
		}
	}
	for key, n := range seen {
		if n != 1 {
			t.Errorf("key %s came %d times", key, n)
		}
	}
	if len(seen) != values {
		t.Errorf("%d keys, want %d", len(seen), values)
	}
}

// TestRefusedOpen says that an open that is refused fences nobody, and one that resumes keeps the session.
func TestRefusedOpen(t *testing.T) {
	t.Parallel()
	r := start(t, folders(t))
	defer r.end(t)
	o := r.session(t, "bolt")
	d := definition("bolt")
	d.Encoder = "other"
	if _, err := r.Open(t.Context(), d, 0); !errors.Is(err, stateapi.ErrEncoder) {
		t.Error(err)
	}
	if again, err := r.Open(t.Context(), definition("bolt"), o.Session); err != nil || again.Session != o.Session {
		t.Errorf("resumed as %x: %v", again.Session, err)
	}
	if _, err := r.Write(t.Context(), o.Session, round(1)); err != nil {
		t.Error(err)
	}
	r.session(t, "bolt")
	if _, err := r.Write(t.Context(), o.Session, round(2)); !errors.Is(err, stateapi.ErrFenced) {
		t.Error(err)
	}
	if _, err := r.Open(t.Context(), definition("bolt"), o.Session); !errors.Is(err, stateapi.ErrFenced) {
		t.Error(err)
	}
}

// BenchmarkCheckpoint prepares and commits 10,000 keys.
func BenchmarkCheckpoint(b *testing.B) {
	r := start(b, folders(b))
	defer r.end(b)
	o := r.session(b, "bolt")
	var prepares, commits time.Duration
	for n := 1; b.Loop(); n++ {
		var batch stateapi.Batch
		for i := range 10000 {
			batch.Put(strconv.AppendInt([]byte("word "), int64(i), 10), strconv.AppendInt(nil, int64(n), 10))
		}
		began := time.Now()
		if err := r.Prepare(b.Context(), o.Session, int64(n), batch.Bytes()); err != nil {
			b.Fatal(err)
		}
		prepares += time.Since(began)
		began = time.Now()
		if _, err := r.Commit(b.Context(), o.Session, int64(n)); err != nil {
			b.Fatal(err)
		}
		commits += time.Since(began)
	}
	b.ReportMetric(float64(prepares.Microseconds())/float64(b.N), "us/prepare")
	b.ReportMetric(float64(commits.Microseconds())/float64(b.N), "us/commit")
}
