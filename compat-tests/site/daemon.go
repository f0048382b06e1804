// SPDX-License-Identifier: Apache-2.0

// This file is one gust process.

package site

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// startLimit bounds a daemon's start on a busy machine, stopLimit its end.
const (
	startLimit = time.Minute
	stopLimit  = 20 * time.Second
)

// Daemon is a gust process that was started.
type Daemon struct {
	Name string
	// Log is the file that its output is appended to, over all its starts.
	Log string

	cmd  *exec.Cmd
	done chan struct{}
	mark int64 // length of Log when it was started
}

// StartDaemon starts a daemon, for the first time or again, and waits until it answers.
func (s *Site) StartDaemon(ctx context.Context, name string) error {
	d, err := s.Launch(name)
	if err != nil {
		return err
	}
	ready, what := "", name+" to be ready"
	switch name {
	case Dev:
		ready = "gust ready"
	case ZooKeeper:
		ready = "\tserving\t" // it listens before it has read its files
	case Nimbus:
		return s.answering(ctx, d)
	default:
		return s.registered(ctx, d)
	}
	return within(ctx, startLimit, what, func() (bool, error) {
		if err := d.Ended(); err != nil {
			return false, err
		}
		return strings.Contains(d.Output(), ready), nil
	})
}

// Launch starts a daemon and waits for nothing.
func (s *Site) Launch(name string) (*Daemon, error) {
	argv := []string{s.binary, name}
	switch name {
	case Dev:
		argv = append(argv, "--dir", s.Dir, "--config", filepath.Join(s.conf(Dev), "storm.yaml"))
	case ZooKeeper:
		argv = append(argv, "--dir", s.StateDir())
	case Nimbus:
	default:
		argv[1] = "supervisor"
	}
	if s.Umask != nil {
		argv = append([]string{"sh", "-c", fmt.Sprintf(`umask %03o; exec "$@"`, *s.Umask), "sh"}, argv...)
	}
	d, err := start(name, filepath.Join(s.Dir, name+".out"), []string{"STORM_HOME=" + s.home, "STORM_CONF_DIR=" + s.conf(name)}, argv)
	if err != nil {
		return nil, err
	}
	s.daemons[name] = d
	return d, nil
}

// start starts a process that dies with this one.
func start(name, log string, env, argv []string) (*Daemon, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer func() { _ = out.Close() }() // the child has its own descriptor
	info, err := out.Stat()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	d := &Daemon{Name: name, Log: log, mark: info.Size(), done: make(chan struct{})}
	d.cmd = exec.Command(argv[0], argv[1:]...)
	d.cmd.Env = append(os.Environ(), env...)
	d.cmd.Stdout, d.cmd.Stderr = out, out
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = d.cmd.Wait() // how it ended is in its state; that it ended is in done
		close(d.done)
	}()
	return d, nil
}

// PID is the process id.
func (d *Daemon) PID() int { return d.cmd.Process.Pid }

// Kill is kill -9; it waits until the process is gone.
func (d *Daemon) Kill() {
	_ = d.cmd.Process.Kill() // gone already is fine
	<-d.done
}

// Stop asks the process to end and kills it when it does not.
func (d *Daemon) Stop() {
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // gone already is fine
	timer := time.NewTimer(stopLimit)
	defer timer.Stop()
	select {
	case <-d.done:
	case <-timer.C:
		d.Kill()
	}
}

// Ended is nil while the process runs, else an error with the end of its output.
func (d *Daemon) Ended() error {
	select {
	case <-d.done:
		text := d.Output()
		return fmt.Errorf("%s ended: %s\n%s", d.Name, d.cmd.ProcessState, text[max(0, len(text)-4000):])
	default:
		return nil
	}
}

// Wait waits for the process to end and gives its exit code, -1 for a signal.
func (d *Daemon) Wait(ctx context.Context) (int, error) {
	select {
	case <-d.done:
		return d.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("wait for %s to end: %w", d.Name, ctx.Err())
	}
}

// Output is what the process has written since its last start.
func (d *Daemon) Output() string {
	text, err := os.ReadFile(d.Log)
	if err != nil {
		return err.Error()
	}
	return string(text[min(int64(len(text)), d.mark):])
}

// PSS is the process's memory in bytes, with what it shares counted in parts.
func (d *Daemon) PSS() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", d.PID()))
	if err != nil {
		return 0, fmt.Errorf("read memory of %s: %w", d.Name, err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) == 3 && fields[0] == "Pss:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("read memory of %s: no line Pss", d.Name)
}
