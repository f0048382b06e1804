// SPDX-License-Identifier: Apache-2.0

// This file compares with Storm's Redis state.

package state

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/internal/testbed"
)

// differences are those of DESIGN.md's table, by number.
const differences = `1 commit of a txid that nobody prepared: Redis accepted, in memory refused, gust refused
2 value after a prepare and commit under a txid not above the last committed one: Redis refused, in memory 1, gust 1
3 a component and task of the same names in another topology: Redis 1, in memory null, gust null
4 prepare after another worker has opened the state: Redis accepted, in memory accepted, gust refused
5 opening under other registrations: Redis accepted, in memory accepted, gust refused
6 a list that was put and then got an element: Redis [], in memory [1], gust []
7 a committed value after a restart of the worker: Redis 1, in memory null, gust 1
8 a null value: Redis default, in memory refused, gust default
`

// redis starts a server that keeps nothing, and gives its port.
func redis(t testing.TB) int {
	t.Helper()
	ports, err := testbed.Ports(1)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command("redis-server", "--port", strconv.Itoa(ports[0]), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatalf("start redis-server (make setup installs it): %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := testbed.Await(ctx, "redis-server", 20*time.Millisecond, func() (bool, error) {
		conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0])))
		if err != nil {
			return false, nil //nolint:nilerr // not yet
		}
		return true, conn.Close()
	}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return ports[0]
}

// redisJars is the class path of Storm's Redis state.
func redisJars(t testing.TB) string {
	t.Helper()
	dir, err := testbed.Find("GUST_STORM_REDIS", filepath.Join("build", "storm-redis", testbed.Version), "storm-redis-"+testbed.Version+".jar", "make storm-redis")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "*")
}

func TestRedis(t *testing.T) {
	path := compile(t, "redis", redisJars(t))
	port, socket := redis(t), newBed(t, nil, false).socket
	run := func(t *testing.T, args ...string) string {
		t.Helper()
		cmd := exec.Command("java", append([]string{
			"-Xmx128m", "-XX:+UseSerialGC", "-Dorg.apache.logging.log4j.level=OFF", "-cp", path,
			"io.github.guststream.state.Compare", socket, strconv.Itoa(port),
		}, args...)...)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %v\n%s%s", args, err, out.String(), errs.String())
		}
		return out.String()
	}
	t.Run("agreement", func(t *testing.T) {
		seed := time.Now().UnixNano()
		t.Logf("seed %d", seed)
		if out := run(t, fmt.Sprint(seed), "150"); out != "agreed\n" {
			t.Error(out)
		}
	})
	t.Run("differences", func(t *testing.T) {
		if diff := cmp.Diff(differences, run(t, "differences")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
