// SPDX-License-Identifier: Apache-2.0

package container

// This file starts twins: JVMs that stand by with a worker's command line and become that worker when they are told.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// Words on the socket between a twin and its supervisor; launcher/Twin.java speaks them too.
const (
	wordUp    = 'u' // the JVM runs and listens
	wordWarm  = 'w' // all classes are loaded
	wordGo    = 'g' // to the twin: be the worker
	wordBegun = 'b' // it is the worker now
)

// twinGrace is how long a twin that is not needed gets to end by itself.
const twinGrace = time.Second

// releaseLimit is how long a twin may take from the word to its answer. It takes some tens of milliseconds; one that is
// stuck must not cost more than a worker's own start.
const releaseLimit = 2 * time.Second

// Stage is how far a twin has come.
type Stage int

// The stages, in their order.
const (
	// Up: the JVM runs, and the twin can be released.
	Up Stage = iota + 1
	// Warm: it will not become any faster.
	Warm
)

// Twin is a process that stands by. It has a worker's id and folder, but no pids, no heartbeats and no part in the slot. It
// ends when its supervisor does, however that happens, because its standard input is a socket to it.
type Twin struct {
	l     *Launcher
	w     *Worker
	cmd   Command
	conn  net.Conn
	host  Host    // as it was given
	state []stamp // of the files that it may have read and that nobody tells us about
	slow  bool    // its priority was lowered

	quiet     chan struct{} // closed when nobody listens on conn any more
	quietOnce sync.Once
}

// Prepare starts a twin for a worker of that command line. The topology's blobs must be on disk. The worker's id must not
// be among the approved ones yet, so that the next supervisor ends the twin as nobody's. The caller runs Listen, and calls
// Release or Discard in the end.
func (l *Launcher) Prepare(cmd Command) (*Twin, error) {
	t, err := l.prepare(cmd)
	if err != nil {
		return nil, fmt.Errorf("prepare twin %s: %w", cmd.WorkerID, err)
	}
	l.log.Info("twin started", zap.String("worker_id", t.w.id), zap.String("topology_id", cmd.Topology.ID),
		zap.Int("port", cmd.Port), zap.Int("pid", t.w.main.pid))
	return t, nil
}

func (l *Launcher) prepare(cmd Command) (*Twin, error) {
	if err := checkNames(cmd); err != nil {
		return nil, err
	}
	if err := cmd.twinObstacle(l.cfg.Environ); err != nil {
		return nil, err
	}
	if l.cfg.ClassData && cmd.Archive == nil {
		cmd.Archive = l.archives.find(cmd.Host)
	}
	host := cmd.Host
	state := stamps(host)
	if err := useConfDirCopy(l.cfg.Layout, &cmd.Host); err != nil {
		return nil, err
	}
	var err error
	if cmd.TwinJar, err = twinJar(l.cfg.Layout); err != nil {
		return nil, err
	}
	invocation, err := cmd.Build()
	if err != nil {
		return nil, err
	}
	path, err := exec.LookPath(invocation.Path)
	if err != nil {
		return nil, err
	}
	t := &Twin{l: l, w: l.newWorker(cmd.WorkerID), cmd: cmd, host: host, state: state, quiet: make(chan struct{})}
	if err := t.start(path, invocation); err != nil {
		t.w.finish(Exit{})
		return nil, errors.Join(err, t.w.CleanUp())
	}
	l.add(t.w)
	return t, nil
}

func (t *Twin) start(path string, invocation *Invocation) error {
	if err := t.makeFolder(); err != nil {
		return err
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return err
	}
	defer theirs.Close() //nolint:errcheck // the twin has its own
	artifacts := t.l.cfg.Layout.WorkerArtifacts(t.cmd.Topology.ID, t.cmd.Port)
	if err := t.w.start(path, invocation, t.l.cfg.Environ, artifacts, theirs); err != nil {
		return errors.Join(err, ours.Close())
	}
	t.conn = ours
	t.slow = slowDown(t.w.main.pid)
	return nil
}

