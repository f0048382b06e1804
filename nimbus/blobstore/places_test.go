// SPDX-License-Identifier: Apache-2.0

// This file puts pipes in the place of the store's files: each must be an error, and none may hang.

package blobstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gust-stream/gust/internal/regular"
	"github.com/gust-stream/gust/thrift/storm"
)

func pipe(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
}

func wantPipe(t *testing.T, what, path string, err error) {
	t.Helper()
	if !errors.Is(err, regular.ErrNot) || !strings.Contains(err.Error(), path+" is a named pipe") {
		t.Errorf("%s: %v, want that %s is a named pipe", what, err, path)
	}
}

func TestPipesInPlaceOfFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "blobs")
	put(t, open(t, dir), "a", "content")

	s := open(t, dir) // measures anew
	data, meta := filepath.Join(s.folder(dataPrefix, "a"), fileName), filepath.Join(s.folder(metaPrefix, "a"), fileName)
	pipe(t, meta)
	_, err := s.Meta(t.Context(), "a")
	wantPipe(t, "Meta", meta, err)
	wantPipe(t, "SetMeta", meta, s.SetMeta(t.Context(), "a", &storm.SettableBlobMeta{}))
	pipe(t, data)
	_, err = s.Open("a")
	wantPipe(t, "Open", data, err)

	jar := filepath.Join(t.TempDir(), "jar")
	pipe(t, jar)
	wantPipe(t, "Put", jar, s.Put(t.Context(), Content{Key: "b", File: jar}))
	big := Content{Key: "c", Data: make([]byte, maxRecord)}
	wantPipe(t, "Put with a large one", jar, s.Put(t.Context(), Content{Key: "b", File: jar}, big))
	if s.Has("b") || s.Has("c") {
		t.Error("a blob of a failed Put is there")
	}

	pipe(t, dir+journalSuffix)
	wantPipe(t, "Load", dir+journalSuffix, New(dir).Load())
}
