// SPDX-License-Identifier: Apache-2.0

package blobstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// crashed returns the folder of a store as a crash of the machine would leave it at its worst: of what only the journal made
// durable, nothing else is there.
func crashed(t *testing.T, dir string, lost ...string) string {
	t.Helper()
	journal, err := os.ReadFile(dir + journalSuffix)
	if err != nil {
		t.Fatal(err)
	}
	after := filepath.Join(t.TempDir(), "blobs")
	if err := os.CopyFS(after, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(after+journalSuffix, journal, 0o600); err != nil {
		t.Fatal(err)
	}
	s := New(after)
	for _, key := range lost {
		for _, prefix := range []string{dataPrefix, metaPrefix} {
			if err := os.RemoveAll(s.folder(prefix, key)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return after
}

func put(t *testing.T, s *Store, pairs ...string) {
	t.Helper()
	var contents []Content
	for i := 0; i < len(pairs); i += 2 {
		contents = append(contents, Content{Key: pairs[i], Data: []byte(pairs[i+1])})
	}
	if err := s.Put(t.Context(), contents...); err != nil {
		t.Fatal(err)
	}
}

func TestJournalBringsBackWhatWasPut(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "blobs")
	s := open(t, dir)
	put(t, s, "a", "first", "b", "second")
	put(t, s, "c", "third")
	if err := s.Delete("b"); err != nil {
		t.Fatal(err)
	}
	after := open(t, crashed(t, dir, "a", "c"))
	if diff := cmp.Diff([]string{"a", "c"}, after.Keys()); diff != "" {
		t.Fatal(diff)
	}
	if got := read(t, after, "a") + " " + read(t, after, "c"); got != "first third" {
		t.Fatalf("after the crash: %q", got)
	}
	again := open(t, after.dir) // the journal began anew, so nothing is done twice
	if diff := cmp.Diff([]string{"a", "c"}, again.Keys()); diff != "" {
		t.Fatal(diff)
	}
}

func TestJournalDoesNotUndoLaterChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*testing.T, *Store){
		"Updated": func(t *testing.T, s *Store) {
			t.Helper()
			u, err := s.Update("a")
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(u, "newer")
			if err := u.Commit(); err != nil {
				t.Fatal(err)
			}
		},
		"DeletedAndUploaded": func(t *testing.T, s *Store) {
			t.Helper()
			if err := s.Delete("a"); err != nil {
				t.Fatal(err)
			}
			u, err := s.Create(t.Context(), "a", nil)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(u, "newer")
			if err := u.Commit(); err != nil {
				t.Fatal(err)
			}
		},
		"DeletedAndPutLarge": func(t *testing.T, s *Store) {
			t.Helper()
			if err := s.Delete("a"); err != nil {
				t.Fatal(err)
			}
			large := append([]byte("newer"), make([]byte, maxRecord)...)
			if err := s.Put(t.Context(), Content{Key: "a", Data: large}); err != nil {
				t.Fatal(err)
			}
		},
		"DeletedAndPut": func(t *testing.T, s *Store) {
			t.Helper()
			if err := s.Delete("a"); err != nil {
				t.Fatal(err)
			}
			put(t, s, "a", "newer")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "blobs")
			s := open(t, dir)
			put(t, s, "a", "older")
			change(t, s)
			after := open(t, crashed(t, dir))
			content, err := after.Read("a", maxRecord*2)
			if err != nil || !bytes.HasPrefix(content, []byte("newer")) {
				t.Fatalf("after the crash: %.10q, %v", content, err)
			}
		})
	}
}

func TestJournalCutAtEveryByte(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "blobs")
	s := open(t, dir)
	put(t, s, "a", "first")
	whole := s.journal.size
	put(t, s, "b", "second")
	text, err := os.ReadFile(dir + journalSuffix)
	if err != nil {
		t.Fatal(err)
	}
	for size := whole; size < int64(len(text)); size++ {
		after := crashed(t, dir, "a", "b")
		if err := os.Truncate(after+journalSuffix, size); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"a"}, open(t, after).Keys()); diff != "" {
			t.Fatalf("cut at byte %d: %s", size, diff)
		}
	}
}

func TestJournalDamageIsNamed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "blobs")
	s := open(t, dir)
	put(t, s, "a", "first")
	put(t, s, "b", "second")
	for name, damage := range map[string]struct {
		at   int64
		want string
	}{
		"Record": {int64(len(journalHead)) + recordHead + 2, fmt.Sprintf("record at byte %d", len(journalHead))},
		"Head":   {3, "no journal of this version"},
	} {
		after := crashed(t, dir)
		file, err := os.OpenFile(after+journalSuffix, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteAt([]byte{0xee}, damage.at); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		err = New(after).Load()
		if err == nil || !strings.Contains(err.Error(), damage.want) || !strings.Contains(err.Error(), after+journalSuffix) {
			t.Errorf("%s: Load = %v, want %q and the file's name", name, err, damage.want)
		}
		if name == "Record" && !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: Load = %v, want ErrDamaged", name, err)
		}
		if !strings.Contains(err.Error(), "move it away and start again") {
			t.Errorf("%s: Load = %v, which does not say what to do", name, err)
		}
		if err := os.Rename(after+journalSuffix, after+".aside"); err != nil {
			t.Fatal(err)
		}
		if s := open(t, after); read(t, s, "a") != "first" || read(t, s, "b") != "second" {
			t.Errorf("%s: what to do does not help", name)
		}
	}
}

func TestJournalBeginsAnew(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "blobs"))
	content := strings.Repeat("x", maxRecord-1000)
	for i := range 5 {
		put(t, s, strconv.Itoa(i), content)
		if s.journal.size > maxJournal+maxRecord {
			t.Fatalf("journal of %d bytes", s.journal.size)
		}
	}
	if got := len(open(t, s.dir).Keys()); got != 5 {
		t.Fatalf("%d keys", got)
	}
}
