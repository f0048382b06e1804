// SPDX-License-Identifier: Apache-2.0

// This file starts and ends processes and finds those that belong to a cluster.

package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// grace is what a process gets between SIGTERM and SIGKILL.
const grace = 15 * time.Second

// process is one daemon; its output goes to a file.
type process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{}
}

// launch starts a process that dies with this one.
func launch(name, dir string, env, argv []string) (*process, error) {
	p := &process{name: name, log: filepath.Join(dir, name+".out"), done: make(chan struct{})}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer func() { _ = out.Close() }() // the child has its own descriptor
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in its log; that it ended is in done
		close(p.done)
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// ended is an error once the process is gone.
func (p *process) ended() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s ended early: %s\n%s", p.name, p.cmd.ProcessState, tail(p.log))
	default:
		return nil
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // gone already is fine
	<-p.done
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // gone already is fine
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.kill()
	}
}

// tail is the end of a file, for error messages.
func tail(path string) string {
	const keep = 3000
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-keep):])
}

// processes lists the pids of this machine.
func processes() ([]int, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer func() { _ = proc.Close() }() // only read
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// commandLine is a process's argv with zero bytes between; nothing when it is gone.
func commandLine(pid int) []byte {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return nil
	}
	return line
}

// isWorker tells whether a command line is that of a worker JVM which names
// dir; stock's log writer, which carries the worker's line, is none.
func isWorker(line []byte, dir string) bool {
	return bytes.Contains(line, []byte("org.apache.storm.daemon.worker.Worker")) &&
		!bytes.Contains(line, []byte("org.apache.storm.LogWriter")) && bytes.Contains(line, []byte(dir+"/"))
}

// workers lists the worker JVMs that name dir.
func workers(dir string) ([]int, error) {
	pids, err := processes()
	if err != nil {
		return nil, err
	}
	var found []int
	for _, pid := range pids {
		if isWorker(commandLine(pid), dir) {
			found = append(found, pid)
		}
	}
	return found, nil
}

// sweep ends every process that names dir on its command line or works in it.
func sweep(dir string) error {
	pids, err := processes()
	if err != nil {
		return err
	}
	var faults []error
	for _, pid := range pids {
		cwd, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
		inside := err == nil && strings.HasPrefix(cwd, dir+"/")
		if !inside && !bytes.Contains(commandLine(pid), []byte(dir+"/")) {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			faults = append(faults, fmt.Errorf("kill process %d: %w", pid, err))
		}
	}
	return errors.Join(faults...)
}

// Await looks at a condition every pause until it holds; the error of an ended
// context says what was awaited.
func Await(ctx context.Context, what string, pause time.Duration, holds func() (bool, error)) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		ok, err := holds()
		if err != nil {
			return fmt.Errorf("await %s: %w", what, err)
		}
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("await %s: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
}

// UsesArchive tells whether a JVM was given a class-data archive.
func UsesArchive(pid int) bool {
	return bytes.Contains(commandLine(pid), []byte("-XX:SharedArchiveFile="))
}

// Kill is kill -9 of one process.
func Kill(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill process %d: %w", pid, err)
	}
	return nil
}
