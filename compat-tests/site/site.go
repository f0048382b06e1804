// SPDX-License-Identifier: Apache-2.0

// This file lays out a site: folders, ports, and a storm.yaml for each daemon.

package site

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gust-stream/gust/compat-tests/harness"
	"github.com/gust-stream/gust/internal/testbed"
)

// Names of daemons. A supervisor's is the one that Options give it.
const (
	ZooKeeper = "zookeeper"
	Nimbus    = "nimbus"
	Dev       = "dev"
)

// Options say what a site consists of.
type Options struct {
	// Dir holds all that the site writes.
	Dir string
	// Dev runs everything in one process; its only supervisor is Dev itself.
	Dev bool
	// Supervisors are the supervisors by name with the host name that each says
	// it has, which must lead to this machine.
	Supervisors map[string]string
	// Slots is the number of slots of each supervisor.
	Slots int
	// Local are the storm.local.dir of daemons that do not get one below Dir; the
	// cluster state keeps its files right in its own.
	Local map[string]string
	// Umask, where not nil, is that of the daemons.
	Umask *int
	// More are further lines of every storm.yaml, MoreOf of one daemon's.
	More   []string
	MoreOf map[string][]string
}

// Site is a gust of several processes on this machine.
type Site struct {
	Options
	// NimbusPort and ZooKeeperPort are where clients connect.
	NimbusPort, ZooKeeperPort int

	home, binary string
	ports        map[string][]int // of each supervisor: Thrift, then slots
	daemons      map[string]*Daemon
}

// New lays out a site and writes its confs. It starts nothing.
func New(o Options) (*Site, error) {
	home, err := harness.Home()
	if err != nil {
		return nil, err
	}
	binary, err := harness.Binary()
	if err != nil {
		return nil, err
	}
	if o.Dev {
		o.Supervisors = map[string]string{Dev: "localhost"}
	}
	ports, err := testbed.Ports(2 + len(o.Supervisors)*(1+o.Slots))
	if err != nil {
		return nil, err
	}
	s := &Site{
		Options: o, NimbusPort: ports[0], ZooKeeperPort: ports[1], home: home, binary: binary,
		ports: map[string][]int{}, daemons: map[string]*Daemon{},
	}
	ports = ports[2:]
	for _, name := range slices.Sorted(maps.Keys(o.Supervisors)) {
		s.ports[name], ports = ports[:1+o.Slots], ports[1+o.Slots:]
	}
	return s, s.write()
}

// names are the site's daemons in the order in which they start.
func (s *Site) names() []string {
	if s.Dev {
		return []string{Dev}
	}
	return append([]string{ZooKeeper, Nimbus}, slices.Sorted(maps.Keys(s.Supervisors))...)
}

// LocalDir is a daemon's storm.local.dir.
func (s *Site) LocalDir(daemon string) string {
	if dir := s.Local[daemon]; dir != "" {
		return dir
	}
	return filepath.Join(s.Dir, "local", daemon)
}

// StateDir is the folder of the cluster state's files.
func (s *Site) StateDir() string {
	if s.Dev {
		return filepath.Join(s.LocalDir(Dev), "zookeeper")
	}
	return s.LocalDir(ZooKeeper)
}

// SlotPorts are the worker ports of a supervisor.
func (s *Site) SlotPorts(supervisor string) []int { return s.ports[supervisor][1:] }

// SupervisorPort is where a supervisor's Thrift server listens.
func (s *Site) SupervisorPort(supervisor string) int { return s.ports[supervisor][0] }

// conf is the folder of a daemon's storm.yaml; that of clients is named "".
func (s *Site) conf(daemon string) string {
	if daemon == "" {
		return filepath.Join(s.Dir, "conf")
	}
	return filepath.Join(s.Dir, "confs", daemon)
}

// write makes the folders and confs.
func (s *Site) write() error {
	for _, daemon := range append(s.names(), "") {
		for _, dir := range []string{s.conf(daemon), s.LocalDir(daemon)} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fmt.Errorf("lay out a site: %w", err)
			}
		}
		text := strings.Join(s.lines(daemon), "\n") + "\n"
		if err := os.WriteFile(filepath.Join(s.conf(daemon), "storm.yaml"), []byte(text), 0o600); err != nil {
			return fmt.Errorf("lay out a site: %w", err)
		}
	}
	return nil
}

// lines are the entries of one daemon's storm.yaml.
func (s *Site) lines(daemon string) []string {
	host, ports := "localhost", ""
	if own, ok := s.Supervisors[daemon]; ok {
		host = own
		ports = strings.Join(strings.Fields(fmt.Sprint(s.SlotPorts(daemon))), ", ")
	}
	lines := []string{
		`storm.local.hostname: "` + host + `"`,
		`storm.local.dir: "` + s.LocalDir(daemon) + `"`,
		`storm.log.dir: "` + filepath.Join(s.Dir, "logs", daemon) + `"`,
		`nimbus.seeds: ["localhost"]`,
		fmt.Sprintf("nimbus.thrift.port: %d", s.NimbusPort),
		`storm.zookeeper.servers: ["localhost"]`,
		fmt.Sprintf("storm.zookeeper.port: %d", s.ZooKeeperPort),
		`worker.childopts: "-Xmx96m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"`,
	}
	if ports != "" {
		lines = append(lines, "supervisor.slots.ports: "+ports, fmt.Sprintf("supervisor.thrift.port: %d", s.SupervisorPort(daemon)),
			// As many JVMs are quick to end.
			"supervisor.worker.shutdown.sleep.secs: 1")
	}
	return append(append(lines, s.More...), s.MoreOf[daemon]...)
}

// Start brings all daemons up, each when the one before it answers.
func (s *Site) Start(ctx context.Context) error {
	for _, name := range s.names() {
		if err := s.StartDaemon(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// Daemon gives a daemon that was started, nil if it never was.
func (s *Site) Daemon(name string) *Daemon { return s.daemons[name] }

// Stop ends all daemons and then every worker, and leaves no process behind.
func (s *Site) Stop() error {
	for _, name := range slices.Backward(s.names()) {
		if d := s.daemons[name]; d != nil {
			d.Stop()
		}
	}
	workers, err := s.Workers()
	for _, w := range workers {
		if killed := w.Kill(); killed != nil {
			err = errors.Join(err, killed)
		}
	}
	return err
}

// Crash is kill -9 of everything at once, workers too.
func (s *Site) Crash() error {
	workers, err := s.Workers()
	if err != nil {
		return err
	}
	// All are stopped first, so that none sees another's end.
	for _, d := range s.daemons {
		d.Signal(syscall.SIGSTOP)
	}
	for _, w := range workers {
		if err := w.Kill(); err != nil {
			return err
		}
	}
	for _, d := range s.daemons {
		d.Kill()
	}
	return nil
}

// within bounds one step of a test.
func within(ctx context.Context, limit time.Duration, what string, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return harness.Await(ctx, what, holds)
}

// RunState runs a cluster state alone over a folder. The site that it gives has
// nothing else, and its caller stops that one daemon.
func (s *Site) RunState(ctx context.Context, dir string) (*Site, error) {
	alone, err := New(Options{Dir: filepath.Join(s.Dir, "alone", filepath.Base(dir)), Local: map[string]string{ZooKeeper: dir}})
	if err != nil {
		return nil, err
	}
	return alone, alone.StartDaemon(ctx, ZooKeeper)
}
