// SPDX-License-Identifier: Apache-2.0

// This file runs stock Storm: ZooKeeper, Nimbus and Supervisor, one JVM each.

package harness

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/gust-stream/gust/internal/testbed"
)

// Stock is Apache Storm as it is.
type Stock struct {
	base
}

var _ Cluster = (*Stock)(nil)

// NewStock prepares stock Storm that keeps all it writes in dir. More are
// entries of storm.yaml. It starts nothing.
func NewStock(dir string, more ...string) (*Stock, error) {
	home, err := StockHome()
	if err != nil {
		return nil, err
	}
	settings, err := newSettings(dir, more)
	if err != nil {
		return nil, err
	}
	return &Stock{base{settings: settings, home: home, running: map[Part]*testbed.Process{}}}, nil
}

// Kind is "stock".
func (s *Stock) Kind() string { return "stock" }

// Start brings the three daemons up, each when the one before it listens.
func (s *Stock) Start(ctx context.Context) error {
	if err := s.settings.write(); err != nil {
		return err
	}
	for _, part := range []Part{ZooKeeper, Nimbus, Supervisor} {
		if err := s.Restart(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// Restart brings one daemon up and waits until it listens.
func (s *Stock) Restart(ctx context.Context, part Part) error {
	var class string
	var port int
	switch part {
	case ZooKeeper:
		class, port = "org.apache.storm.command.DevZookeeper", s.settings.ZooKeeper
	case Nimbus:
		class, port = "org.apache.storm.daemon.nimbus.Nimbus", s.settings.Nimbus
	case Supervisor:
		class, port = "org.apache.storm.daemon.supervisor.Supervisor", s.settings.Supervisor
	}
	argv, err := java(s.home, s.settings, "160m", "lib", "", "-Dlogfile.name="+string(part)+".log",
		"-Dlog4j.configurationFile="+filepath.Join(s.home, "log4j2", "cluster.xml"), class)
	if err != nil {
		return err
	}
	p, err := s.launch("stock-"+string(part), []string{"STORM_CONF_DIR=" + s.settings.Conf()}, argv)
	if err != nil {
		return err
	}
	s.running[part] = p
	if err := s.listening(ctx, p, port); err != nil {
		return fmt.Errorf("start stock Storm: %w", err)
	}
	return nil
}

// Stop ends the daemons, Supervisor first so that it starts no worker anew,
// then its workers, which do not end with it.
func (s *Stock) Stop() error {
	for _, part := range []Part{Supervisor, Nimbus, ZooKeeper} {
		if p, ok := s.running[part]; ok {
			p.Stop()
			delete(s.running, part)
		}
	}
	return s.sweep()
}
