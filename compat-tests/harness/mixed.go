// SPDX-License-Identifier: Apache-2.0

// This file runs clusters whose parts are stock's and gust's.

package harness

import (
	"context"
	"fmt"
	"path/filepath"
)

// Mixed is a cluster of three processes, each stock's or gust's own.
type Mixed struct {
	*Stock
	binary string
	ours   map[Part]bool
}

var _ Cluster = (*Mixed)(nil)

// NewMixed prepares a cluster in which the named parts are gust's and the
// others stock's. It keeps all it writes in dir and starts nothing.
func NewMixed(dir string, ours ...Part) (*Mixed, error) {
	binary, err := Binary()
	if err != nil {
		return nil, err
	}
	stock, err := NewStock(dir)
	if err != nil {
		return nil, err
	}
	m := &Mixed{Stock: stock, binary: binary, ours: map[Part]bool{}}
	for _, part := range ours {
		m.ours[part] = true
	}
	return m, nil
}

// Kind is "mixed".
func (m *Mixed) Kind() string { return "mixed" }

// Start brings the three parts up, each when the one before it listens.
func (m *Mixed) Start(ctx context.Context) error {
	if err := m.settings.write(); err != nil {
		return err
	}
	for _, part := range []Part{ZooKeeper, Nimbus, Supervisor} {
		if err := m.Restart(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// Swap kills a part and starts the other kind of it in its place, over the
// same folders.
func (m *Mixed) Swap(ctx context.Context, part Part) error {
	if err := m.Kill(part); err != nil {
		return err
	}
	m.ours[part] = !m.ours[part]
	return m.Restart(ctx, part)
}

// Restart brings one part up and waits until it listens.
func (m *Mixed) Restart(ctx context.Context, part Part) error {
	if !m.ours[part] {
		return m.Stock.Restart(ctx, part)
	}
	argv := []string{m.binary, string(part)}
	port := map[Part]int{ZooKeeper: m.settings.ZooKeeper, Nimbus: m.settings.Nimbus, Supervisor: m.settings.Supervisor}[part]
	if part == ZooKeeper {
		argv = append(argv, "--dir", filepath.Join(m.settings.Dir, "gust-zookeeper")) // stock's files are no use to it
	}
	env := []string{"STORM_HOME=" + m.home, "STORM_CONF_DIR=" + m.settings.Conf()}
	p, err := m.launch("gust-"+string(part), env, argv)
	if err != nil {
		return err
	}
	m.running[part] = p
	if err := m.listening(ctx, p, port); err != nil {
		return fmt.Errorf("start gust: %w", err)
	}
	return nil
}
