// SPDX-License-Identifier: Apache-2.0

// The directory: who owns it, what is in it, and how a tree comes out of it.

package server

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/cespare/xxhash/v2"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/internal/regular"
	"github.com/gust-stream/gust/zookeeper/tree"
)

const (
	lockName  = "lock"
	storeName = "store"
	markName  = "mark"
	tmpSuffix = ".tmp"

	secretSize = 32
)

// CorruptError refuses a file whose content is not what was written.
type CorruptError struct {
	File   string // path
	Offset int64  // of the first bad byte range
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is damaged at offset %d: %s", e.File, e.Offset, e.Reason)
}

// store is an open directory.
type store struct {
	dir    string
	log    *zap.Logger
	lock   *os.File
	mark   *os.File
	secret []byte // session passwords are derived from it
	opener func(path string, flag int) (logFile, error)
}

// openStore takes the directory for this process and reads or makes its identity.
func openStore(dir string, log *zap.Logger) (_ *store, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make store: %w", err)
	}
	s := &store{dir: dir, log: log, opener: openOSFile}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.lock, err = regular.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, fmt.Errorf("lock store: %w", err)
	}
	if err := syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock store: %s is in use by another server", dir)
		}
		return nil, fmt.Errorf("lock store %s: %w", dir, err)
	}
	if err := s.identity(); err != nil {
		return nil, err
	}
	if s.mark, err = regular.OpenFile(filepath.Join(dir, markName), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, fmt.Errorf("open mark: %w", err)
	}
	return s, nil
}

func (s *store) close() error {
	var errs []error
	if s.mark != nil {
		errs = append(errs, s.mark.Sync(), s.mark.Close())
	}
	if s.lock != nil {
		// Closing alone would leave the lock with any child that is just being forked.
		errs = append(errs, syscall.Flock(int(s.lock.Fd()), syscall.LOCK_UN), s.lock.Close())
	}
	return errors.Join(errs...)
}

// identity reads the store file (header, secret, xxhash of the secret), or makes it
// if the directory has no state yet.
func (s *store) identity() error {
	path := filepath.Join(s.dir, storeName)
	b, err := regular.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		if files, err := s.list(); err != nil || len(files.logs)+len(files.snaps) > 0 {
			return errors.Join(err, &CorruptError{File: path, Reason: "it is missing, and there are logs or snapshots beside it"})
		}
		b = newFileHeader(storeMagic, 0)
		secret := make([]byte, secretSize)
		if _, err := rand.Read(secret); err != nil {
			return fmt.Errorf("make store secret: %w", err)
		}
		b = append(b, secret...)
		b = appendUint64(b, xxhash.Sum64(secret))
		if err := writeWhole(path, b); err != nil {
			return fmt.Errorf("make store: %w", err)
		}
	} else if err != nil {
		return fmt.Errorf("read store: %w", err)
	}
	if _, err := checkFileHeader(b, storeMagic); err != nil {
		return refuse(path, 0, err)
	}
	if len(b) != fileHeader+secretSize+8 || !bytes.Equal(b[fileHeader+secretSize:], appendUint64(nil, xxhash.Sum64(b[fileHeader:fileHeader+secretSize]))) {
		return &CorruptError{File: path, Offset: fileHeader, Reason: "wrong length or checksum"}
	}
	s.secret = b[fileHeader : fileHeader+secretSize]
	return nil
}

// refuse tells a newer format from a damaged file.
func refuse(path string, off int64, err error) error {
	if newer, ok := errors.AsType[*newerError](err); ok {
		return fmt.Errorf("open %s: %w", path, newer)
	}
	return &CorruptError{File: path, Offset: off, Reason: err.Error()}
}

// writeWhole makes a file appear with its whole content or not at all.
func writeWhole(path string, b []byte) error {
	tmp := path + tmpSuffix
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return regular.SyncDir(filepath.Dir(path))
}

// files are the numbers in the names of logs and snapshots, in order.
type files struct {
	logs, snaps []int64
}

func (s *store) list() (files, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return files{}, fmt.Errorf("list store: %w", err)
	}
	var f files
	for _, e := range entries {
		kind, hex, ok := strings.Cut(e.Name(), ".")
		n, err := strconv.ParseInt(hex, 16, 64)
		if !ok || err != nil || len(hex) != 16 {
			continue
		}
		switch kind {
		case "log":
			f.logs = append(f.logs, n)
		case "snap":
			f.snaps = append(f.snaps, n)
		}
	}
	slices.Sort(f.logs)
	slices.Sort(f.snaps)
	return f, nil
}

