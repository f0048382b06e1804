// SPDX-License-Identifier: Apache-2.0

// This file starts and ends processes, and finds those that a cluster left behind.

package harness

import (
	"bytes"
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

// process is one daemon. Its output goes to a file.
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
	defer func() { _ = out.Close() }()         // the child has its own descriptor
	p.cmd = exec.Command(argv[0], argv[1:]...) //nolint:noctx // it outlives this call; kill and stop end it
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

// ended tells whether the process is gone, with the end of its output.
func (p *process) ended() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s ended early: %s\n%s", p.name, p.cmd.ProcessState, tail(p.log))
	default:
		return nil
	}
}

// kill is kill -9 of this process alone; it waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // gone already is fine
	<-p.done
}

// stop asks the process to end, and kills it when it does not.
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
	const keep = 4000
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-keep):])
}

// strays lists the processes that belong to the cluster in dir: those that
// name it on their command line or work in it.
func strays(dir string) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if err != nil {
			continue // gone meanwhile
		}
		cwd, err := os.Readlink(filepath.Join("/proc", entry.Name(), "cwd"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			cwd = ""
		}
		if bytes.Contains(line, []byte(dir+"/")) || strings.HasPrefix(cwd, dir+"/") {
			found = append(found, pid)
		}
	}
	return found, nil
}

// workers lists the worker JVMs of the cluster in dir, without their log writers.
func workers(dir string) ([]int, error) {
	all, err := strays(dir)
	if err != nil {
		return nil, err
	}
	var found []int
	for _, pid := range all {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if err == nil && bytes.Contains(line, []byte("org.apache.storm.daemon.worker.Worker")) &&
			!bytes.Contains(line, []byte("org.apache.storm.LogWriter")) {
			found = append(found, pid)
		}
	}
	return found, nil
}
