// SPDX-License-Identifier: Apache-2.0

// This file is one cluster: its settings, its start and its end.

package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gust-stream/gust/internal/testbed"
	"github.com/gust-stream/gust/thrift/leader"
	"github.com/gust-stream/gust/thrift/rpc"
)

// limits of one step on a busy machine.
const (
	startLimit = 2 * time.Minute
	poll       = 2 * time.Millisecond
)

// Kind is a way to run a cluster.
type Kind string

// The kinds.
const (
	Stock  Kind = "stock"          // three JVMs by bare java commands, with the heaps of Storm's defaults
	Script Kind = "stock (script)" // the same as Storm's own script does it: ConfigValue JVMs before each
	Gust   Kind = "gust"           // gust dev, one process
	Three  Kind = "gust (three)"   // gust zookeeper, gust nimbus, gust supervisor
)

// IsGust tells the two sides apart.
func (k Kind) IsGust() bool { return k == Gust || k == Three }

// Shape is what a cluster looks like.
type Shape struct {
	Slots int      // a supervisor's slots
	Hosts []string // one supervisor for each, with that storm.local.hostname; nil is one on localhost, empty is none
	Conf  []string // more lines of storm.yaml
}

// Cluster is a Storm of this machine.
type Cluster struct {
	Kind  Kind
	site  *Site
	dir   string
	shape Shape

	nimbus, zookeeper int   // ports
	supervisors       []int // ports
	slots             [][]int

	running []*testbed.Process
	began   time.Time
}

