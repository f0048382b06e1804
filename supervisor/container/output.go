// SPDX-License-Identifier: Apache-2.0

package container

// This file bounds the files that hold what workers print.

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/localstate"
)

const (
	outputName = "worker.log.out"
	errorName  = "worker.log.err"
)

// boundOutputs looks at the output of every running worker from time to time, until ctx ends.
func (l *Launcher) boundOutputs(ctx context.Context) error {
	ticker := time.NewTicker(l.cfg.OutputEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		for _, w := range l.running() {
			for _, name := range []string{outputName, errorName} {
				path := filepath.Join(l.cfg.Layout.Worker(w.id), "artifacts", name)
				if err := rotate(path, l.cfg.OutputBytes, l.cfg.OutputKeep); err != nil {
					l.log.Warn("bounding a worker's output failed", zap.String("worker_id", w.id), zap.Error(err))
				}
			}
		}
	}
}

// rotate moves the content of a file that has reached limit bytes to <path>.1.gz, the older ones one number up, and empties
// it in place. If the content cannot be kept (a full disk), the file is emptied all the same, for the bound is what
// protects the machine; the error says what was lost.
func rotate(path string, limit int64, keep int) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && info.Size() < limit) {
		return nil
	}
	if err != nil {
		return err
	}
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = keepPart(f, path, keep)
	if err != nil {
		err = fmt.Errorf("keep the content of %s: %w", path, err)
	}
	return errors.Join(err, f.Truncate(0), f.Close())
}

// maxPasses bounds how often a file that grows during the copy is read on: a worker that prints faster than we compress
// must not hold us.
const maxPasses = 8

func keepPart(f *os.File, path string, keep int) (err error) {
	tmp := localstate.TempName(filepath.Dir(path), filepath.Base(path))
	part, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp)
		}
	}()
	z, err := gzip.NewWriterLevel(part, gzip.BestSpeed)
	for range maxPasses {
		var n int64
		if err == nil {
			n, err = io.Copy(z, f)
		}
		if n == 0 || err != nil {
			break
		}
	}
	if err = errors.Join(err, z.Close(), part.Close()); err != nil {
		return err
	}
	for i := keep - 1; i >= 1; i-- {
		err := os.Rename(partName(path, i), partName(path, i+1))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Rename(tmp, partName(path, 1))
}

func partName(path string, i int) string { return fmt.Sprintf("%s.%d.gz", path, i) }
