// SPDX-License-Identifier: Apache-2.0

// The two servers under comparison, as processes that can be killed.

package zookeeper

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/zookeeper/server"
)

const (
	// wait is far beyond what anything here takes.
	wait = 60 * time.Second
	// tick keeps session timeouts, which are multiples of it, short.
	tick = 500 * time.Millisecond
	// containerCheck is how often servers delete empty containers.
	containerCheck = time.Second
	// childEnv makes this test binary run our server: "address directory".
	childEnv = "GUST_ZOOKEEPER_CHILD"
)

func TestMain(m *testing.M) {
	if child := os.Getenv(childEnv); child != "" {
		if err := runOurs(child); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1) //nolint:forbidigo // this process is the server alone
		}
		return
	}
	os.Exit(m.Run()) //nolint:forbidigo // as every TestMain does
}

func runOurs(child string) error {
	addr, dir, _ := strings.Cut(child, " ")
	s, err := server.New(server.Config{Addr: addr, Dir: dir, TickTime: tick, ContainerCheck: containerCheck}, zap.NewNop())
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return s.Run(ctx)
}

// contender is a server that listens on addr.
type contender struct {
	name  string
	addr  string
	start func() *exec.Cmd
	cmd   *exec.Cmd
	out   *bytes.Buffer
}

// freeAddr is not on 127.0.0.1, from which clients' own ports are taken: one of them
// could be just this one while the server restarts.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return addr
}

// ours is gust's server.
func ours(t *testing.T) *contender {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	addr, dir := freeAddr(t), t.TempDir()
	return &contender{name: "ours", addr: addr, start: func() *exec.Cmd {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), childEnv+"="+addr+" "+dir)
		return cmd
	}}
}

// theirs is the real one.
func theirs(t *testing.T, classPath string) *contender {
	t.Helper()
	addr, dir := freeAddr(t), t.TempDir()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	conf := fmt.Sprintf("tickTime=%d\ndataDir=%s\nclientPort=%s\nclientPortAddress=%s\nmaxClientCnxns=0\nadmin.enableServer=false\n",
		tick.Milliseconds(), dir, port, host)
	file := filepath.Join(dir, "zoo.cfg")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	return &contender{name: "theirs", addr: addr, start: func() *exec.Cmd {
		return exec.Command("java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
			fmt.Sprintf("-Dznode.container.checkIntervalMs=%d", containerCheck.Milliseconds()),
			"-cp", classPath, "org.apache.zookeeper.server.ZooKeeperServerMain", file)
	}}
}

// up starts the server and waits until it takes connections.
func (c *contender) up(t *testing.T) {
	t.Helper()
	c.cmd, c.out = c.start(), &bytes.Buffer{}
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.out
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.addr)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("%s does not listen: %v\n%s", c.name, err, c.out)
		}
	}
}

// kill ends the server as a crash does.
func (c *contender) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}
