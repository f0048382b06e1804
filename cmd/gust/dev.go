// SPDX-License-Identifier: Apache-2.0

// This file is "gust dev": all daemons of one machine in one process.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/internal/openfiles"
	"github.com/gust-stream/gust/internal/run"
	"github.com/gust-stream/gust/nimbus"
	"github.com/gust-stream/gust/supervisor"
)

func newDev() *cobra.Command {
	var d daemonSettings
	var dir string
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything of one machine in one process",
		Long: "Runs the cluster state, Nimbus and a supervisor in the foreground, on the ports of Storm's own keys, and prints a line that\n" +
			"starts with \"gust ready\" when topologies can be submitted. Everything it writes lies in --dir; what it leaves there is taken\n" +
			"up again by the next start. Ctrl-C ends it and its workers; after a kill -9 the workers run on and are adopted.",
		Example: "  gust dev --dir /tmp/gust\n  gust dev --dir /tmp/gust -c supervisor.slots.ports='[6700, 6701]' -c nimbus.thrift.port=16627",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := newLogger(d.level)
			if err != nil {
				return err
			}
			held, err := lockDir(dir)
			if err != nil {
				return err
			}
			defer func() { _ = held.Release() }() // the process ends, and the lock with it
			conf, sources, err := prepareDev(&d, dir)
			if err != nil {
				return err
			}
			warn(log, sources)
			out := cmd.OutOrStdout()
			return runDev(cmd.Context(), devSite{conf: conf, sources: sources, bind: d.bind, log: log, confDir: sources.ConfDir}, func(context.Context) error {
				return announce(out, conf, sources)
			})
		},
	}
	d.register(cmd, "127.0.0.1")
	cmd.Flags().StringVar(&dir, "dir", "", "folder for all that is written (required)")
	return cmd
}

func announce(out io.Writer, conf config.Conf, sources config.Sources) error {
	_, err := fmt.Fprintf(out, "gust ready: nimbus %s:%d, cluster state port %d, slots %v, conf %s\n", conf.String(config.StormLocalHostname, ""),
		conf.Int(config.NimbusThriftPort, 0), conf.Int(config.StormZookeeperPort, 0), conf.Ints(config.SupervisorSlotsPorts), sources.ConfDir)
	return err
}

// devSite is what the parts of a "gust dev" are made from.
type devSite struct {
	conf    config.Conf
	sources config.Sources
	bind    string
	log     *zap.Logger
	confDir string // where the conf is written, "" for nowhere
}

// runDev starts the parts, calls ready once topologies can be submitted, and stops them when ctx ends or ready fails. The
// supervisor goes first, so that its workers end while Nimbus and the cluster state still answer them; the cluster state
// goes last, since all stand on it.
func runDev(ctx context.Context, site devSite, ready func(context.Context) error) error {
	stack := run.New(ctx)
	starting, cancel := stack.Guard(ctx)
	n, err := startDev(starting, site, stack)
	if err == nil {
		err = awaitReady(starting, site.conf, n)
	}
	if err == nil {
		err = ready(starting)
	}
	if err != nil && starting.Err() != nil && ctx.Err() == nil {
		err = context.Cause(starting) // a part ended, and the rest could not go on
	}
	cancel()
	if err != nil {
		if ctx.Err() != nil {
			err = nil // told to stop while starting
		}
		return errors.Join(err, stack.Stop())
	}
	stack.Start("settle", func(ctx context.Context) error {
		settle(ctx, site.log)
		<-ctx.Done()
		return nil
	})
	return stack.Wait(ctx)
}

// startDev starts the parts.
func startDev(ctx context.Context, site devSite, stack *run.Stack) (*nimbus.Nimbus, error) {
	local := config.LocalDir(site.conf, site.sources.StormHome)
	files, err := openfiles.OfProcess()
	if err != nil {
		return nil, err
	}
	zk, err := newZookeeperServer(site.conf, site.bind, filepath.Join(local, "zookeeper"), files, site.log)
	if err != nil {
		return nil, err
	}
	if _, err := listenZookeeper(zk); err != nil {
		return nil, err
	}
	stack.Start("cluster state", zk.Run)
	state, err := connectCluster(ctx, site.conf, site.log)
	if err != nil {
		return nil, err
	}
	stack.Start("cluster session", func(ctx context.Context) error {
		<-ctx.Done()
		state.Close()
		return nil
	})
	n, err := buildNimbus(site.conf, site.sources, site.bind, nimbus.Deps{Cluster: state, Files: files, Log: site.log})
	if err != nil {
		return nil, err
	}
	if _, err := n.Listen(); err != nil {
		return nil, err
	}
	// Not before the ports are ours: a command must not find the address of nobody, or of another gust dev.
	if site.confDir != "" {
		if err := writeConf(site.confDir, site.conf, site.sources); err != nil {
			return nil, err
		}
	}
	stack.Start("nimbus", n.Run)
	s, err := buildSupervisor(site.conf, site.sources, site.bind, supervisor.Deps{
		Cluster: state, Files: files.Share(), StateFiles: files.Share(), Log: site.log,
	}, true)
	if err != nil {
		return nil, err
	}
	stack.Start("supervisor", s.Run)
	return n, nil
}

// awaitReady waits until Nimbus leads and knows a supervisor.
func awaitReady(ctx context.Context, conf config.Conf, n *nimbus.Nimbus) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		if n.Ready() {
			summary, err := n.GetClusterInfo(ctx)
			if err == nil && len(summary.Supervisors) > 0 {
				return nil
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			addr := net.JoinHostPort("localhost", strconv.FormatInt(conf.Int(config.NimbusThriftPort, 0), 10))
			return fmt.Errorf("nimbus at %s was not ready: %w", addr, ctx.Err())
		}
	}
}
