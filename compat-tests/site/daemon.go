// SPDX-License-Identifier: Apache-2.0

// This file is one gust process.

package site

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/gust-stream/gust/internal/testbed"
)

// startLimit bounds a daemon's start on a busy machine.
const startLimit = time.Minute

// Daemon is a gust process that was started. Its log is appended to over all its starts.
type Daemon = testbed.Process

// StartDaemon starts a daemon, for the first time or again, and waits until it answers.
func (s *Site) StartDaemon(ctx context.Context, name string) error {
	d, err := s.Launch(name)
	if err != nil {
		return err
	}
	ready, what := "", name+" to be ready"
	switch name {
	case Dev:
		ready = "gust ready"
	case ZooKeeper:
		ready = "\tserving\t" // it listens before it has read its files
	case Nimbus:
		return s.answering(ctx, d)
	default:
		return s.registered(ctx, d)
	}
	return within(ctx, startLimit, what, func() (bool, error) {
		if err := d.Ended(); err != nil {
			return false, err
		}
		return strings.Contains(d.Output(), ready), nil
	})
}

// Launch starts a daemon and waits for nothing.
func (s *Site) Launch(name string) (*Daemon, error) {
	argv := []string{s.binary, name}
	switch name {
	case Dev:
		argv = append(argv, "--dir", s.Dir, "--config", filepath.Join(s.conf(Dev), "storm.yaml"))
	case ZooKeeper:
		argv = append(argv, "--dir", s.StateDir())
	case Nimbus:
	default:
		argv[1] = "supervisor"
	}
	if s.Umask != nil {
		argv = append([]string{"sh", "-c", fmt.Sprintf(`umask %03o; exec "$@"`, *s.Umask), "sh"}, argv...)
	}
	d, err := testbed.Start(testbed.Command{
		Name: name, Log: filepath.Join(s.Dir, name+".out"), Env: []string{"STORM_HOME=" + s.home, "STORM_CONF_DIR=" + s.conf(name)}, Argv: argv,
	})
	if err != nil {
		return nil, err
	}
	s.daemons[name] = d
	return d, nil
}
