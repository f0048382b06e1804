// SPDX-License-Identifier: Apache-2.0

// This file appends records and makes them durable.

package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/gust-stream/gust/internal/regular"
	"github.com/gust-stream/gust/stateapi"
)

const (
	// DefaultFileSize is where a file ends and the next begins.
	DefaultFileSize = 64 << 20

	// allocation is how far ahead of the last record a file is allocated.
	allocation = 4 << 20
)

// Options of a Journal.
type Options struct {
	FileSize int64  // 0: DefaultFileSize
	Start    uint64 // position of the first record in a folder without journal
}

// file is one file of the journal.
type file struct {
	path      string
	number    uint64
	start     uint64
	allocated int64    // bytes of the file that need no more room
	f         *os.File // nil: finished
}

// Journal is an open journal. All methods can be called by many goroutines.
type Journal struct {
	dir       string
	fileSize  int64
	log       *zap.Logger
	mark      *os.File
	fdatasync func(*os.File) error

	making sync.WaitGroup // the goroutine that makes the next file

	mu     sync.Mutex // guards all below; not held while the disk works, except to write into its cache
	files  []*file    // the last one is written to
	next   *file      // made ahead
	ahead  bool       // somebody makes it
	end    uint64     // position behind the last record
	synced uint64     // up to here all is durable
	round  chan struct{}
	broken error // sticky: after a failed fsync nobody knows what is on the disk
}

// Append writes a record of all parts and returns its position and that behind it. It is durable when Sync of the latter has
// returned; records become durable in order. An error means that nothing was appended.
func (j *Journal) Append(tag uint64, parts ...[]byte) (start, end uint64, err error) {
	h := head{tag: tag}
	for _, p := range parts {
		h.length += uint64(len(p))
		h.body = update(h.body, p)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken != nil {
		return 0, 0, j.broken
	}
	if err := j.turn(); err != nil {
		return 0, 0, err
	}
	h.position, h.synced = j.end, j.synced
	if err := j.write(h, parts); err != nil {
		return 0, 0, err
	}
	j.end = h.end()
	return h.position, j.end, nil
}

// turn goes over to the next file if it is time and there is one.
func (j *Journal) turn() error {
	current := j.files[len(j.files)-1]
	if j.next == nil || int64(j.end-current.start) < j.fileSize {
		return nil
	}
	if _, err := j.next.f.WriteAt(newHeader(j.end), 0); err != nil {
		return fmt.Errorf("begin %s: %w", j.next.path, full(err))
	}
	j.next.start = j.end
	j.files = append(j.files, j.next)
	j.next = nil
	return nil
}

func (j *Journal) write(h head, parts [][]byte) error {
	current := j.files[len(j.files)-1]
	at := int64(h.position-current.start) + headerSize
	if err := current.reserve(at + int64(frameSize+h.length)); err != nil {
		return err
	}
	raw := h.encode()
	for i := -1; i <= len(parts); i++ {
		part := raw[:]
		if i >= 0 && i < len(parts) {
			part = parts[i]
		}
		if _, err := current.f.WriteAt(part, at); err != nil {
			return fmt.Errorf("write %s at %d: %w", current.path, at, full(err))
		}
		at += int64(len(part))
	}
	return nil
}

// reserve makes sure that the file can grow to size.
func (f *file) reserve(size int64) error {
	if size <= f.allocated {
		return nil
	}
	want := size + allocation
	err := allocate(f.f, want)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		// Close to full: what is needed may fit where more does not.
		want = size
		err = allocate(f.f, want)
	}
	if err != nil {
		return fmt.Errorf("extend %s to %d bytes: %w", f.path, size, full(err))
	}
	f.allocated = want
	return nil
}

func allocate(f *os.File, size int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), 0, 0, size)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return nil // this file system cannot; then writes tell
		default:
			return err
		}
	}
}

// full says of a disk without room that there is none.
func full(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fmt.Errorf("%w: %w", stateapi.ErrNoRoom, err)
	}
	return err
}

// Sync returns when all records before position are durable.
func (j *Journal) Sync(ctx context.Context, position uint64) error {
	j.mu.Lock()
	for {
		if j.synced >= position {
			j.mu.Unlock()
			return nil
		}
		if j.broken != nil {
			defer j.mu.Unlock()
			return j.broken
		}
		if j.round == nil {
			j.lead()
			continue
		}
		round := j.round
		j.mu.Unlock()
		select {
		case <-round:
		case <-ctx.Done():
			return ctx.Err()
		}
		j.mu.Lock()
	}
}

