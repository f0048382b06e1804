// SPDX-License-Identifier: Apache-2.0

// Shared by all tests: a running server, and clients of it.

package server

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"
	"go.uber.org/zap"
)

// wait is far beyond what anything here takes.
const wait = 60 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
