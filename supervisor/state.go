// SPDX-License-Identifier: Apache-2.0

package supervisor

// This file keeps the keyed state of this machine's tasks.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/internal/clock"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/server"
	"github.com/gust-stream/gust/stateapi/shard"
	"github.com/gust-stream/gust/supervisor/localizer"
)

const (
	// stateFolder in the local folder has the journal and the snapshots, droppedFolder below it a file for each topology whose states
	// were dropped at its submit.
	stateFolder   = "state"
	droppedFolder = "dropped"
	// firstStatePause and lastStatePause frame the growing wait until states are kept again after that went wrong.
	firstStatePause = time.Second
	lastStatePause  = time.Minute
	// dropWait is how long a launch waits for states that shall be dropped before it.
	dropWait = 20 * time.Second
	// mostFresh bounds the states whose beginning is still to be looked at.
	mostFresh = 10_000
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

// states keeps the states of this machine and tells the cluster which they are. It is safe for use by several goroutines.
type states struct {
	cfg     server.MachineConfig // Dir is "" where none are kept
	host    string
	cluster ClusterState
	log     *zap.Logger

	mu      sync.Mutex
	machine *server.Machine       // nil: none runs; guarded by mu
	fresh   []stateapi.Definition // began here since the last look; guarded by mu
}

func newStates(cfg server.MachineConfig, host string, cluster ClusterState, log *zap.Logger) *states {
	k := &states{cfg: cfg, host: host, cluster: cluster, log: log}
	k.cfg.Opened = k.opened
	return k
}

// run keeps state until ctx ends. A fault is no reason to end workers: those with state wait for it.
func (k *states) run(ctx context.Context, node string) error {
	if k.cfg.Dir == "" {
		return nil
	}
	for pause := firstStatePause; ; pause = min(2*pause, lastStatePause) {
		began := time.Now()
		err := k.serve(ctx, node)
		if ctx.Err() != nil {
			return err
		}
		if time.Since(began) > lastStatePause {
			pause = firstStatePause
		}
		k.log.Error("keyed state is not kept, tasks with state wait", zap.Error(err), zap.Duration("next_try_in", pause))
		if err := clock.Wait(ctx, pause); err != nil {
			return nil //nolint:nilerr // it was told to stop
		}
	}
}

func (k *states) serve(ctx context.Context, node string) error {
	m, err := server.NewMachine(k.cfg, k.log)
	if err != nil {
		return err
	}
	k.set(m)
	defer k.set(nil)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return m.Run(ctx) })
	group.Go(func() error {
		select {
		case <-m.Ready():
			k.log.Info("keyed state is kept", zap.String("socket", m.Socket()), zap.String("dir", k.cfg.Dir))
			k.tell(ctx, node, m.Store())
		case <-ctx.Done():
		}
		return nil
	})
	return group.Wait()
}

func (k *states) set(m *server.Machine) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.machine = m
}

func (k *states) get() *server.Machine {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.machine
}

// opened notes states that begin with nothing.
func (k *states) opened(d stateapi.Definition, o shard.Opened) {
	if o.Commit > 0 || o.Prepared {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.fresh) < mostFresh {
		k.fresh = append(k.fresh, d)
	}
}

func (k *states) takeFresh() []stateapi.Definition {
	k.mu.Lock()
	defer k.mu.Unlock()
	fresh := k.fresh
	k.fresh = nil
	return fresh
}

// begin does, before the first worker of a topology starts here, what Nimbus ordered at the submit: to drop the states of components
// that have another number of tasks now.
func (k *states) begin(ctx context.Context, t *localizer.Topology) error {
	drop := t.Conf.Strings(config.GustStateDrop)
	if len(drop) == 0 || k.cfg.Dir == "" {
		return nil
	}
	done := filepath.Join(k.cfg.Dir, droppedFolder, t.ID)
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, dropWait)
	defer cancel()
	m := k.get()
	if m == nil {
		return errors.New("drop states of an earlier submit: keyed state is not kept at the moment")
	}
	select {
	case <-m.Ready():
	case <-ctx.Done():
		return fmt.Errorf("drop states of an earlier submit: %w", ctx.Err())
	}
	name, owner := t.Conf.String(config.TopologyName, ""), t.Conf.String(config.TopologySubmitterUser, "")
	for _, info := range m.Store().Namespaces() {
		if info.Topology != name || info.Owner != owner || !slices.ContainsFunc(drop, func(c string) bool { return ofComponent(info.Component, c) }) {
			continue
		}
		if err := m.Store().Remove(ctx, info.Name); err != nil {
			return fmt.Errorf("drop state of task %d of %s: %w", info.Task, info.Component, err)
		}
		k.log.Info("dropped a state, as the topology's submit says", zap.String("topology_id", t.ID), zap.String("component_id", info.Component),
			zap.Int32("task_id", info.Task), zap.Int32("tasks_then", info.Tasks))
	}
	return k.note(done)
}

// ofComponent says whether a state's component is that one: a task's further states go by the component's name, a slash and more.
func ofComponent(state, component string) bool {
	return state == component || strings.HasPrefix(state, component+"/")
}

// note writes that a topology's states were dropped, and forgets old notes.
func (k *states) note(done string) error {
	if err := os.MkdirAll(filepath.Dir(done), 0o700); err != nil {
		return fmt.Errorf("note that states were dropped: %w", err)
	}
	all, err := os.ReadDir(filepath.Dir(done))
	for _, entry := range all {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > max(k.cfg.Retain, 24*time.Hour) {
			err = os.Remove(filepath.Join(filepath.Dir(done), entry.Name()))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("forget that states were dropped: %w", err)
			}
		}
	}
	if err == nil {
		err = os.WriteFile(done, nil, 0o600)
	}
	if err != nil {
		return fmt.Errorf("note that states were dropped: %w", err)
	}
	return nil
}
