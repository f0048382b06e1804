// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file keeps the keyed state of this machine's tasks.

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/internal/clock"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/stateapi/server"
)

const (
	// stateFolder in the local folder has the journal and the snapshots.
	stateFolder = "state"
	// firstStatePause and lastStatePause frame the growing wait until states are kept again after that went wrong.
	firstStatePause = time.Second
	lastStatePause  = time.Minute
)

// stateConfig reads where state is kept; the zero value if it is not.
func stateConfig(conf config.Conf, layout localstate.Layout) server.MachineConfig {
	if !conf.Bool(config.GustStateEnabled, true) {
		return server.MachineConfig{}
	}
	dir := filepath.Join(layout.Local, stateFolder)
	return server.MachineConfig{
		Dir: dir, Memory: cmp.Or(conf.String(config.GustStateDir, ""), server.MemoryFolder(dir)),
		MemoryMax: uint64(max(conf.Int(config.GustStateMemoryMaxMb, 0), 0)) << 20,
		Retain:    time.Duration(conf.Int(config.GustStateRetainSecs, 0)) * time.Second,
		Shared:    conf.Bool(config.SupervisorRunWorkerAsUser, false),
	}
}

// withSocket tells workers, and with them their children, where the state server is.
func withSocket(environ []string, cfg server.MachineConfig) []string {
	if cfg.Dir == "" {
		return environ
	}
	const variable = server.SocketVariable + "="
	environ = slices.DeleteFunc(slices.Clone(environ), func(entry string) bool { return strings.HasPrefix(entry, variable) })
	return append(environ, variable+cfg.SocketPath())
}

// keepState keeps state until ctx ends. A fault is no reason to end workers: those with state wait for it.
func (s *Supervisor) keepState(ctx context.Context) error {
	if s.cfg.State.Dir == "" {
		return nil
	}
	cfg := s.cfg.State
	cfg.FreeOnStop = s.cfg.KillWorkersOnStop
	for pause := firstStatePause; ; pause = min(2*pause, lastStatePause) {
		began := time.Now()
		m, err := server.NewMachine(cfg, s.log.Named("state"))
		if err == nil {
			err = m.Run(ctx)
		}
		if ctx.Err() != nil {
			return err
		}
		if time.Since(began) > lastStatePause {
			pause = firstStatePause
		}
		s.log.Error("keyed state is not kept, tasks with state wait", zap.Error(err), zap.Duration("next_try_in", pause))
		if clock.Wait(ctx, pause) != nil {
			return nil //nolint:nilerr // it was told to stop
		}
	}
}
