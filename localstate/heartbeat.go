// SPDX-License-Identifier: Apache-2.0

package localstate

// This file follows the heartbeats of one worker, cheaply enough to be asked each second for every worker.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/gust-stream/gust/thrift/storm"
)

// settle is how long a folder must be unchanged before its time stamp is trusted to tell of the next change: file systems
// stamp with a coarse clock.
const settle = 100 * time.Millisecond

// Heartbeat is a worker's newest readable heartbeat.
type Heartbeat struct {
	// LSWorkerHeartbeat is what the worker wrote: topology, executors, port, and its own clock in epoch seconds.
	storm.LSWorkerHeartbeat
	// Version is the heartbeat's number, normally its time in milliseconds. It grows with each one.
	Version int64
	// Seen is when this reader first saw this version. It carries Go's monotonic clock, so the time since then is right
	// even if the wall clock is set. For the version found by the first read it is that read's time, moved back by the
	// file's age as far as the clock allows to say.
	Seen time.Time
}

// HeartbeatReader follows one worker's heartbeats folder. It is not safe for use by several goroutines.
type HeartbeatReader struct {
	dir  string
	now  func() time.Time
	last *Heartbeat

	stamp time.Time // modification time of dir when last was read, zero if it may not be trusted
}

// NewHeartbeatReader returns a reader of dir, normally Layout.WorkerHeartbeats. It opens nothing.
func NewHeartbeatReader(dir string, now func() time.Time) *HeartbeatReader {
	return &HeartbeatReader{dir: dir, now: now}
}

// Read returns the newest readable heartbeat, or nil if the worker has written none yet. When the newest files cannot be
// read it gives the newest that can, which may be the one given before; only if there are files and none was ever
// readable is there an error. The result must not be changed.
func (r *HeartbeatReader) Read() (*Heartbeat, error) {
	now := r.now()
	info, err := os.Stat(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return r.last, nil
	}
	if err != nil {
		return r.last, fmt.Errorf("read heartbeat: %w", err)
	}
	if r.last != nil && info.ModTime().Equal(r.stamp) {
		return r.last, nil
	}
	r.stamp = time.Time{}
	versions, err := completeVersions(r.dir)
	if err != nil {
		return r.last, fmt.Errorf("read heartbeat: %w", err)
	}
	var faults []error
	for _, version := range versions {
		if r.last != nil && version == r.last.Version {
			break
		}
		beat, err := readHeartbeat(r.dir, version)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the worker drops old ones while we look
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		r.keep(beat, now)
		break
	}
	if r.last == nil && len(faults) > 0 {
		return nil, &CorruptError{Dir: r.dir, Faults: faults}
	}
	if len(faults) == 0 && now.Sub(info.ModTime()) > settle {
		r.stamp = info.ModTime()
	}
	return r.last, nil
}

// keep makes beat the newest one.
func (r *HeartbeatReader) keep(beat *Heartbeat, now time.Time) {
	beat.Seen = now
	if r.last == nil {
		if age := now.Sub(time.UnixMilli(beat.Version)); age > 0 {
			beat.Seen = now.Add(-age)
		}
	}
	r.last = beat
}

func readHeartbeat(dir string, version int64) (*Heartbeat, error) {
	parts, err := readParts(dir, version)
	if err != nil {
		return nil, err
	}
	beat := &Heartbeat{Version: version}
	found, err := getPart(versionPath(dir, version), parts, KeyWorkerHeartbeat, &beat.LSWorkerHeartbeat)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("%s holds no heartbeat", versionPath(dir, version))
	}
	return beat, nil
}
