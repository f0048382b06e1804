// SPDX-License-Identifier: Apache-2.0

package client_test

// This file plays the contract over a real server process, which is killed, stopped and robbed of its arena.

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/zap/zaptest"

	"github.com/gust-stream/gust/stateapi"
	"github.com/gust-stream/gust/stateapi/client"
	"github.com/gust-stream/gust/stateapi/statetest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "gust")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/gust-stream/gust/cmd/gust").CombinedOutput(); err != nil {
		t.Fatalf("build gust: %v\n%s", err, out)
	}
	for _, way := range []struct {
		name   string
		remote bool
	}{{"in place", false}, {"through the server", true}} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, program)
			b.remote = way.remote
			statetest.Run(t, b)
		})
	}
}

// bed is a server process and what is needed to start it again.
type bed struct {
	t               *testing.T
	program         string
	dir, memory     string
	remote          bool
	mu              sync.Mutex
	running         *exec.Cmd
	ready, finished chan struct{}
}

func newBed(t *testing.T, program string) *bed {
	t.Helper()
	memory, err := os.MkdirTemp("/dev/shm", "gust-contract-") //nolint:usetesting // on tmpfs
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, program: program, dir: t.TempDir(), memory: memory}
	t.Cleanup(func() {
		b.end(syscall.SIGKILL)
		if err := os.RemoveAll(memory); err != nil {
			t.Error(err)
		}
	})
	b.start()
	<-b.ready
	return b
}

func (b *bed) start(more ...string) {
	b.t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(b.t.Context()), b.program, append([]string{"state", "serve", "--dir", b.dir, "--memory-dir", b.memory}, more...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	var noise strings.Builder
	cmd.Stderr = &noise
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	ready, finished := make(chan struct{}), make(chan struct{})
	b.mu.Lock()
	b.running, b.ready, b.finished = cmd, ready, finished
	b.mu.Unlock()
	go func() {
		defer close(finished)
		lines := bufio.NewScanner(out)
		begun := false
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "gust state ready") {
				begun = true
				close(ready)
			}
		}
		err := cmd.Wait()
		if !begun {
			b.t.Errorf("the server did not become ready: %v\n%s", err, noise.String())
			close(ready)
		}
	}()
}

func (b *bed) end(signal syscall.Signal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	<-b.ready
	_ = b.running.Process.Signal(signal)
	<-b.finished
}

// Restart ends the server and starts it again.
func (b *bed) Restart(how statetest.Restart) error {
	switch how {
	case statetest.Kill:
		b.end(syscall.SIGKILL)
		b.start()
	case statetest.Stop:
		b.end(syscall.SIGTERM)
		b.start()
	case statetest.Retire:
		b.end(syscall.SIGTERM)
		b.start("--new-arena")
	default:
		return fmt.Errorf("restart %d", how)
	}
	return nil
}

// Open opens a state.
func (b *bed) Open(d stateapi.Definition) (stateapi.State, error) {
	return client.Open(b.t.Context(), client.Config{Socket: filepath.Join(b.dir, "state.sock"), Remote: b.remote, Log: zaptest.NewLogger(b.t)}, d)
}
