// SPDX-License-Identifier: Apache-2.0

// The log's writing side: room is taken before a change is made, and one write and
// one fsync make all changes of a batch durable.

package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/cespare/xxhash/v2"

	"github.com/gust-stream/gust/internal/regular"
)

// allocChunk is how far ahead of the last byte a log file is allocated.
const allocChunk = 1 << 20

// logFile is one open log file. Tests put faults into it.
type logFile interface {
	io.WriterAt
	io.Closer
	Sync() error
	Truncate(size int64) error
	// Allocate makes sure that size bytes can be written without needing space.
	Allocate(size int64) error
}

// osFile is a logFile of the operating system.
type osFile struct{ *os.File }

// Allocate extends the file by zeros that take up space.
func (f osFile) Allocate(size int64) error {
	for {
		err := syscall.Fallocate(int(f.Fd()), 0, 0, size)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// Sync flushes data and size, no more metadata than that takes.
func (f osFile) Sync() error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func openOSFile(path string, flag int) (logFile, error) {
	f, err := regular.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// logWriter appends batches to the newest log file. reserve may be called while a
// write runs; all else belongs to the goroutine that writes.
type logWriter struct {
	dir  string
	open func(path string, flag int) (logFile, error)
	mark *os.File

	mu        sync.Mutex // guards the fields below
	f         logFile
	base      int64 // zxid in the file's name: its changes are this one and later, mostly
	off       int64 // end of what is durable
	allocated int64 // file size; 0: this file system cannot allocate
	reserved  int64 // promised to changes that are not written yet
}

func logName(base int64) string  { return fmt.Sprintf("log.%016x", base) }
func snapName(zxid int64) string { return fmt.Sprintf("snap.%016x", zxid) }

// create starts a new log file whose first change will be base. The file is
// durable, and can take what is reserved, before it replaces the old one.
func (w *logWriter) create(base int64) error {
	path := filepath.Join(w.dir, logName(base))
	w.mu.Lock()
	room := fileHeader + w.reserved + allocChunk
	w.mu.Unlock()
	f, err := w.open(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return fmt.Errorf("create log: %w", err)
	}
	allocated, err := allocate(f, room)
	if err == nil {
		_, err = f.WriteAt(newFileHeader(logMagic, base), 0)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = regular.SyncDir(w.dir)
	}
	if err == nil {
		err = w.replace(f, base, allocated)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("create log %s: %w", path, err), f.Close(), os.Remove(path))
	}
	return nil
}

// replace makes f the file to write and finishes the old one. More may have been
// reserved since f was made. An error means that nothing has changed, except
// errUnfinished, after which the store must be opened again.
func (w *logWriter) replace(f logFile, base, allocated int64) error {
	w.mu.Lock()
	if need := fileHeader + w.reserved; allocated > 0 && need > allocated {
		var err error
		if allocated, err = allocate(f, need); err != nil {
			w.mu.Unlock()
			return err
		}
	}
	old, end := w.f, w.off
	w.f, w.base, w.off, w.allocated = f, base, fileHeader, allocated
	w.mu.Unlock()
	if old == nil {
		return nil
	}
	// The new file is in place whatever happens to the old one, whose changes are
	// durable already; what is given back here is only its unused end.
	if err := errors.Join(old.Truncate(end), old.Sync(), old.Close()); err != nil {
		return fmt.Errorf("%w: %w", errUnfinished, err)
	}
	return nil
}

var errUnfinished = errors.New("old log is not finished")

// allocate returns the size that is safe to write, 0 if the file system cannot say.
func allocate(f logFile, size int64) (int64, error) {
	err := f.Allocate(size)
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return size, nil
}

// finish gives back unused space and closes the file. Nothing in it changes.
func (w *logWriter) finish() error {
	return errors.Join(w.f.Truncate(w.off), w.f.Sync(), w.f.Close())
}

// reserve promises room for n more bytes, or says that the disk has none.
func (w *logWriter) reserve(n int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	need := w.off + w.reserved + n
	if w.allocated > 0 && need > w.allocated {
		size, err := allocate(w.f, need+allocChunk)
		if err != nil {
			// Close to full: what is needed may fit where a whole chunk does not.
			if size, err = allocate(w.f, need); err != nil {
				return fmt.Errorf("extend log %s to %d bytes: %w", logName(w.base), need, err)
			}
		}
		w.allocated = size
	}
	w.reserved += n
	return nil
}

// write makes one frame durable. reserved is what was promised to it. After an error
// the file may hold part of the frame: the store must be opened again.
func (w *logWriter) write(frame []byte, zxid, reserved int64) error {
	putFrameHeader(frame, zxid)
	off := w.off
	if _, err := w.f.WriteAt(frame, off); err != nil {
		return fmt.Errorf("write log %s at %d: %w", logName(w.base), off, err)
	}
	if err := w.f.Sync(); err != nil {
		return fmt.Errorf("sync log %s: %w", logName(w.base), err)
	}
	off += int64(len(frame))
	w.mu.Lock()
	w.off = off
	w.reserved -= reserved
	w.mu.Unlock()
	w.writeMark(off, zxid)
	return nil
}

// release takes back a promise that was not needed.
func (w *logWriter) release(n int64) {
	w.mu.Lock()
	w.reserved -= n
	w.mu.Unlock()
}

// mark remembers up to where the log has been acknowledged. It is written after
// each fsync of the log and never synced itself: after a crash of the machine it may be
// older, never newer than the log. What lies before it must be whole.
type mark struct {
	base, off, zxid int64
}

const markSize = 40

// writeMark does not report errors: an older mark is as good as a machine's crash.
func (w *logWriter) writeMark(off, zxid int64) {
	b := make([]byte, 0, markSize)
	b = append(b, markMagic...)
	b = binary.BigEndian.AppendUint64(b, uint64(w.base))
	b = binary.BigEndian.AppendUint64(b, uint64(off))
	b = binary.BigEndian.AppendUint64(b, uint64(zxid))
	b = binary.BigEndian.AppendUint64(b, xxhash.Sum64(b))
	_, _ = w.mark.WriteAt(b, 0)
}

// readMark reads the mark. One that is absent or torn says nothing.
func readMark(b []byte) mark {
	if len(b) != markSize || string(b[:8]) != markMagic ||
		binary.BigEndian.Uint64(b[32:]) != xxhash.Sum64(b[:32]) {
		return mark{}
	}
	return mark{
		base: int64(binary.BigEndian.Uint64(b[8:])),
		off:  int64(binary.BigEndian.Uint64(b[16:])),
		zxid: int64(binary.BigEndian.Uint64(b[24:])),
	}
}