// recovered is a tree as the files have it, and the log to go on with.
type recovered struct {
	tree *tree.Tree
	log  *logWriter
	lost int64 // zxid that clients may have seen and that is gone, or 0
	size int64 // bytes of log since the snapshot
}

// recover reads the newest snapshot and all changes behind it, cuts off what a crash
// left unfinished, and opens the log for more.
func (s *store) recover() (recovered, error) {
	f, err := s.list()
	if err != nil {
		return recovered{}, err
	}
	if err := s.removeTemporary(); err != nil {
		return recovered{}, err
	}
	r := recovered{tree: tree.New()}
	if n := len(f.snaps); n > 0 {
		if r.tree, err = s.loadSnapshot(f.snaps[n-1]); err != nil {
			return recovered{}, err
		}
	}
	b, err := regular.ReadFile(filepath.Join(s.dir, markName))
	if err != nil {
		return recovered{}, fmt.Errorf("read mark: %w", err)
	}
	m := readMark(b)
	if m.zxid > r.tree.Zxid() && !slices.Contains(f.logs, m.base) {
		return recovered{}, &CorruptError{File: filepath.Join(s.dir, logName(m.base)), Reason: "it is missing"}
	}
	if f.logs, err = s.dropBlank(f.logs, m); err != nil {
		return recovered{}, err
	}
	w := &logWriter{dir: s.dir, open: s.opener, mark: s.mark}
	for i, base := range f.logs {
		// A file is needed if it may hold a change that the snapshot has not.
		last := i == len(f.logs)-1
		if !last && f.logs[i+1] <= r.tree.Zxid()+1 {
			continue
		}
		off, err := s.replay(&r, base, last, m)
		if err != nil {
			return recovered{}, err
		}
		r.size += off
		if !last || off == 0 {
			continue
		}
		if err := s.reopen(w, base, off); err != nil {
			return recovered{}, err
		}
	}
	if w.f == nil {
		base := r.tree.Zxid() + 1
		if n := len(f.logs); n > 0 && f.logs[n-1] >= base { // it has not even a header
			base = f.logs[n-1]
			if err := os.Remove(filepath.Join(s.dir, logName(base))); err != nil {
				return recovered{}, fmt.Errorf("remove empty log: %w", err)
			}
		}
		if err := w.create(base); err != nil {
			return recovered{}, err
		}
	}
	r.log = w
	return r, nil
}

// dropBlank deletes the newest logs that never got a frame: a log that could not be
// put to use leaves one, and the log before it went on.
func (s *store) dropBlank(logs []int64, m mark) ([]int64, error) {
	for n := len(logs); n > 0 && logs[n-1] != m.base; n = len(logs) {
		path := filepath.Join(s.dir, logName(logs[n-1]))
		b, err := mapFile(path)
		if err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
		_, err = checkFileHeader(b.data, logMagic)
		blank := err == nil && allZero(b.data[fileHeader:]) || len(b.data) < fileHeader || allZero(b.data)
		b.unmap()
		if !blank {
			break
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("remove log without frames: %w", err)
		}
		logs = logs[:n-1]
	}
	return logs, nil
}

// removeTemporary deletes what a crash left half written.
func (s *store) removeTemporary() error {
	names, err := filepath.Glob(filepath.Join(s.dir, "*"+tmpSuffix))
	if err != nil {
		return fmt.Errorf("list temporary files: %w", err)
	}
	for _, name := range names {
		if err := os.Remove(name); err != nil {
			return fmt.Errorf("remove temporary file: %w", err)
		}
	}
	return nil
}

// reopen makes w go on in an existing file behind its last whole frame.
func (s *store) reopen(w *logWriter, base, off int64) error {
	path := filepath.Join(s.dir, logName(base))
	f, err := s.opener(path, os.O_RDWR)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	// Cutting first makes sure that only zeros lie ahead.
	if err := errors.Join(f.Truncate(off), f.Sync()); err != nil {
		return errors.Join(fmt.Errorf("cut log %s at %d: %w", path, off, err), f.Close())
	}
	// A full disk must not keep a server from starting: it can still answer reads.
	allocated, err := allocate(f, off+allocChunk)
	if err != nil {
		s.log.Warn("no room for the log", zap.String("file", path), zap.Error(err))
		allocated = off
	}
	w.f, w.base, w.off, w.allocated = f, base, off, allocated
	return nil
}

