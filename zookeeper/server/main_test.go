// SPDX-License-Identifier: Apache-2.0

// Shared by all tests: a running server, and clients of it.

package server

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"
	"go.uber.org/zap"
)

// wait is far beyond what anything here takes.
const wait = 60 * time.Second

// restartable is where servers listen that come back on the same port. Clients' own
// ports are taken from 127.0.0.1 and could be just that one while the server is away.
const restartable = "127.0.0.2:0"

// childEnv makes this test binary a server, so that it can be killed: "address directory".
const childEnv = "GUST_ZOOKEEPER_CHILD"

func TestMain(m *testing.M) {
	if child := os.Getenv(childEnv); child != "" {
		addr, dir, _ := strings.Cut(child, " ")
		s, err := New(Config{Addr: addr, Dir: dir, HandshakeTimeout: wait}, zap.NewNop())
		if err == nil {
			err = s.Run(context.Background())
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // this process is the server alone
	}
	goleak.VerifyTestMain(m)
}

// process is a server in a process of its own.
type process struct {
	addr, dir string
	cmd       *exec.Cmd
}

// spawn starts one on a free port and waits until it takes connections.
func spawn(t *testing.T, addr, dir string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if addr == "" {
		l, err := net.Listen("tcp", restartable)
		if err != nil {
			t.Fatal(err)
		}
		addr = l.Addr().String()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	p := &process{addr: addr, dir: dir, cmd: exec.Command(self)}
	p.cmd.Env = append(os.Environ(), childEnv+"="+addr+" "+dir)
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	eventually(t, "the server listens", func() bool {
		nc, err := net.Dial("tcp", addr)
		if err == nil {
			_ = nc.Close()
		}
		return err == nil
	})
	return p
}

// kill ends it as kill -9 does.
func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// memory is its resident memory in bytes.
func (p *process) memory(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// running is a server under test.
type running struct {
	*Server
	addr string
	stop func() error // ends it and returns what Run returned
}

// start runs a server on a free port. change may alter the configuration, prepare
// the server before it runs.
func start(t *testing.T, dir string, change func(*Config), prepare ...func(*Server)) *running {
	t.Helper()
	cfg := Config{Addr: "127.0.0.1:0", Dir: dir}
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range prepare {
		p(s)
	}
	addr, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	r := &running{Server: s, addr: addr.String()}
	var once bool
	r.stop = func() error {
		if once {
			return nil
		}
		once = true
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(wait):
			t.Error("server does not stop")
			return nil
		}
	}
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("server ends with %v", err)
		}
	})
	return r
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// connect opens a session.
func connect(t *testing.T, addr string, timeout time.Duration) (*zk.Conn, <-chan zk.Event) {
	t.Helper()
	c, events, err := zk.Connect([]string{addr}, timeout, zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	deadline := time.After(wait)
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return c, events
			}
		case <-deadline:
			t.Fatal("no session")
		}
	}
}
