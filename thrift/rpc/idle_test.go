// SPDX-License-Identifier: Apache-2.0

// Ten thousand peers that only are there. They live in a process of their own,
// since one process may not have the files for both ends.

package rpc

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
)

// idlePeersOf is the environment variable that turns the test binary into the
// process with the peers; its value is the address to connect to.
const idlePeersOf = "GUST_TEST_IDLE_PEERS_OF"

const idlePeers = 10_000

var errTooManyFiles error = syscall.EMFILE

func TestMain(m *testing.M) {
	if addr := os.Getenv(idlePeersOf); addr != "" {
		if err := beIdle(addr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1) //nolint:forbidigo // this is the main function of that process
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// beIdle opens the connections, says so, and holds them until its input ends.
func beIdle(addr string) error {
	ctx := context.Background()
	open := make([]net.Conn, 0, idlePeers)
	for i := range idlePeers {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
		open = append(open, c)
	}
	if _, err := fmt.Fprintln(os.Stdout, "open"); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	for _, c := range open {
		_ = c.Close()
	}
	return err
}

// Not parallel: it looks at the memory of the whole process.
func TestTenThousandIdleConnections(t *testing.T) {
	s := start(t, Config{}, echo())
	before := memory0()

	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), idlePeersOf+"="+s.addr)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "open\n" {
		t.Fatalf("peers said %q, %v", line, err)
	}
	eventually(t, "all peers are in", func() bool { return s.conns.len() == idlePeers })

	each := (memory0() - before) / idlePeers
	t.Logf("%d bytes for an idle connection", each)
	if each > 8<<10 {
		t.Errorf("an idle connection takes %d bytes", each)
	}
	alive(t, s.addr)

	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all peers are gone", func() bool { return s.conns.len() <= 1 })
}

// memory0 returns the bytes in use for heap objects and stacks.
func memory0() int64 {
	n := heap()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return n + int64(m.StackInuse)
}

// openFiles counts this process's descriptors.
func openFiles(tb testing.TB) int {
	tb.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		tb.Fatal(err)
	}
	return len(entries)
}

func nopLog(tb testing.TB) *zap.Logger {
	tb.Helper()
	return zaptest.NewLogger(tb)
}
