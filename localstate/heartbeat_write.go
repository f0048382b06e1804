// SPDX-License-Identifier: Apache-2.0

package localstate

// This file writes the heartbeats of one worker. They are worth nothing after a crash of the machine, so nothing is synced.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gust-stream/gust/thrift/storm"
)

// HeartbeatWriter writes one worker's heartbeats. It is not safe for use by several goroutines.
type HeartbeatWriter struct {
	dir  string
	past []int64 // versions that are still there, oldest first
}

// NewHeartbeatWriter returns a writer into dir, normally Layout.WorkerHeartbeats, which must be there.
func NewHeartbeatWriter(dir string) *HeartbeatWriter { return &HeartbeatWriter{dir: dir} }

// Write adds a heartbeat and drops old ones. now numbers it; a clock that was set back does not hide it.
func (w *HeartbeatWriter) Write(now time.Time, beat *storm.LSWorkerHeartbeat) error {
	class, err := className(beat)
	if err != nil {
		return fmt.Errorf("write heartbeat: %w", err)
	}
	bits, err := encode(beat)
	if err != nil {
		return fmt.Errorf("write heartbeat: %w", err)
	}
	parts := map[string]*storm.ThriftSerializedObject{KeyWorkerHeartbeat: {Name: class, Bits: bits}}
	data, err := encode(&storm.LocalStateData{SerializedParts: parts})
	if err != nil {
		return fmt.Errorf("write heartbeat: %w", err)
	}
	version := now.UnixMilli()
	if n := len(w.past); n > 0 && version <= w.past[n-1] {
		version = w.past[n-1] + 1
	}
	path := versionPath(w.dir, version)
	// A reader takes the file only once the token is there.
	if err := errors.Join(writePlain(path, data), writePlain(path+VersionSuffix, nil)); err != nil {
		return fmt.Errorf("write heartbeat: %w", err)
	}
	w.past = append(w.past, version)
	return w.drop()
}

// drop removes all but the newest heartbeats; the token goes first, so none is seen half removed.
func (w *HeartbeatWriter) drop() error {
	for len(w.past) > keepVersions {
		path := versionPath(w.dir, w.past[0])
		for _, name := range []string{path + VersionSuffix, path} {
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("drop heartbeat: %w", err)
			}
		}
		w.past = w.past[1:]
	}
	return nil
}

func writePlain(path string, data []byte) error {
	f, err := os.OpenFile(filepath.Clean(path), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
