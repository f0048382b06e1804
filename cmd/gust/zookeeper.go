// SPDX-License-Identifier: Apache-2.0

// This file is "gust zookeeper": the embedded cluster state as a process of its own.

package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/internal/openfiles"
	"github.com/gust-stream/gust/zookeeper/server"
)

func newZookeeper() *cobra.Command {
	var d daemonSettings
	var dir string
	cmd := &cobra.Command{
		Use:   "zookeeper",
		Short: "Run the cluster state: a server of the ZooKeeper protocol",
		Long: "Runs gust's own server of the ZooKeeper protocol on storm.zookeeper.port, for a site with one Nimbus that does not want to\n" +
			"operate an ensemble. Its files lie in --dir.",
		Example: "  gust zookeeper --dir /var/lib/gust/zookeeper",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, sources, log, err := d.start()
			if err != nil {
				return err
			}
			if dir == "" {
				dir = filepath.Join(config.LocalDir(conf, sources.StormHome), "zookeeper")
			}
			files, err := openfiles.OfProcess()
			if err != nil {
				return err
			}
			zk, err := newZookeeperServer(conf, d.bind, dir, files, log)
			if err != nil {
				return err
			}
			return runZookeeper(cmd.Context(), zk, dir, log)
		},
	}
	d.register(cmd, "")
	cmd.Flags().StringVar(&dir, "dir", "", "folder of log and snapshots (default zookeeper in storm.local.dir)")
	return cmd
}

func newZookeeperServer(conf config.Conf, bind, dir string, files *openfiles.Pool, log *zap.Logger) (*server.Server, error) {
	port := strconv.FormatInt(conf.Int(config.StormZookeeperPort, 2181), 10)
	return server.New(server.Config{Addr: net.JoinHostPort(bind, port), Dir: dir, Files: files.Share()}, log)
}

func listenZookeeper(zk *server.Server) (net.Addr, error) {
	addr, err := zk.Listen()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", config.StormZookeeperPort, err)
	}
	return addr, nil
}

func runZookeeper(ctx context.Context, zk *server.Server, dir string, log *zap.Logger) error {
	addr, err := listenZookeeper(zk)
	if err != nil {
		return err
	}
	log.Info("cluster state listens", zap.Stringer("address", addr), zap.String("dir", dir))
	return settled(ctx, log, func(ctx context.Context) error { return quiet(zk.Run(ctx)) })
}
