// SPDX-License-Identifier: Apache-2.0

package localizer

// This file brings one blob to disk: what is there already is compared by version, the rest is downloaded to a temporary
// file, checked, and put in place.

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"syscall"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/internal/clock"
	"github.com/gust-stream/gust/localstate"
)

// blob is something that somebody holds.
type blob struct {
	key   string
	place place
	lock  chan struct{} // holds one element while the blob's files are changed

	// Guarded by Localizer.mu.
	holds  map[hold]int // how many claims each slot has; an update under way has one under updating
	update *update      // a change that waits for slots to agree
}

// updating is the hold of an update under way.
func updating() hold { return hold{port: -1} }

// place is where on disk a blob lies and how it gets there. Its methods are called by one goroutine at a time.
type place interface {
	// id is a path that no other blob has.
	id() string
	// version is the version on disk; ok is false if the blob is not completely there.
	version() (version int64, ok bool)
	// stage makes a downloaded file ready for commit, in the tmp folder.
	stage(s *staged) error
	// commit puts what was staged in place of what is there. A crash in between leaves the old, or nothing complete.
	commit(s *staged) error
}

// staged is a downloaded blob in the tmp folder.
type staged struct {
	version int64
	file    string // "" once the file was moved or is needed no more
	dir     string // what was unpacked of it, or ""
}

// discard removes what is left in the tmp folder.
func (s *staged) discard() {
	for _, path := range []string{s.file, s.dir} {
		if path != "" {
			_ = os.RemoveAll(path) // what stays is removed at the next start
		}
	}
}

func (b *blob) acquire(ctx context.Context) error {
	select {
	case b.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tryAcquire is acquire for whoever can do without.
func (b *blob) tryAcquire() bool {
	select {
	case b.lock <- struct{}{}:
		return true
	default:
		return false
	}
}

func (b *blob) release() { <-b.lock }

// present only looks whether the blob is there.
func (l *Localizer) present(ctx context.Context, b *blob) error {
	if err := b.acquire(ctx); err != nil {
		return err
	}
	defer b.release()
	if _, ok := b.place.version(); !ok {
		return fmt.Errorf("blob %s: %w", b.key, ErrIncomplete)
	}
	return nil
}

// ensure brings the blob to disk. While several slots hold it, check keeps it current and Nimbus is not asked.
func (l *Localizer) ensure(ctx context.Context, b *blob) error {
	if err := b.acquire(ctx); err != nil {
		return err
	}
	defer b.release()
	if local, ok := b.place.version(); ok && (l.shared(b) || !l.outdated(ctx, b, local)) {
		return nil
	}
	s, err := l.fetch(ctx, b)
	if err != nil {
		return err
	}
	return l.commit(b, s)
}

func (l *Localizer) shared(b *blob) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(b.holds) > 1
}

// outdated asks Nimbus. What is complete on disk is good enough when Nimbus cannot say.
func (l *Localizer) outdated(ctx context.Context, b *blob, local int64) bool {
	remote, err := l.nimbus.BlobVersion(ctx, b.key)
	if err != nil {
		l.log.Info("blob version unknown, using what is on disk until it is known", zap.String("key", b.key), zap.Error(err))
		return false
	}
	return remote != local
}

func (l *Localizer) commit(b *blob, s *staged) error {
	defer s.discard()
	if err := b.place.commit(s); err != nil {
		return fmt.Errorf("put blob %s in place: %w", b.key, err)
	}
	l.log.Info("blob localized", zap.String("key", b.key), zap.Int64("version", s.version))
	return nil
}

// fetch downloads and stages a blob, trying again with growing pauses. The caller holds the blob's lock.
func (l *Localizer) fetch(ctx context.Context, b *blob) (*staged, error) {
	wait := l.cfg.RetryWait
	for try := 1; ; try++ {
		s, err := l.fetchOnce(ctx, b)
		if err == nil {
			return s, nil
		}
		err = fmt.Errorf("download blob %s: %w", b.key, err)
		if try >= l.cfg.Tries || ctx.Err() != nil || errors.Is(err, ErrNotFound) || errors.Is(err, errRefused) {
			return nil, err
		}
		l.log.Warn("blob download will be tried again", zap.String("key", b.key), zap.Int("try", try), zap.Error(err))
		if errors.Is(err, syscall.ENOSPC) {
			l.makeRoom()
		}
		if err := clock.Wait(ctx, wait); err != nil {
			return nil, err
		}
		wait *= 2
	}
}

// fetchOnce takes one of the download places for the time of the transfer; unpacking is part of it, as both load the disk.
func (l *Localizer) fetchOnce(ctx context.Context, b *blob) (*staged, error) {
	select {
	case l.downloads <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-l.downloads }()
	remote, err := l.nimbus.Download(ctx, b.key)
	if err != nil {
		return nil, err
	}
	s := &staged{version: remote.Version, file: localstate.TempName(l.cfg.Layout.Tmp(), "blob")}
	err = l.save(s.file, remote)
	if cerr := remote.Body.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = b.place.stage(s)
	}
	if err != nil {
		s.discard()
		return nil, err
	}
	return s, nil
}

// save writes the download to path and checks that Nimbus sent as many bytes as it announced, and those that the version
// stands for: bits that have flipped on Nimbus's disk must not run.
func (l *Localizer) save(path string, remote *Blob) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(remote.Body, max(remote.Size, 0)+1))
	if err != nil {
		return fmt.Errorf("after %d of %d bytes: %w", n, remote.Size, err)
	}
	if n > remote.Size {
		return fmt.Errorf("nimbus announced %d bytes and sent more", remote.Size)
	}
	if n < remote.Size {
		return fmt.Errorf("nimbus announced %d bytes and sent %d", remote.Size, n)
	}
	if v := remote.Version; !l.cfg.NoChecksums && v >= 0 && v <= math.MaxUint32 && v != int64(sum.Sum32()) {
		return fmt.Errorf("content has checksum %d, version says %d", sum.Sum32(), v)
	}
	return f.Sync()
}
