// SPDX-License-Identifier: Apache-2.0

// When the engine takes a snapshot, and how it feeds one without pausing.

package server

import (
	"errors"

	"go.uber.org/zap"
)

// snapshotRun is a snapshot that is being written by a goroutine of its own.
type snapshotRun struct {
	zxid   int64
	chunks chan []byte
	abort  chan struct{}
	end    chan error // one value when the file is durable, or is not
	chunk  []byte     // collected, not handed over yet
	last   bool       // chunk is the last
	closed bool
}

// maybeSnapshot starts a snapshot when enough log has been written since the last.
func (e *engine) maybeSnapshot() {
	if e.snap != nil || e.logSize < e.s.cfg.SnapshotBytes {
		return
	}
	e.logSize = 0
	run := &snapshotRun{
		zxid: e.tree.BeginSnapshot(), chunks: make(chan []byte),
		abort: make(chan struct{}), end: make(chan error, 1),
	}
	e.snap = run
	// The batch at hand goes to the old log or the new one as a whole; reading passes
	// over changes that the snapshot has.
	e.cur.rotate = run.zxid + 1
	e.group.Go(func() error {
		run.end <- e.st.saveSnapshot(run.zxid, run.chunks, run.abort)
		return nil
	})
}

// nextChunk offers the next part of a running snapshot.
func (e *engine) nextChunk() (chan<- []byte, []byte) {
	run := e.snap
	if run == nil || run.closed {
		return nil, nil
	}
	if run.chunk == nil {
		run.chunk, run.last = e.tree.NextSnapshot(snapshotChunk)
	}
	return run.chunks, run.chunk
}

func (e *engine) chunkSent() {
	run := e.snap
	run.chunk = nil
	if run.last {
		run.closed = true
		close(run.chunks)
	}
}

func (e *engine) snapshotEnd() <-chan error {
	if e.snap == nil {
		return nil
	}
	return e.snap.end
}

// snapshotEnded goes back to normal. After an error the log just goes on growing, and
// the next try comes as late as the next snapshot would.
func (e *engine) snapshotEnded(err error) {
	if err != nil {
		e.logs.Warn("snapshot", zap.Error(err))
		e.tree.AbortSnapshot()
	}
	e.snap = nil
}

// abortSnapshot stops a running snapshot when the engine ends.
func (e *engine) abortSnapshot() {
	if e.snap == nil {
		return
	}
	close(e.snap.abort)
	if err := <-e.snap.end; err != nil && !errors.Is(err, errAborted) {
		e.logs.Warn("snapshot", zap.Error(err))
	}
	e.snap = nil
}
