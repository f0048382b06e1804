// SPDX-License-Identifier: Apache-2.0

// This file starts and ends processes.

package testbed

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// grace is what a process gets between SIGTERM and SIGKILL.
const grace = 20 * time.Second

// Command says what to start.
type Command struct {
	// Name stands in errors.
	Name string
	// Log is the file that output is appended to.
	Log string
	// Dir is the working directory, "" for that of this process.
	Dir string
	// Env is added to the environment of this process.
	Env []string
	// Argv is the command line.
	Argv []string
}

// Process is a process that was started here. It is safe for use by several goroutines.
type Process struct {
	Name string
	// Log is the file that its output is appended to.
	Log string

	cmd  *exec.Cmd
	done chan struct{}
	mark int64 // length of Log at the start
}

// Start starts a process that dies with this one.
func Start(c Command) (*Process, error) {
	out, err := os.OpenFile(c.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	defer func() { _ = out.Close() }() // the child has its own descriptor
	info, err := out.Stat()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	p := &Process{Name: c.Name, Log: c.Log, mark: info.Size(), done: make(chan struct{})}
	p.cmd = exec.Command(c.Argv[0], c.Argv[1:]...) //nolint:noctx // it outlives this call; Kill and Stop end it
	p.cmd.Dir = c.Dir
	p.cmd.Env = append(os.Environ(), c.Env...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in its state; that it ended is in done
		close(p.done)
	}()
	return p, nil
}

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process is gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// Signal sends a signal, if the process still runs.
func (p *Process) Signal(sig syscall.Signal) {
	_ = p.cmd.Process.Signal(sig) // gone already is fine
}

// Kill is kill -9 of this process alone; it waits until the process is gone.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.done
}

// Stop asks the process to end, and kills it when it does not.
func (p *Process) Stop() {
	p.Signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		p.Kill()
	}
}

// Ended is nil while the process runs, else an error with the end of its output.
func (p *Process) Ended() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s ended: %s\n%s", p.Name, p.cmd.ProcessState, end(p.Output()))
	default:
		return nil
	}
}

// Wait waits for the process to end and gives its exit code, -1 for a signal.
func (p *Process) Wait(ctx context.Context) (int, error) {
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("wait for %s to end: %w", p.Name, ctx.Err())
	}
}

// Output is what the process has written so far.
func (p *Process) Output() string {
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	return string(text[min(int64(len(text)), p.mark):])
}

// Tail is the end of a file, for error messages.
func Tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return end(string(text))
}

func end(text string) string {
	const keep = 4000
	return text[max(0, len(text)-keep):]
}
