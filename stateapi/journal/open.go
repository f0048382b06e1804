// SPDX-License-Identifier: Apache-2.0

// This file opens a journal: it tells a tail that a crash tore from damage to what had been durable.

package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/internal/regular"
	"github.com/gust-stream/gust/stateapi"
)

// Open opens the journal in dir, which is made where it is missing; the caller keeps other processes out. Records that were appended
// and never became durable may be there or not; of the former all before one that is there are there.
func Open(dir string, o Options, log *zap.Logger) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	j := &Journal{dir: dir, fileSize: o.FileSize, log: log, fdatasync: fdatasync}
	if j.fileSize == 0 {
		j.fileSize = DefaultFileSize
	}
	if err := j.open(o.Start); err != nil {
		for _, f := range j.files {
			if f.f != nil {
				err = errors.Join(err, f.f.Close())
			}
		}
		if j.mark != nil {
			err = errors.Join(err, j.mark.Close())
		}
		return nil, err
	}
	return j, nil
}

func (j *Journal) open(start uint64) error {
	marked, err := j.readMark()
	if err != nil {
		return err
	}
	if err := j.list(); err != nil {
		return err
	}
	if len(j.files) == 0 {
		if marked > start {
			return fmt.Errorf("journal %s has no files, only a mark: %w", j.dir, stateapi.ErrCorrupt)
		}
		f, err := j.create(1, start)
		if err != nil {
			return err
		}
		j.files = []*file{f}
	}
	end, err := j.findEnd(marked)
	if err != nil {
		return err
	}
	if err := j.cut(end); err != nil {
		return err
	}
	j.end, j.synced = end, end
	_, _ = j.mark.WriteAt(newMark(end), 0) // an older one would do
	return nil
}

func (j *Journal) readMark() (uint64, error) {
	f, err := regular.OpenFile(filepath.Join(j.dir, markName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return 0, fmt.Errorf("open journal: %w", err)
	}
	j.mark = f
	b, err := io.ReadAll(io.LimitReader(f, markSize))
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return parseMark(b), nil
}

// list finds the files. One that was made ahead of its use goes.
func (j *Journal) list() error {
	entries, err := os.ReadDir(j.dir)
	if err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	for _, e := range entries {
		number, ok := fileNumber(e.Name())
		if !ok {
			continue
		}
		f := &file{path: filepath.Join(j.dir, e.Name()), number: number}
		if f.start, err = readStart(f.path); err != nil {
			return err
		}
		if f.start != unbegun {
			j.files = append(j.files, f)
			continue
		}
		if err := os.Remove(f.path); err != nil {
			return fmt.Errorf("open journal: %w", err)
		}
	}
	slices.SortFunc(j.files, func(a, b *file) int { return cmp.Compare(a.number, b.number) })
	for i := 1; i < len(j.files); i++ {
		a, b := j.files[i-1], j.files[i]
		if b.number != a.number+1 || b.start < a.start {
			return fmt.Errorf("journal %s: %s does not follow %s: %w", j.dir, fileName(b.number), fileName(a.number), stateapi.ErrCorrupt)
		}
	}
	return nil
}

// readStart finds the position of a file's first record. Where the header is damaged the first record says it; a file with neither was
// not begun when the machine stopped.
func readStart(path string) (uint64, error) {
	f, err := regular.Open(path)
	if err != nil {
		return 0, fmt.Errorf("open journal: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read from
	b := make([]byte, headerSize+headSize)
	n, err := io.ReadFull(f, b)
	if err != nil && !short(err) {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	start, err := parseHeader(b[:min(n, headerSize)])
	if err == nil {
		return start, nil
	}
	if newer, ok := errors.AsType[*versionError](err); ok {
		return 0, fmt.Errorf("%s: %w", path, newer)
	}
	if n < len(b) {
		return unbegun, nil
	}
	h, ok := parseHead(b[headerSize:], 0, unbegun)
	if !ok {
		if allZero(b) {
			return unbegun, nil
		}
		return 0, fmt.Errorf("%s, offset 0: %w", path, err)
	}
	return h.position, nil
}

func allZero(b []byte) bool { return bytes.Count(b, []byte{0}) == len(b) }

// findEnd finds where the journal ends. Before the mark, and before where any record says that fsync had come, all had been durable:
// what is damaged there is damage and stays. The first thing behind it that is not whole was torn by a crash and ends the journal.
func (j *Journal) findEnd(marked uint64) (uint64, error) {
	first := 0
	for i, f := range j.files {
		if f.start <= marked {
			first = i
		}
	}
	last := j.files[len(j.files)-1]
	info, err := os.Stat(last.path)
	if err != nil {
		return 0, fmt.Errorf("open journal: %w", err)
	}
	limit := last.start + uint64(max(info.Size()-headerSize, 0))
	r := &reader{spans: spansOf(j.files[first:], 0, limit), position: j.files[first].start, reuse: true}
	if len(r.spans) > 0 {
		r.position = r.spans[0].start
	}
	defer r.close()
	durable := max(marked, j.files[0].start)
	end, torn := j.files[first].start, []uint64(nil)
	for {
		record, err := r.next()
		damage, damaged := errors.AsType[*DamageError](err)
		switch {
		case damaged:
			torn = append(torn, damage.Start)
		case errors.Is(err, io.EOF):
			torn = slices.DeleteFunc(torn, func(p uint64) bool { return p < durable })
			if len(torn) > 0 {
				end = min(end, torn[0])
			}
			return max(end, durable), nil
		case err != nil:
			return 0, err
		default:
			durable, end = max(durable, r.synced), record.End
		}
	}
}

// cut removes what lies behind end and leaves the last file open.
func (j *Journal) cut(end uint64) error {
	for len(j.files) > 1 && j.files[len(j.files)-1].start > end {
		last := j.files[len(j.files)-1]
		if err := os.Remove(last.path); err != nil {
			return fmt.Errorf("cut journal: %w", err)
		}
		j.files = j.files[:len(j.files)-1]
	}
	last := j.files[len(j.files)-1]
	if last.f == nil {
		f, err := regular.OpenFile(last.path, os.O_RDWR, 0)
		if err != nil {
			return fmt.Errorf("open journal: %w", err)
		}
		last.f = f
	}
	size := int64(end-last.start) + headerSize
	info, err := last.f.Stat()
	if err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	if info.Size() > size { // what is behind could look like a record one day
		if err := last.f.Truncate(size); err != nil {
			return fmt.Errorf("cut journal: %w", err)
		}
	}
	last.allocated = min(info.Size(), size)
	// Records that had not become durable are there: they count from now on, so they must be.
	if err := errors.Join(last.f.Sync(), regular.SyncDir(j.dir)); err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	for _, f := range j.files[:len(j.files)-1] {
		if err := syncFile(f.path); err != nil {
			return err
		}
	}
	return nil
}

func syncFile(path string) error {
	f, err := regular.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	return nil
}
