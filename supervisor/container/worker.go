// SPDX-License-Identifier: Apache-2.0

package container

// This file is one worker process, started or adopted.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/localstate"
)

// Worker is one worker process. Its methods may be called from several goroutines.
type Worker struct {
	l       *Launcher
	id      string
	process *os.Process // nil for an adopted worker
	main    identity
	handle  *handle // nil if the process was gone when it was opened

	done     chan struct{}
	doneOnce sync.Once
	exit     Exit // set before done is closed

	beatsMu sync.Mutex
	beats   *localstate.HeartbeatReader
}

// Exit is how a worker's process ended.
type Exit struct {
	// Known is false for an adopted worker: the kernel tells only the parent.
	Known bool
	// Code is the exit code, or -1 if a signal ended the process.
	Code int
	// Signal is the signal that ended the process, or 0.
	Signal syscall.Signal
}

// String is for logs.
func (e Exit) String() string {
	switch {
	case !e.Known:
		return "exited"
	case e.Signal != 0:
		return "ended by signal " + e.Signal.String()
	}
	return fmt.Sprintf("exited with code %d", e.Code)
}

// ID is the worker's id.
func (w *Worker) ID() string { return w.id }

// Pid is the process's id, or 0 if the worker was gone when it was adopted. It may be somebody else's after Done.
func (w *Worker) Pid() int { return w.main.pid }

// IsGo says whether it is a Go worker that runs.
func (w *Worker) IsGo() bool { return w.main.alive() && isGoWorker(argv(w.main.pid), w.id) }

// Signal sends a signal to the worker's own process; one that has ended gets none.
func (w *Worker) Signal(sig syscall.Signal) error {
	if w.handle == nil {
		return nil
	}
	return w.handle.signal(sig)
}

// Done is closed as soon as the process has ended, while Launcher.Run runs. Its children may still be there.
func (w *Worker) Done() <-chan struct{} { return w.done }

// Exit says how the process ended; the zero value before Done is closed.
func (w *Worker) Exit() Exit {
	select {
	case <-w.done:
		return w.exit
	default:
		return Exit{}
	}
}

// Heartbeat returns the worker's newest readable heartbeat, or nil if there is none yet. It is cheap enough for once a
// second. Judge a hang by Heartbeat.Seen, which no clock change disturbs.
func (w *Worker) Heartbeat() (*localstate.Heartbeat, error) {
	w.beatsMu.Lock()
	defer w.beatsMu.Unlock()
	return w.beats.Read()
}

// Kill ends the worker and all that belongs to it: SIGTERM first, SIGKILL for what is left after grace. It returns nil as
// soon as nothing is left, and an error if ctx ends before. It may be called again, and for a worker that has ended, to
// end the children that it left behind.
func (w *Worker) Kill(ctx context.Context, grace time.Duration) error {
	if err := w.kill(ctx, grace); err != nil {
		return fmt.Errorf("kill worker %s: %w", w.id, err)
	}
	w.reap()
	return nil
}

// CleanUp removes the worker's folder and the note of its user; its artifacts stay. It refuses while the process runs.
func (w *Worker) CleanUp() error {
	select {
	case <-w.done:
	default:
		if w.main.alive() {
			return fmt.Errorf("clean up worker %s: its process %d is running", w.id, w.main.pid)
		}
	}
	layout := w.l.cfg.Layout
	// The folder goes last: as long as it is there, a restarted supervisor finds the worker and cleans up again.
	err := errors.Join(
		w.removeTwinArtifacts(),
		os.RemoveAll(layout.WorkerUser(w.id)),
		os.RemoveAll(layout.WorkerHeartbeats(w.id)),
		os.RemoveAll(layout.WorkerPids(w.id)),
		os.RemoveAll(layout.WorkerTmp(w.id)),
	)
	if err == nil {
		err = os.RemoveAll(layout.Worker(w.id))
	}
	if err != nil {
		return fmt.Errorf("clean up worker %s: %w", w.id, err)
	}
	return nil
}

// ended says whether the process has ended. It does not block.
func (w *Worker) ended() bool { return w.handle == nil || w.handle.gone() }

// reap notes the end of a process that has ended.
func (w *Worker) reap() {
	exit := Exit{}
	if w.process == nil {
		w.finish(exit)
		return
	}
	w.doneOnce.Do(func() {
		state, err := w.process.Wait()
		if err == nil {
			exit = Exit{Known: true, Code: state.ExitCode()}
			if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
				exit.Signal = status.Signal()
			}
		}
		w.end(exit)
	})
}

// finish notes the end without waiting for the process.
func (w *Worker) finish(exit Exit) { w.doneOnce.Do(func() { w.end(exit) }) }

// end runs once.
func (w *Worker) end(exit Exit) {
	w.exit = exit
	w.l.remove(w)
	if w.main.pid != 0 {
		w.l.log.Info("worker ended", zap.String("worker_id", w.id), zap.Int("pid", w.main.pid),
			zap.Stringer("exit", exit))
	}
	if w.handle != nil {
		w.handle.close()
	}
	close(w.done)
}
