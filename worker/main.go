// SPDX-License-Identifier: Apache-2.0

package worker

// This file is a worker's process.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
)

// Exit codes of a worker.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	// exitForced is that of a worker which did not end in time; Storm's has the same.
	exitForced = 20
)

// Main runs a worker in this process until ctx ends, and gives the exit code. The working directory is the worker's folder, as the
// supervisor made it. It ends the process itself if the components do not close in time.
func Main(ctx context.Context, args []string, factory Factory) int {
	code, err := run(ctx, args, factory)
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
	}
	return code
}

func run(ctx context.Context, args []string, factory Factory) (int, error) {
	parsed, err := ParseArgs(args)
	if err != nil {
		return exitUsage, err
	}
	local, err := localstate.ReadGoWorker(localstate.GoWorkerFile)
	if err != nil {
		return exitUsage, fmt.Errorf("a supervisor starts workers, each in its own folder: %w", err)
	}
	if local.MemoryMB > 0 {
		debug.SetMemoryLimit(local.MemoryMB << 20)
	}
	layout := localstate.Layout{Local: local.LocalDir, Artifacts: local.Artifacts}
	logs, err := openLogs(layout.WorkerArtifacts(parsed.TopologyID, parsed.Port),
		local.Conf.Int(config.GustSupervisorLogMaxBytes, 0), int(local.Conf.Int(config.GustSupervisorLogMaxFiles, 0)))
	if err != nil {
		return exitFailed, err
	}
	w := newWorker(parsed, local, logs, factory)
	asked, unwatch := watchSignal()
	defer unwatch()
	ended := make(chan struct{})
	go forceEnd(w.ending, ended, w.log, time.Duration(local.Conf.Int(config.SupervisorWorkerShutdownSleepSecs, 3))*time.Second)
	w.asked = asked
	err = w.Run(ctx)
	close(ended)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // told to stop while starting
	}
	switch {
	case errors.Is(err, errReassigned):
		w.log.Info("worker ends", zap.String("reason", err.Error()))
		return exitFailed, logs.file.Close()
	case err != nil:
		w.log.Error("worker ends", zap.Error(err))
		return exitFailed, errors.Join(err, logs.file.Close())
	}
	w.log.Info("worker ended")
	return exitDone, logs.file.Close()
}

// forceEnd ends the process if it is to end and does not in time.
func forceEnd(ending, ended <-chan struct{}, log *zap.Logger, grace time.Duration) {
	select {
	case <-ended:
		return
	case <-ending:
	}
	log.Info("worker is about to end")
	select {
	case <-ended:
	case <-time.After(grace):
		log.Error("worker did not end in time", zap.Duration("grace", grace))
		os.Exit(exitForced)
	}
}
