// SPDX-License-Identifier: Apache-2.0

// This file says what both kinds of cluster can do, and does what they share.

package harness

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gust-stream/gust/internal/testbed"
)

// startLimit bounds the start of one part on a busy machine.
const startLimit = 90 * time.Second

// Part is what can be killed and started again by itself.
type Part string

// The parts of a cluster. Stock has each as a process; gust dev is one process
// that plays all of them, so there each name means the same.
const (
	ZooKeeper  Part = "zookeeper"
	Nimbus     Part = "nimbus"
	Supervisor Part = "supervisor"
)

// Cluster is a Storm of one machine, stock or gust.
type Cluster interface {
	// Kind is "stock" or "gust".
	Kind() string
	// Settings are its folders and ports.
	Settings() Settings
	// Start brings it up and waits until it takes topologies.
	Start(ctx context.Context) error
	// Kill is kill -9 of one part; workers stay.
	Kill(part Part) error
	// Restart brings a killed part up again and waits until it answers.
	Restart(ctx context.Context, part Part) error
	// Workers are the pids of its worker JVMs.
	Workers() ([]int, error)
	// Stop ends it with its workers and leaves no process behind.
	Stop() error
}

// base is what both kinds share: settings and the processes by part.
type base struct {
	settings Settings
	home     string
	running  map[Part]*testbed.Process
}

// Settings are the cluster's folders and ports.
func (b *base) Settings() Settings { return b.settings }

// Workers are the pids of the cluster's worker JVMs.
func (b *base) Workers() ([]int, error) { return testbed.Workers(b.settings.Dir) }

// Kill is kill -9 of one part.
func (b *base) Kill(part Part) error {
	p, ok := b.running[part]
	if !ok {
		return fmt.Errorf("kill %s: it does not run", part)
	}
	p.Kill()
	delete(b.running, part)
	return nil
}

// sweep ends every process that the cluster left.
func (b *base) sweep() error { return testbed.Sweep(b.settings.Dir) }

// launch starts one daemon of the cluster.
func (b *base) launch(name string, env, argv []string) (*testbed.Process, error) {
	dir := b.settings.Dir
	return testbed.Start(testbed.Command{Name: name, Log: filepath.Join(dir, name+".out"), Dir: dir, Env: env, Argv: argv})
}

// listening waits until a part has its port open.
func (b *base) listening(ctx context.Context, p *testbed.Process, port int) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	var dialer net.Dialer
	err := Await(ctx, p.Name+" to listen", func() (bool, error) {
		if err := p.Ended(); err != nil {
			return false, err
		}
		conn, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return false, nil //nolint:nilerr // refused is what is waited out
		}
		return true, conn.Close()
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, testbed.Tail(p.Log))
	}
	return nil
}

// java is the command line of a JVM with Storm's class path and this cluster's
// storm.yaml.
func java(home string, s Settings, heap, lib, jar string, more ...string) ([]string, error) {
	bin, err := exec.LookPath("java")
	if dir := os.Getenv("JAVA_HOME"); dir != "" {
		bin, err = filepath.Join(dir, "bin", "java"), nil
	}
	if err != nil {
		return nil, fmt.Errorf("find java: %w", err)
	}
	path := filepath.Join(home, lib, "*") + ":" + filepath.Join(home, "extlib", "*") + ":" + s.Conf()
	if jar != "" {
		path += ":" + jar
	}
	return append([]string{
		bin, "-Xmx" + heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dstorm.home=" + home,
		"-Dstorm.log.dir=" + s.Logs(), "-cp", path,
	}, more...), nil
}
