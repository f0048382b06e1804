// SPDX-License-Identifier: Apache-2.0

// This file runs gust: everything of one machine in one process.

package harness

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gust-stream/gust/internal/testbed"
)

// Gust is `gust dev`.
type Gust struct {
	base
	binary string
}

var _ Cluster = (*Gust)(nil)

// NewGust prepares a gust that keeps all it writes in dir. More are entries of
// storm.yaml. It starts nothing.
func NewGust(dir string, more ...string) (*Gust, error) {
	binary, err := Binary()
	if err != nil {
		return nil, err
	}
	home, err := Home()
	if err != nil {
		return nil, err
	}
	settings, err := newSettings(dir, more)
	if err != nil {
		return nil, err
	}
	return &Gust{base{settings: settings, home: home, running: map[Part]*testbed.Process{}}, binary}, nil
}

// Kind is "gust".
func (g *Gust) Kind() string { return "gust" }

// Start brings gust up and waits for the line that says it is ready.
func (g *Gust) Start(ctx context.Context) error {
	if err := g.settings.write(); err != nil {
		return err
	}
	return g.Restart(ctx, Nimbus)
}

// Kill is kill -9 of the process that plays every part.
func (g *Gust) Kill(Part) error { return g.base.Kill(Nimbus) }

// Restart brings the process up again, over the same folders.
func (g *Gust) Restart(ctx context.Context, _ Part) error {
	// It writes a storm.yaml of its own, so it gets a folder of its own.
	argv := []string{
		g.binary, "dev", "--dir", filepath.Join(g.settings.Dir, "dev"),
		"--config", filepath.Join(g.settings.Conf(), "storm.yaml"),
	}
	env := []string{"STORM_HOME=" + g.home}
	p, err := g.launch("gust", env, argv)
	if err != nil {
		return err
	}
	g.running[Nimbus] = p
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	err = Await(ctx, "gust to be ready", func() (bool, error) {
		if err := p.Ended(); err != nil {
			return false, err
		}
		return strings.Contains(p.Output(), "gust ready"), nil
	})
	if err != nil {
		return fmt.Errorf("start gust: %w\n%s", err, testbed.Tail(p.Log))
	}
	return nil
}

// Stop ends gust as Ctrl-C does, then whatever is left.
func (g *Gust) Stop() error {
	if p, ok := g.running[Nimbus]; ok {
		p.Stop()
		delete(g.running, Nimbus)
	}
	return g.sweep()
}
