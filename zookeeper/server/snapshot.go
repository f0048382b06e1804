// SPDX-License-Identifier: Apache-2.0

// Snapshot files: written beside the log while changes go on, read at start.

package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gust-stream/gust/internal/regular"
	"github.com/gust-stream/gust/zookeeper/tree"
)

func appendUint64(b []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(b, v) }

// mapped is a file's content without a copy of it on the heap.
type mapped struct{ data []byte }

func mapFile(path string) (mapped, error) {
	f, err := regular.Open(path)
	if err != nil {
		return mapped{}, err
	}
	defer f.Close() //nolint:errcheck // opened for reading; the mapping outlives it
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return mapped{}, err
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, int(st.Size()), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return mapped{}, fmt.Errorf("map %s: %w", path, err)
	}
	return mapped{data: b}, nil
}

func (m mapped) unmap() {
	if m.data != nil {
		_ = syscall.Munmap(m.data)
	}
}

// loadSnapshot reads the snapshot at zxid. It was renamed into place when it was
// whole, so any fault in it is damage.
func (s *store) loadSnapshot(zxid int64) (*tree.Tree, error) {
	path := filepath.Join(s.dir, snapName(zxid))
	m, err := mapFile(path)
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	defer m.unmap()
	b := m.data
	if has, err := checkFileHeader(b, snapMagic); err != nil {
		return nil, refuse(path, 0, err)
	} else if has != zxid {
		return nil, &CorruptError{File: path, Reason: "header is that of " + snapName(has)}
	}
	l := tree.NewLoader()
	for off := fileHeader; off < len(b); {
		records, size, fault := readFrame(b[off:])
		switch fault {
		case frameShort:
			return nil, &CorruptError{File: path, Offset: int64(off), Reason: "the file ends within a frame"}
		case frameBad:
			return nil, &CorruptError{File: path, Offset: int64(off), Reason: "wrong checksum"}
		case frameOK:
		}
		if err := l.Add(records); err != nil {
			return nil, &CorruptError{File: path, Offset: int64(off), Reason: err.Error()}
		}
		off += size
	}
	t, err := l.Tree()
	if err != nil {
		return nil, &CorruptError{File: path, Offset: int64(len(b)), Reason: err.Error()}
	}
	return t, nil
}

// saveSnapshot writes the records that come over chunks until it is closed, makes
// the file durable and deletes what it replaces. abort is closed when no more will come.
func (s *store) saveSnapshot(zxid int64, chunks <-chan []byte, abort <-chan struct{}) (err error) {
	path := filepath.Join(s.dir, snapName(zxid))
	f, err := os.OpenFile(path+tmpSuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("create snapshot: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("save snapshot %s: %w", path, err), os.Remove(path+tmpSuffix))
		}
	}()
	if err := errors.Join(writeChunks(f, zxid, chunks, abort), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+tmpSuffix, path); err != nil {
		return err
	}
	if err := regular.SyncDir(s.dir); err != nil {
		return err
	}
	return s.prune(zxid)
}

var errAborted = errors.New("given up")

func writeChunks(f *os.File, zxid int64, chunks <-chan []byte, abort <-chan struct{}) error {
	if _, err := f.Write(newFileHeader(snapMagic, zxid)); err != nil {
		return err
	}
	for {
		select {
		case <-abort:
			return errAborted
		case chunk, ok := <-chunks:
			if !ok {
				return nil
			}
			frame := append(make([]byte, frameHeader, frameHeader+len(chunk)), chunk...)
			putFrameHeader(frame, zxid)
			if _, err := f.Write(frame); err != nil {
				return err
			}
		}
	}
}
