// SPDX-License-Identifier: Apache-2.0

// This file holds the writes: whole blobs that appear together, and uploads that arrive piece by piece.

package blobstore

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/internal/regular"
	"github.com/gust-stream/gust/thrift/storm"
)

// Content is one blob to be stored: its bytes, or the name of a file whose content it takes.
type Content struct {
	Key  string
	Meta *storm.SettableBlobMeta
	Data []byte
	File string
}

// Put stores new blobs. When it returns without an error all are durable; else none is there. A key that exists is
// ErrExists.
func (s *Store) Put(ctx context.Context, contents ...Content) error {
	uploads := make([]*Upload, len(contents))
	defer func() {
		for _, u := range uploads {
			u.Abort()
		}
	}()
	for i, content := range contents {
		upload, err := s.Create(ctx, content.Key, content.Meta)
		if err != nil {
			return err
		}
		uploads[i] = upload
	}
	err := s.putAll(uploads, contents)
	if err != nil {
		for _, content := range contents {
			if deleted := s.Delete(content.Key); deleted != nil && !errors.Is(deleted, ErrNotFound) {
				err = errors.Join(err, deleted)
			}
		}
	}
	return err
}

// putAll writes all contents: small ones by the journal, others through the steps of Commit together, so that what one
// step makes the disk do serves all.
func (s *Store) putAll(uploads []*Upload, contents []Content) error {
	blobs, small, err := gather(contents)
	if err != nil {
		return err
	}
	if small && s.journal.file != nil {
		for i, u := range uploads {
			blobs[i].meta, u.lazy = u.meta, true
			if _, err := u.Write(blobs[i].data); err != nil {
				return err
			}
		}
		return s.putJournaled(uploads, blobs)
	}
	var group errgroup.Group
	for i, content := range contents {
		group.Go(func() error {
			if err := uploads[i].fill(content); err != nil {
				return err
			}
			return uploads[i].seal()
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	for _, u := range uploads {
		if err := s.journal.forget(u.key); err != nil {
			return fmt.Errorf("write blob %q: %w", u.key, err)
		}
		if err := u.show(); err != nil {
			return err
		}
	}
	for _, u := range uploads {
		if err := u.settle(); err != nil {
			return err
		}
	}
	return nil
}

// gather reads the contents into memory when they are small together.
func gather(contents []Content) (blobs []stored, small bool, err error) {
	var total int64
	for _, content := range contents {
		size := int64(len(content.Data))
		if content.File != "" {
			info, err := os.Stat(content.File)
			if err != nil {
				return nil, false, fmt.Errorf("write blob %q: %w", content.Key, err)
			}
			size = info.Size()
		}
		total += size
	}
	if total > maxRecord {
		return nil, false, nil
	}
	for _, content := range contents {
		data := content.Data
		if content.File != "" {
			if data, err = regular.ReadFile(content.File); err != nil {
				return nil, false, fmt.Errorf("write blob %q: %w", content.Key, err)
			}
		}
		blobs = append(blobs, stored{key: content.Key, data: data})
	}
	return blobs, true, nil
}

// Upload is a blob whose content is arriving. It ends with Commit or Abort; until then readers see the old content, or
// none. It is not safe for use by several goroutines.
type Upload struct {
	store *Store
	key   string
	meta  []byte // encoded; nil keeps the meta that is there
	fresh *entry // the reserved entry of a new key, nil for an update
	file  *os.File
	hash  hash.Hash32
	size  int64

	lazy     bool   // the journal has it, so that nothing waits for the disk
	shown    bool   // the content has its name
	metaTemp string // the meta's file on its way, "" when there is none
}

// Create starts a new blob and reserves its key.
func (s *Store) Create(ctx context.Context, key string, meta *storm.SettableBlobMeta) (*Upload, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	encoded, err := encodeMeta(ctx, meta)
	if err != nil {
		return nil, fmt.Errorf("create blob %q: %w", key, err)
	}
	s.mu.Lock()
	if _, ok := s.index[key]; ok {
		s.mu.Unlock()
		return nil, fmt.Errorf("%w: %q", ErrExists, key)
	}
	reserved := &entry{}
	s.index[key] = reserved
	s.mu.Unlock()
	upload, err := s.upload(key)
	if err != nil {
		s.release(key)
		return nil, err
	}
	upload.meta, upload.fresh = encoded, reserved
	return upload, nil
}

// Update starts a new content of an existing blob.
func (s *Store) Update(key string) (*Upload, error) {
	s.mu.RLock()
	_, err := s.find(key)
	s.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	return s.upload(key)
}

// SetMeta replaces the meta of an existing blob.
func (s *Store) SetMeta(ctx context.Context, key string, meta *storm.SettableBlobMeta) error {
	encoded, err := encodeMeta(ctx, meta)
	if err != nil {
		return fmt.Errorf("set meta of blob %q: %w", key, err)
	}
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	if err := s.journal.forget(key); err != nil {
		return fmt.Errorf("set meta of blob %q: %w", key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.find(key); err != nil {
		return err
	}
	old, err := s.readMeta(key)
	if err != nil {
		return fmt.Errorf("set meta of blob %q: %w", key, err)
	}
	if mark, ok := sealOf(old); ok {
		encoded = mark.with(encoded)
	}
	folder := s.folder(metaPrefix, key)
	temp, err := s.tempMeta(key, encoded, true)
	if err == nil {
		if err = os.Rename(temp, filepath.Join(folder, fileName)); err != nil {
			_ = os.Remove(temp)
		}
	}
	if err == nil {
		err = s.syncPath(folder)
	}
	if err != nil {
		return fmt.Errorf("set meta of blob %q: %w", key, err)
	}
	return nil
}

func (s *Store) upload(key string) (*Upload, error) {
	file, err := temporary(s.folder(dataPrefix, key))
	if err != nil {
		return nil, fmt.Errorf("write blob %q: %w", key, err)
	}
	return &Upload{store: s, key: key, file: file, hash: crc32.New(crc32.MakeTable(crc32.Castagnoli))}, nil
}

// release gives up the reservation of a key.
func (s *Store) release(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.index, key)
}

// Write takes the next piece of the content.
func (u *Upload) Write(piece []byte) (int, error) {
	if u.file == nil {
		return 0, fmt.Errorf("write blob %q: the upload has ended", u.key)
	}
	n, err := u.file.Write(piece)
	u.hash.Write(piece[:n])
	u.size += int64(n)
	if err != nil {
		return n, fmt.Errorf("write blob %q: %w", u.key, err)
	}
	return n, nil
}

func (u *Upload) fill(content Content) error {
	if content.File == "" {
		_, err := u.Write(content.Data)
		return err
	}
	source, err := regular.Open(content.File)
	if err != nil {
		return fmt.Errorf("write blob %q: %w", u.key, err)
	}
	defer func() { _ = source.Close() }() // it was only read
	_, err = io.Copy(struct{ io.Writer }{u}, source)
	return err
}

// Commit makes the content the blob's, durably. An error leaves the old content in place, or none.
func (u *Upload) Commit() error {
	if u.file == nil {
		return fmt.Errorf("write blob %q: the upload has ended", u.key)
	}
	defer u.Abort()
	if err := u.seal(); err != nil {
		return err
	}
	u.store.journal.mu.Lock()
	defer u.store.journal.mu.Unlock()
	if err := u.store.journal.forget(u.key); err != nil {
		return fmt.Errorf("write blob %q: %w", u.key, err)
	}
	if err := u.show(); err != nil {
		return err
	}
	return u.settle()
}

// seal makes the content durable under its temporary name, and for a new blob the meta too.
func (u *Upload) seal() error {
	if u.lazy {
		if err := u.sealMeta(u.meta); err != nil {
			return fmt.Errorf("write blob %q: %w", u.key, err)
		}
		return nil
	}
	var group errgroup.Group
	group.Go(u.file.Sync)
	if u.meta != nil {
		group.Go(func() error { return u.sealMeta(u.meta) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("write blob %q: %w", u.key, err)
	}
	return nil
}

// sealMeta writes meta with the content's seal under a temporary name.
func (u *Upload) sealMeta(meta []byte) error {
	mark, err := sealFor(u.file, u.hash.Sum32())
	if err != nil {
		return err
	}
	u.metaTemp, err = u.store.tempMeta(u.key, mark.with(meta), !u.lazy)
	return err
}

// show gives the content its name. A reader may see it before the name is durable; the writer returns only after.
func (u *Upload) show() error {
	s := u.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.meta == nil { // an update: the meta is read and written under the lock, since SetMeta may change it at the same time
		meta, err := s.readMeta(u.key)
		if err == nil && len(meta) > 0 {
			err = u.sealMeta(meta)
		}
		if err != nil {
			return fmt.Errorf("write blob %q: %w", u.key, err)
		}
	}
	if u.metaTemp != "" { // meta first: a blob without meta cannot be read, meta without a blob is not seen
		if err := os.Rename(u.metaTemp, filepath.Join(s.folder(metaPrefix, u.key), fileName)); err != nil {
			return fmt.Errorf("write blob %q: %w", u.key, err)
		}
		u.metaTemp = ""
	}
	if err := os.Rename(u.file.Name(), filepath.Join(s.folder(dataPrefix, u.key), fileName)); err != nil {
		return fmt.Errorf("write blob %q: %w", u.key, err)
	}
	s.index[u.key] = &entry{ready: true, measured: true, size: u.size, version: int64(u.hash.Sum32())}
	u.fresh, u.shown = nil, true
	return nil
}

// settle makes the names durable.
func (u *Upload) settle() error {
	if err := u.store.syncPath(u.store.folder(metaPrefix, u.key)); err != nil {
		return fmt.Errorf("write blob %q: %w", u.key, err)
	}
	if err := u.store.syncPath(u.store.folder(dataPrefix, u.key)); err != nil {
		return fmt.Errorf("write blob %q: %w", u.key, err)
	}
	return nil
}

// Abort gives an upload up; after Commit, and on a nil upload, it does nothing.
func (u *Upload) Abort() {
	if u == nil || u.file == nil {
		return
	}
	_ = u.file.Close() // what Abort cannot remove, the next Load does
	if !u.shown {
		_ = os.Remove(u.file.Name())
	}
	if u.metaTemp != "" {
		_ = os.Remove(u.metaTemp)
	}
	u.file = nil
	if u.fresh != nil {
		_ = os.Remove(u.store.folder(dataPrefix, u.key))
		u.store.release(u.key)
		u.fresh = nil
	}
}

// tempMeta writes meta under a temporary name, durably where asked, and returns the name.
func (s *Store) tempMeta(key string, encoded []byte, durable bool) (string, error) {
	file, err := temporary(s.folder(metaPrefix, key))
	if err != nil {
		return "", err
	}
	_, err = file.Write(encoded)
	if err == nil && durable {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(file.Name())
		return "", err
	}
	return file.Name(), nil
}

// syncPath makes the names on the way from the store's folder down to this one durable.
func (s *Store) syncPath(folder string) error {
	for dir := folder; ; dir = filepath.Dir(dir) { // the folders above may be new too; an old one costs nothing to sync
		if err := regular.SyncDir(dir); err != nil {
			return err
		}
		if dir == s.dir || dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// temporary makes a new file for content on its way into a folder. Its name ends as Storm's do.
func temporary(folder string) (*os.File, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	for number := time.Now().UnixMilli(); ; number++ {
		file, err := os.OpenFile(filepath.Join(folder, strconv.FormatInt(number, 10)+tempSuffix), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, os.ErrExist) {
			return file, err
		}
	}
}

func encodeMeta(ctx context.Context, meta *storm.SettableBlobMeta) ([]byte, error) {
	if meta == nil {
		meta = &storm.SettableBlobMeta{Acl: []*storm.AccessControl{}}
	}
	buffer := thrift.NewTMemoryBuffer()
	if err := meta.Write(ctx, thrift.NewTBinaryProtocolConf(buffer, nil)); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}