// NewCluster prepares a cluster that keeps all it writes in a folder of its
// own below the site's. It starts nothing.
func (s *Site) NewCluster(kind Kind, name string, shape Shape) (*Cluster, error) {
	if shape.Hosts == nil {
		shape.Hosts = []string{"localhost"}
	}
	c := &Cluster{Kind: kind, site: s, dir: filepath.Join(s.Dir, name), shape: shape}
	ports, err := testbed.Ports(2 + len(shape.Hosts)*(1+shape.Slots))
	if err != nil {
		return nil, err
	}
	c.nimbus, c.zookeeper, ports = ports[0], ports[1], ports[2:]
	for range shape.Hosts {
		c.supervisors = append(c.supervisors, ports[0])
		c.slots = append(c.slots, ports[1:1+shape.Slots])
		ports = ports[1+shape.Slots:]
	}
	if err := os.RemoveAll(c.dir); err != nil {
		return nil, fmt.Errorf("prepare cluster: %w", err)
	}
	for i := range max(1, len(shape.Hosts)) {
		if err := c.writeConf(i); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// folder is what supervisor i, and with i = 0 also all other parts, writes to.
func (c *Cluster) folder(i int) string { return filepath.Join(c.dir, fmt.Sprintf("node%d", i)) }

func (c *Cluster) conf(i int) string { return filepath.Join(c.folder(i), "conf") }

func (c *Cluster) logs(i int) string { return filepath.Join(c.folder(i), "logs") }

// Out is where the spouts of the bench topology write.
func (c *Cluster) Out() string { return filepath.Join(c.dir, "out") }

func (c *Cluster) writeConf(i int) error {
	for _, dir := range []string{c.conf(i), c.logs(i), filepath.Join(c.folder(i), "local"), c.Out()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("prepare cluster: %w", err)
		}
	}
	host := "localhost"
	var supervisor []string
	if i < len(c.shape.Hosts) {
		host = c.shape.Hosts[i]
		slots := strings.Trim(strings.ReplaceAll(fmt.Sprint(c.slots[i]), " ", ", "), "[]")
		supervisor = []string{
			fmt.Sprintf("supervisor.thrift.port: %d", c.supervisors[i]),
			"supervisor.slots.ports: [" + slots + "]",
		}
	}
	lines := append([]string{
		fmt.Sprintf("storm.local.hostname: %q", host),
		fmt.Sprintf("storm.local.dir: %q", filepath.Join(c.folder(i), "local")),
		fmt.Sprintf("storm.log.dir: %q", c.logs(i)),
		`nimbus.seeds: ["localhost"]`,
		fmt.Sprintf("nimbus.thrift.port: %d", c.nimbus),
		`storm.zookeeper.servers: ["localhost"]`,
		fmt.Sprintf("storm.zookeeper.port: %d", c.zookeeper),
		fmt.Sprintf("dev.zookeeper.path: %q", filepath.Join(c.dir, "zookeeper")),
	}, append(supervisor, c.shape.Conf...)...)
	if err := os.WriteFile(filepath.Join(c.conf(i), "storm.yaml"), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		return fmt.Errorf("prepare cluster: %w", err)
	}
	return nil
}

// Start brings the cluster up, each part when the one before it listens, and
// gives the time from the first exec until getClusterInfo names every supervisor.
func (c *Cluster) Start(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	began := time.Now()
	c.began = began
	for _, p := range c.parts() {
		if err := c.startPart(ctx, p); err != nil {
			return 0, fmt.Errorf("start %s: %w", c.Kind, err)
		}
	}
	if err := c.awaitSupervisors(ctx); err != nil {
		return 0, fmt.Errorf("start %s: %w", c.Kind, err)
	}
	return time.Since(began), nil
}

func (c *Cluster) startPart(ctx context.Context, p part) error {
	argv, err := p.argv(ctx)
	if err != nil {
		return err
	}
	env := []string{"STORM_CONF_DIR=" + c.conf(p.node), "STORM_HOME=" + c.site.Home}
	proc, err := testbed.Start(testbed.Command{
		Name: p.name, Log: filepath.Join(c.folder(p.node), p.name+".out"), Dir: c.folder(p.node), Env: env, Argv: argv,
	})
	if err != nil {
		return err
	}
	c.running = append(c.running, proc)
	dialer := net.Dialer{Timeout: time.Second}
	return testbed.Await(ctx, p.name+" to listen", poll, func() (bool, error) {
		if err := proc.Ended(); err != nil {
			return false, err
		}
		conn, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", p.port))
		if err != nil {
			return false, nil //nolint:nilerr // refused is what is waited out
		}
		return true, conn.Close()
	})
}

func (c *Cluster) awaitSupervisors(ctx context.Context) error {
	var client *leader.Nimbus
	defer func() {
		if client != nil {
			_ = client.Close()
		}
	}()
	return testbed.Await(ctx, "getClusterInfo with its supervisors", poll, func() (bool, error) {
		for _, p := range c.running {
			if err := p.Ended(); err != nil {
				return false, err
			}
		}
		if client == nil {
			var err error
			if client, err = c.Client(ctx); err != nil {
				client = nil
				return false, nil //nolint:nilerr // no leader yet
			}
		}
		info, err := client.GetClusterInfo(ctx)
		if err != nil {
			_ = client.Close()
			client = nil
			return false, nil //nolint:nilerr // the next try has a new connection
		}
		return len(info.Supervisors) == len(c.shape.Hosts), nil
	})
}

// Client connects to Nimbus.
func (c *Cluster) Client(ctx context.Context) (*leader.Nimbus, error) {
	return leader.Dial(ctx, leader.Config{
		Seeds: []string{"localhost"}, Port: c.nimbus,
		RPC: rpc.ClientConfig{ConnectTimeout: 10 * time.Second, CallTimeout: 2 * time.Minute, MaxFrame: 64 << 20},
	})
}

// Began is when the cluster was started last.
func (c *Cluster) Began() time.Time { return c.began }

// Daemons are the pids of the control plane.
func (c *Cluster) Daemons() []int {
	var pids []int
	for _, p := range c.running {
		pids = append(pids, p.PID())
	}
	return pids
}

// Logged counts how often the cluster's first daemon has said something.
func (c *Cluster) Logged(what string) (int, error) {
	text, err := os.ReadFile(c.running[0].Log)
	if err != nil {
		return 0, fmt.Errorf("read what %s said: %w", c.running[0].Name, err)
	}
	return bytes.Count(text, []byte(what)), nil
}

// Workers are the pids of the workers, Java's and Go's.
func (c *Cluster) Workers() ([]int, error) {
	java, err := testbed.Workers(c.dir)
	if err != nil {
		return nil, err
	}
	pids, err := goWorkers(c.dir)
	return append(java, pids...), err
}

// WorkersOf are the pids of the worker JVMs of supervisor i.
func (c *Cluster) WorkersOf(i int) ([]int, error) { return testbed.Workers(c.folder(i)) }

// KillSupervisor is kill -9 of supervisor i, which runs as a process of its own.
func (c *Cluster) KillSupervisor(i int) error {
	name := supervisorName(i)
	at := slices.IndexFunc(c.running, func(p *testbed.Process) bool { return p.Name == name })
	if at < 0 {
		return fmt.Errorf("kill %s: it does not run", name)
	}
	c.running[at].Kill()
	c.running = slices.Delete(c.running, at, at+1)
	return nil
}

// Stop ends the daemons in the reverse order of their start, then the workers.
func (c *Cluster) Stop() error {
	for _, p := range slices.Backward(c.running) {
		p.Stop()
	}
	c.running = nil
	workers, err := goWorkers(c.dir) // their command lines do not name the folder
	for _, pid := range workers {
		if fault := testbed.Kill(pid); !errors.Is(fault, syscall.ESRCH) {
			err = errors.Join(err, fault)
		}
	}
	return errors.Join(err, testbed.Sweep(c.dir))
}