// replay does all changes of one log file again and returns where its last whole
// frame ends; 0 means that not even the header is there.
func (s *store) replay(r *recovered, base int64, last bool, m mark) (int64, error) {
	path := filepath.Join(s.dir, logName(base))
	b, err := mapFile(path)
	if err != nil {
		return 0, fmt.Errorf("read log: %w", err)
	}
	defer b.unmap()
	acked := int64(0) // up to here the file was acknowledged
	if m.base == base {
		acked = m.off
	}
	off, fault, err := s.replayFrames(r.tree, path, b.data, base)
	if err != nil {
		return 0, err
	}
	if fault == frameOK {
		if off < acked {
			return 0, &CorruptError{File: path, Offset: off, Reason: "acknowledged changes are overwritten by zeros"}
		}
		return off, nil
	}
	return s.tail(r, path, b.data, off, fault, last, acked, m)
}

// replayFrames stops at the first frame that is not whole. frameOK means that only
// untouched space follows.
func (s *store) replayFrames(t *tree.Tree, path string, b []byte, base int64) (int64, frameFault, error) {
	if len(b) < fileHeader {
		return 0, frameShort, nil
	}
	if zxid, err := checkFileHeader(b, logMagic); err != nil {
		if allZero(b) {
			return 0, frameShort, nil // created, never synced
		}
		return 0, frameOK, refuse(path, 0, err)
	} else if zxid != base {
		return 0, frameOK, &CorruptError{File: path, Reason: "header is that of " + logName(zxid)}
	}
	off := fileHeader
	for off < len(b) {
		payload, size, fault := readFrame(b[off:])
		if fault != frameOK {
			if allZero(b[off:]) {
				break
			}
			return int64(off), fault, nil
		}
		if err := t.Replay(payload); err != nil {
			return 0, frameOK, &CorruptError{File: path, Offset: int64(off), Reason: err.Error()}
		}
		off += size
	}
	return int64(off), frameOK, nil
}

// tail decides about a file whose last part is not whole: what a crash leaves is cut
// off, everything else is refused.
func (s *store) tail(r *recovered, path string, b []byte, off int64, fault frameFault, last bool, acked int64, m mark) (int64, error) {
	if !last {
		return 0, &CorruptError{File: path, Offset: off, Reason: "a frame is not whole, and a later log exists"}
	}
	if fault == frameBad {
		if next, found := findFrame(b[off+1:]); found {
			return 0, &CorruptError{File: path, Offset: off, Reason: fmt.Sprintf("wrong checksum, and a whole frame follows at %d", off+1+int64(next))}
		}
		if off < acked {
			return 0, &CorruptError{File: path, Offset: off, Reason: "wrong checksum of a change that was acknowledged"}
		}
	}
	if off < acked {
		// No crash does this: somebody cut the file. What is there is used, and the zxid goes
		// on behind what clients have seen.
		r.lost = m.zxid
		s.log.Error("log ends before what was acknowledged", zap.String("file", path),
			zap.Int64("offset", off), zap.Int64("acknowledged", acked))
	} else {
		s.log.Info("cut unfinished end off the log", zap.String("file", path),
			zap.Int64("offset", off), zap.Int("bytes", len(b)-int(off)))
	}
	return off, nil
}

// prune deletes snapshots and logs that the snapshot at zxid makes needless.
func (s *store) prune(zxid int64) error {
	f, err := s.list()
	if err != nil {
		return err
	}
	var errs []error
	for _, n := range f.snaps {
		if n < zxid {
			errs = append(errs, os.Remove(filepath.Join(s.dir, snapName(n))))
		}
	}
	for i := 0; i+1 < len(f.logs) && f.logs[i+1] <= zxid+1; i++ {
		errs = append(errs, os.Remove(filepath.Join(s.dir, logName(f.logs[i]))))
	}
	return errors.Join(append(errs, regular.SyncDir(s.dir))...)
}
