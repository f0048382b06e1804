// SPDX-License-Identifier: Apache-2.0

// This file holds the store's index, its reads and its removals.

package blobstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/gust-stream/gust/internal/regular"
	"github.com/gust-stream/gust/thrift/storm"
)

// Errors that a caller decides on; they are wrapped with the key.
var (
	ErrNotFound = errors.New("no blob of this key")
	ErrExists   = errors.New("a blob of this key exists")
	ErrBadKey   = errors.New("not a key for a blob")
)

// Store is the folder of blobs. It is safe for use by many goroutines; two processes must not share one folder.
type Store struct {
	dir string

	mu    sync.RWMutex
	index map[string]*entry // guarded by mu; also keys that are being made

	journal journal
}

// entry is what the store remembers of one blob.
type entry struct {
	ready bool // false while the first content is being written; guarded by Store.mu

	mu       sync.Mutex
	measured bool  // size and version are known; guarded by mu, as they are
	size     int64 // bytes
	version  int64 // CRC-32C of the content
}

// New names the folder of a store; nothing is opened. dir is Storm's <blobstore.dir or storm.local.dir>/blobs.
func New(dir string) *Store { return &Store{dir: dir, index: map[string]*entry{}} }

// Load makes the folder when it is missing, removes what an interrupted write left, and reads which blobs there are.
func (s *Store) Load() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("open blob store: %w", err)
	}
	if err := s.look(); err != nil {
		return fmt.Errorf("open blob store: %w", err)
	}
	if err := s.openJournal(); err != nil {
		return fmt.Errorf("open blob store: %w", err)
	}
	return nil
}

// look fills the index with what lies in the folder.
func (s *Store) look() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.index)
	return filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if strings.HasSuffix(path, tempSuffix) {
			return os.Remove(path)
		}
		key, isData := strings.CutPrefix(filepath.Base(filepath.Dir(path)), dataPrefix)
		if d.Name() == fileName && isData && CheckKey(key) == nil {
			s.index[key] = &entry{ready: true}
		}
		return nil
	})
}

// Keys returns the keys of all blobs, sorted.
func (s *Store) Keys() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	keys := make([]string, 0, len(s.index))
	for key, e := range s.index {
		if e.ready {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Has tells whether there is a blob of this key.
func (s *Store) Has(key string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, ok := s.index[key]
	return ok && e.ready
}

// Blob is an open blob: its content, size in bytes and version. Later writes of the key do not change what it reads.
type Blob struct {
	*os.File
	Size    int64
	Version int64
}

// Open opens a blob for reading; the caller closes it.
func (s *Store) Open(key string) (*Blob, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, err := s.find(key)
	if err != nil {
		return nil, err
	}
	file, err := regular.Open(filepath.Join(s.folder(dataPrefix, key), fileName))
	if err != nil {
		return nil, fmt.Errorf("open blob %q: %w", key, err)
	}
	size, version, err := e.measure(file, func(sum int64) error { return s.checkSeal(key, file, sum) })
	if err != nil {
		_ = file.Close() // the fault found is the one to tell
		return nil, fmt.Errorf("open blob %q: %w", key, err)
	}
	return &Blob{File: file, Size: size, Version: version}, nil
}

// Read returns the whole content of a blob; one above limit bytes is an error.
func (s *Store) Read(key string, limit int64) ([]byte, error) {
	blob, err := s.Open(key)
	if err != nil {
		return nil, err
	}
	defer func() { _ = blob.Close() }() // it was only read
	if blob.Size > limit {
		return nil, fmt.Errorf("read blob %q: %d bytes, more than %d", key, blob.Size, limit)
	}
	content := make([]byte, blob.Size)
	if _, err := io.ReadFull(blob, content); err != nil {
		return nil, fmt.Errorf("read blob %q: %w", key, err)
	}
	return content, nil
}

// Version returns the version of a blob's content.
func (s *Store) Version(key string) (int64, error) {
	blob, err := s.Open(key)
	if err != nil {
		return 0, err
	}
	return blob.Version, blob.Close()
}

// Meta returns a blob's meta as it was set.
func (s *Store) Meta(ctx context.Context, key string) (*storm.SettableBlobMeta, error) {
	s.mu.RLock()
	_, err := s.find(key)
	s.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.folder(metaPrefix, key), fileName)
	data, err := regular.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read meta of blob %q: %w", key, err)
	}
	meta := storm.NewSettableBlobMeta()
	buffer := &thrift.TMemoryBuffer{Buffer: bytes.NewBuffer(data)}
	if err := meta.Read(ctx, thrift.NewTBinaryProtocolConf(buffer, nil)); err != nil {
		return nil, fmt.Errorf("read meta of blob %q from %s: %w", key, path, err)
	}
	return meta, nil
}

// Delete removes a blob. Readers that have it open go on.
func (s *Store) Delete(key string) error {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.find(key); err != nil {
		return err
	}
	if s.journal.keys[key] {
		if err := s.journal.append(encodeRecord(recordDelete, stored{key: key})); err != nil {
			return fmt.Errorf("delete blob %q: %w", key, err)
		}
	}
	if err := s.removeFiles(key); err != nil {
		return fmt.Errorf("delete blob %q: %w", key, err)
	}
	delete(s.index, key)
	return nil
}

func (s *Store) removeFiles(key string) error {
	for _, prefix := range []string{dataPrefix, metaPrefix} {
		folder := s.folder(prefix, key)
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
		if err := regular.SyncDir(filepath.Dir(folder)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// find returns a key's entry; the caller holds mu.
func (s *Store) find(key string) (*entry, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	e, ok := s.index[key]
	if !ok || !e.ready {
		return nil, fmt.Errorf("%w: %q", ErrNotFound, key)
	}
	return e, nil
}

// measure finds size and version; a content that was there before this process is read once for them and must pass check.
func (e *entry) measure(file *os.File, check func(version int64) error) (size, version int64, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.measured {
		hash := crc32.New(crc32.MakeTable(crc32.Castagnoli))
		if e.size, err = io.Copy(hash, file); err != nil {
			return 0, 0, err
		}
		if _, err = file.Seek(0, io.SeekStart); err != nil {
			return 0, 0, err
		}
		if err := check(int64(hash.Sum32())); err != nil {
			return 0, 0, err
		}
		e.version, e.measured = int64(hash.Sum32()), true
	}
	return e.size, e.version, nil
}