// socketPair makes two ends of which no other process inherits one.
func socketPair() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket pair: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "twin"), os.NewFile(uintptr(fds[1]), "supervisor")
	conn, err := net.FileConn(ours)
	if err = errors.Join(err, ours.Close()); err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return conn, theirs, nil
}

// ID is the id of the worker that the twin may become.
func (t *Twin) ID() string { return t.w.id }

// Pid is the twin's process.
func (t *Twin) Pid() int { return t.w.main.pid }

// Listen tells what stage the twin reaches, and returns true when it has ended, false when it was released or ctx ended. It
// must be called once.
func (t *Twin) Listen(ctx context.Context, tell func(Stage)) (ended bool) {
	defer t.quietOnce.Do(func() { close(t.quiet) })
	stop := context.AfterFunc(ctx, t.interrupt)
	defer stop()
	heard := make(chan struct{})
	defer close(heard)
	go func() { // a child that outlives the twin may hold its end of the socket open, so the end of the process counts too
		select {
		case <-t.w.Done():
			t.interrupt()
		case <-heard:
		}
	}()
	for {
		word, err := t.read()
		switch {
		case errors.Is(err, net.ErrClosed):
			return false
		case errors.Is(err, os.ErrDeadlineExceeded):
			select {
			case <-t.w.Done():
				return true
			default:
				return false
			}
		case err != nil:
			return true
		case word == wordUp:
			tell(Up)
		case word == wordWarm:
			tell(Warm)
		}
	}
}

func (t *Twin) read() (byte, error) {
	var word [1]byte
	_, err := io.ReadFull(t.conn, word[:])
	return word[0], err
}

// interrupt makes a Listen return.
func (t *Twin) interrupt() { _ = t.conn.SetReadDeadline(time.Unix(1, 0)) }

// Exit waits until the process of a twin that has ended is gone, or ctx ends, and says how it ended.
func (t *Twin) Exit(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, twinGrace)
	defer cancel()
	select {
	case <-t.w.Done():
		return t.w.Exit().String()
	case <-ctx.Done():
		return "closed its input"
	}
}

// Release makes the twin the slot's worker, which must have none, and returns when it is. The worker's id is approved
// before. After an error the twin may be anything, and the caller has to Discard it before another worker is started.
func (t *Twin) Release() (*Worker, error) {
	if err := t.release(); err != nil {
		return nil, fmt.Errorf("release twin %s: %w", t.w.id, err)
	}
	t.l.log.Info("worker started from its twin", zap.String("worker_id", t.w.id), zap.String("topology_id", t.cmd.Topology.ID),
		zap.Int("port", t.cmd.Port), zap.Int("pid", t.w.main.pid))
	return t.w, nil
}

func (t *Twin) release() error {
	if err := sameStamps(t.state, stamps(t.host)); err != nil {
		return err
	}
	if err := takeSlot(t.l.cfg.Layout, t.cmd); err != nil {
		return err
	}
	if err := t.takeArtifacts(); err != nil {
		return err
	}
	if t.slow {
		if err := speedUp(t.w.main.pid); err != nil {
			return err
		}
	}
	t.interrupt()
	<-t.quiet
	if err := t.conn.SetDeadline(time.Now().Add(releaseLimit)); err != nil {
		return err
	}
	if _, err := t.conn.Write([]byte{wordGo}); err != nil {
		return err
	}
	for {
		word, err := t.read()
		if err != nil {
			return err
		}
		if word == wordBegun {
			return t.conn.Close() // from here on its input is empty, as any worker's
		}
	}
}

// Discard ends the twin and removes its folder. It may be called again after an error.
func (t *Twin) Discard(ctx context.Context) error {
	_ = t.conn.Close() // the twin ends by that; closed twice is fine
	if err := t.w.Kill(ctx, twinGrace); err != nil {
		return err
	}
	return t.w.CleanUp()
}
