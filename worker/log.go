// SPDX-License-Identifier: Apache-2.0

package worker

// This file is the worker's log: worker.log in its artifacts, cut when it is full.

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/gust-stream/gust/localstate"
)

// logName is the file's name, as log viewers expect it.
const logName = "worker.log"

// logs makes the loggers of a worker.
type logs struct {
	levels *levels
	file   *logFile
	core   zapcore.Core
}

// openLogs opens the log in dir. maxBytes is the size at which it is cut, keep how many older parts stay.
func openLogs(dir string, maxBytes int64, keep int) (*logs, error) {
	file, err := openLogFile(filepath.Join(dir, logName), maxBytes, keep)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	cfg := zap.NewProductionEncoderConfig()
	cfg.EncodeTime = zapcore.TimeEncoderOfLayout("2006-01-02 15:04:05.000")
	cfg.EncodeLevel = encodeLevel
	cfg.EncodeDuration = zapcore.StringDurationEncoder
	cfg.ConsoleSeparator = " "
	return &logs{
		levels: newLevels(), file: file, core: zapcore.NewCore(zapcore.NewConsoleEncoder(cfg), file, traceLevel),
	}, nil
}

// logger is that of the worker itself.
func (l *logs) logger() *zap.Logger { return zap.New(leveled{l.core, l.levels, false}) }

// component is that of a component's task. Its lines pass unless a level was set for the component.
func (l *logs) component(component string, task int32) *zap.Logger {
	log := zap.New(leveled{l.core, l.levels, true}).Named(component)
	return log.With(zap.String("component_id", component), zap.Int32("task_id", task))
}

func encodeLevel(level zapcore.Level, out zapcore.PrimitiveArrayEncoder) {
	name := level.CapitalString()
	if level == traceLevel {
		name = "TRACE"
	}
	out.AppendString("[" + name + "]")
}

// logFile is a file that is cut when it is full. It is safe for concurrent use.
type logFile struct {
	path     string
	maxBytes int64
	keep     int

	mu      sync.Mutex
	file    *os.File // guarded by mu, as is size
	size    int64
	packing sync.WaitGroup // the compression of the part that was cut last
}

func openLogFile(path string, maxBytes int64, keep int) (*logFile, error) {
	l := &logFile{path: path, maxBytes: maxBytes, keep: max(keep, 1)}
	return l, l.open()
}

func (l *logFile) open() error {
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Write adds a line.
func (l *logFile) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.maxBytes > 0 && l.size >= l.maxBytes {
		if err := l.cut(); err != nil {
			// The bound protects the machine: what cannot be kept is given up.
			if err := l.file.Truncate(0); err != nil {
				return 0, err
			}
			l.size = 0
		}
	}
	n, err := l.file.Write(line)
	l.size += int64(n)
	return n, err
}

// Sync does nothing: a log is not worth a wait for the disk.
func (l *logFile) Sync() error { return nil }

// cut moves the file away and begins a new one. Callers hold mu.
func (l *logFile) cut() error {
	l.packing.Wait() // a log that fills faster than it is packed waits here
	for i := l.keep - 1; i >= 1; i-- {
		err := os.Rename(l.part(i), l.part(i+1))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	raw := strings.TrimSuffix(l.part(1), ".gz")
	if err := os.Rename(l.path, raw); err != nil {
		return err
	}
	old := l.file
	if err := l.open(); err != nil {
		return errors.Join(err, os.Rename(raw, l.path))
	}
	l.packing.Go(func() {
		_ = old.Close()          // it was only written to
		_ = pack(raw, raw+".gz") // if it goes wrong, the plain file stays
	})
	return nil
}

func (l *logFile) part(i int) string { return fmt.Sprintf("%s.%d.gz", l.path, i) }

// Close ends the log.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.packing.Wait()
	return l.file.Close()
}

// pack compresses a file and removes it.
func pack(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read from
	tmp := localstate.TempName(filepath.Dir(to), filepath.Base(to))
	out, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp)
		}
	}()
	z, err := gzip.NewWriterLevel(out, gzip.BestSpeed)
	if err == nil {
		_, err = io.Copy(z, in)
		err = errors.Join(err, z.Close())
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(tmp, to), os.Remove(from))
}