// lead makes durable what there is, for all who wait. It is called and returns with the lock held, and works without.
func (j *Journal) lead() {
	round := make(chan struct{})
	j.round = round
	end := j.end
	var old []*file
	for _, f := range j.files[:len(j.files)-1] {
		if f.f != nil {
			old = append(old, f)
		}
	}
	current, starts := j.files[len(j.files)-1], j.starts(old)
	j.mu.Unlock()
	var err error
	for i, f := range old { // before the records behind them count
		if err == nil {
			err = j.finish(f, starts[i])
		}
	}
	if err == nil {
		err = j.sync(current)
	}
	if err == nil {
		_, _ = j.mark.WriteAt(newMark(end), 0) // an older mark is as good as a machine's crash
	}
	j.mu.Lock()
	j.round = nil
	close(round)
	if err != nil {
		j.broken = err
		return
	}
	for _, f := range old {
		f.f = nil
	}
	j.synced = end
	j.prepare()
}

// starts are the positions where the files after those of old begin.
func (j *Journal) starts(old []*file) []uint64 {
	if len(old) == 0 {
		return nil
	}
	all := j.files[len(j.files)-len(old)-1:]
	starts := make([]uint64, len(old))
	for i := range old {
		starts[i] = all[i+1].start
	}
	return starts
}

// finish makes a file durable that ends where the next begins.
func (j *Journal) finish(f *file, end uint64) error {
	if err := f.f.Truncate(int64(end-f.start) + headerSize); err != nil {
		return fmt.Errorf("finish %s: %w", f.path, err)
	}
	if err := j.sync(f); err != nil {
		return err
	}
	if err := f.f.Close(); err != nil {
		return fmt.Errorf("finish %s: %w", f.path, err)
	}
	return nil
}

func (j *Journal) sync(f *file) error {
	if err := j.fdatasync(f.f); err != nil {
		return fmt.Errorf("sync %s: %w", f.path, err)
	}
	return nil
}

// fdatasync flushes data and size, no more metadata than that takes.
func fdatasync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// prepare has the next file made before it is needed, beside all else.
func (j *Journal) prepare() {
	current := j.files[len(j.files)-1]
	if j.next != nil || j.ahead || int64(j.end-current.start) < j.fileSize/2 {
		return
	}
	j.ahead = true
	number := current.number + 1
	j.making.Go(func() {
		f, err := j.create(number, unbegun)
		j.mu.Lock()
		defer j.mu.Unlock()
		j.ahead = false
		if err != nil {
			j.log.Warn("make the journal's next file; the present one goes on", zap.Error(err))
			return
		}
		j.next = f
	})
}

// create makes a file, durable with its name.
func (j *Journal) create(number, start uint64) (*file, error) {
	f := &file{path: filepath.Join(j.dir, fileName(number)), number: number, start: start}
	opened, err := regular.OpenFile(f.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create journal: %w", full(err))
	}
	f.f = opened
	if err = f.reserve(headerSize); err == nil {
		_, err = opened.WriteAt(newHeader(start), 0)
	}
	if err == nil {
		err = opened.Sync()
	}
	if err == nil {
		err = regular.SyncDir(j.dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create %s: %w", f.path, full(err)), opened.Close(), os.Remove(f.path))
	}
	return f, nil
}

// Truncate removes files that hold only records before position.
func (j *Journal) Truncate(position uint64) error {
	j.mu.Lock()
	var old []*file
	for len(j.files) > 1 && j.files[1].start <= position && j.files[0].f == nil {
		old = append(old, j.files[0])
		j.files = j.files[1:]
	}
	j.mu.Unlock()
	for _, f := range old { // oldest first: what is left has no gap
		if err := os.Remove(f.path); err != nil {
			return fmt.Errorf("truncate journal: %w", err)
		}
	}
	if len(old) == 0 {
		return nil
	}
	return regular.SyncDir(j.dir)
}

// Start is the position of the first record that there is.
func (j *Journal) Start() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.files[0].start
}

// End is the position behind the last record.
func (j *Journal) End() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.end
}

// Synced is the position up to which all is durable.
func (j *Journal) Synced() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.synced
}

// spans are the files that hold records from position on.
func (j *Journal) spans(from uint64) []span {
	j.mu.Lock()
	defer j.mu.Unlock()
	return spansOf(j.files, from, j.end)
}

func spansOf(files []*file, from, end uint64) []span {
	var spans []span
	for i, f := range files {
		s := span{path: f.path, start: f.start, end: end}
		if i+1 < len(files) {
			s.end = files[i+1].start
		}
		if s.end > from {
			spans = append(spans, s)
		}
	}
	return spans
}

// Close makes all durable and gives back files. Nobody else may use the journal any more.
func (j *Journal) Close(ctx context.Context) error {
	err := j.Sync(ctx, j.End())
	j.making.Wait()
	for _, f := range append(j.files, j.next) {
		if f != nil && f.f != nil {
			err = errors.Join(err, f.f.Close())
		}
	}
	return errors.Join(err, j.mark.Close())
}
