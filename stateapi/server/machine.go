// SPDX-License-Identifier: Apache-2.0

// This file puts together what one machine has: folders, store, server.

package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/gust-stream/gust/internal/lock"
	"github.com/gust-stream/gust/internal/openfiles"
	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/shard"
)

const (
	// SocketName is the socket's name in its folder.
	SocketName = "state.sock"
	// SocketVariable tells workers and their children the path of the socket.
	SocketVariable = "GUST_STATE_SOCKET"

	sharedMemory = "/dev/shm"
	// ownerFile in a folder on tmpfs names the folder on the disk that it belongs to.
	ownerFile = "owner"
)

// MachineConfig says where a machine's state lies.
type MachineConfig struct {
	Dir       string        // on the disk: journal and snapshots
	Memory    string        // on tmpfs: the arena; "" is a folder below /dev/shm that belongs to Dir
	Socket    string        // "" is SocketName in Memory
	MemoryMax uint64        // bytes that all states together may take in Memory; 0: as many as there are
	Retain    time.Duration // a state that nobody opened for so long goes; 0: never
	NewArena  bool          // do not go on with the arena of an earlier process
	Shared    bool          // users other than this process's have states of their own
	// FreeOnStop gives the memory back at the end of Run; the next one reads the disk. Otherwise the next one finds all in place.
	FreeOnStop bool
	Files      *openfiles.Share
	Opened     func(d stateapi.Definition, o shard.Opened) // as in Config
}

// SocketPath is where the socket will be.
func (c MachineConfig) SocketPath() string {
	if c.Socket != "" {
		return c.Socket
	}
	memory := c.Memory
	if memory == "" {
		memory = MemoryFolder(c.Dir)
	}
	return filepath.Join(memory, SocketName)
}

// Machine is the keyed state of one machine.
type Machine struct {
	cfg    MachineConfig
	log    *zap.Logger
	store  *shard.Store
	server *Server
	ready  chan struct{}
}

// NewMachine makes a Machine; it opens nothing.
func NewMachine(cfg MachineConfig, log *zap.Logger) (*Machine, error) {
	for _, path := range []*string{&cfg.Dir, &cfg.Memory, &cfg.Socket} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return nil, fmt.Errorf("folder of states: %w", err)
		}
		*path = absolute
	}
	cfg.Socket = cfg.SocketPath()
	if cfg.Memory == "" {
		cfg.Memory = MemoryFolder(cfg.Dir)
	}
	if cfg.Dir == "" {
		return nil, errors.New("no folder for states is named")
	}
	store := shard.New(shard.Config{Dir: cfg.Dir, ArenaDir: cfg.Memory, NewArena: cfg.NewArena, Retain: cfg.Retain, MemoryMax: cfg.MemoryMax}, log)
	return &Machine{
		cfg: cfg, log: log, store: store, ready: make(chan struct{}),
		server: New(Config{Socket: cfg.Socket, Shared: cfg.Shared, Files: cfg.Files, Opened: cfg.Opened}, store, log),
	}, nil
}

// MemoryFolder is the folder on tmpfs that belongs to a folder on the disk where nothing else is said.
func MemoryFolder(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(sharedMemory, memoryPrefix()+hex.EncodeToString(sum[:8]))
}

func memoryPrefix() string { return "gust-" + strconv.Itoa(os.Geteuid()) + "-" }

// Socket is the socket's path.
func (m *Machine) Socket() string { return m.cfg.Socket }

// Memory is the folder on tmpfs.
func (m *Machine) Memory() string { return m.cfg.Memory }

// Store is the store, for those who spread its changes.
func (m *Machine) Store() *shard.Store { return m.store }

// Ready is closed when states can be opened.
func (m *Machine) Ready() <-chan struct{} { return m.ready }

// Run keeps state until ctx ends or the disk fails. The server ends before the store that it stands on. While another process works in
// the same folder, it waits.
func (m *Machine) Run(ctx context.Context) (err error) {
	held, err := lock.Take(ctx, m.cfg.Dir, func(busy *lock.BusyError) {
		m.log.Warn("another process keeps the states of this folder, waiting for its end", zap.String("dir", busy.Dir), zap.Int("pid", busy.PID))
	})
	if err != nil {
		return fmt.Errorf("keep state: %w", err)
	}
	defer func() { err = errors.Join(err, held.Release()) }()
	if err := m.folders(); err != nil {
		return fmt.Errorf("keep state: %w", err)
	}
	if m.cfg.FreeOnStop {
		defer func() { err = errors.Join(err, m.free()) }()
	}
	below, stopBelow := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBelow()
	group, above := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := m.store.Run(below); err != nil && below.Err() == nil {
			return fmt.Errorf("state in %s: %w", m.cfg.Dir, err)
		}
		return nil
	})
	group.Go(func() error {
		defer stopBelow()
		return m.server.Run(above)
	})
	group.Go(func() error {
		select {
		case <-m.store.Ready():
		case <-above.Done():
			return nil
		}
		select {
		case <-m.server.Ready():
			close(m.ready)
		case <-above.Done():
		}
		return nil
	})
	return group.Wait()
}

// folders makes the folders, for this process's user alone; under Shared others may go through the one of the socket.
func (m *Machine) folders() error {
	mode := os.FileMode(0o700)
	if m.cfg.Shared {
		mode = 0o711
	}
	if err := os.MkdirAll(filepath.Dir(m.cfg.Memory), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(m.cfg.Memory, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(m.cfg.Memory)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", m.cfg.Memory)
	case !ok || int(owner.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to another user", m.cfg.Memory)
	}
	if err := os.Chmod(m.cfg.Memory, mode); err != nil {
		return err
	}
	var system unix.Statfs_t
	if err := unix.Statfs(m.cfg.Memory, &system); err == nil && system.Type != unix.TMPFS_MAGIC {
		m.log.Warn("the folder for states in memory is on no tmpfs: changes go to a disk and are slow", zap.String("dir", m.cfg.Memory))
	}
	if filepath.Dir(m.cfg.Memory) == sharedMemory {
		m.sweep()
		return os.WriteFile(filepath.Join(m.cfg.Memory, ownerFile), []byte(m.cfg.Dir), 0o600)
	}
	return nil
}

// free gives the memory back.
func (m *Machine) free() error {
	for _, pattern := range []string{"arena-*", SocketName, ownerFile} {
		all, err := filepath.Glob(filepath.Join(m.cfg.Memory, pattern))
		if err != nil {
			return err
		}
		for _, path := range all {
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("free the memory of states: %w", err)
			}
		}
	}
	_ = os.Remove(m.cfg.Memory) // unless there is something else in it
	return nil
}

// sweep removes memory of folders that were deleted, or it would stay taken until the machine starts anew.
func (m *Machine) sweep() {
	all, err := filepath.Glob(filepath.Join(sharedMemory, memoryPrefix()+"*"))
	if err != nil {
		return
	}
	for _, folder := range all {
		of, err := os.ReadFile(filepath.Join(folder, ownerFile))
		if err != nil || !filepath.IsAbs(string(of)) || strings.ContainsRune(string(of), 0) {
			continue
		}
		if _, err := os.Lstat(string(of)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.RemoveAll(folder); err == nil {
			m.log.Info("freed the memory of states whose folder is gone", zap.String("dir", folder), zap.String("of", string(of)))
		}
	}
}
