// SPDX-License-Identifier: Apache-2.0

// This file is "gust nimbus".

package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/internal/openfiles"
	"github.com/gust-stream/gust/nimbus"
	"github.com/gust-stream/gust/nimbus/blobstore"
)

func newNimbus() *cobra.Command {
	var d daemonSettings
	cmd := &cobra.Command{
		Use:     "nimbus",
		Short:   "Run Nimbus: takes in topologies and decides where they run",
		Long:    "Runs Nimbus on nimbus.thrift.port against the ZooKeeper servers of the conf (gust zookeeper, or an ensemble).",
		Example: "  gust nimbus --config /etc/storm/storm.yaml",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, sources, log, err := d.start()
			if err != nil {
				return err
			}
			state, err := connectCluster(cmd.Context(), conf, log)
			if err != nil {
				return told(cmd.Context(), err)
			}
			defer state.Close()
			files, err := openfiles.OfProcess()
			if err != nil {
				return err
			}
			n, err := buildNimbus(conf, sources, d.bind, nimbus.Deps{Cluster: state, Files: files, Log: log})
			if err != nil {
				return err
			}
			return settled(cmd.Context(), log, func(ctx context.Context) error { return runNimbus(ctx, n) })
		},
	}
	d.register(cmd, "")
	return cmd
}

// buildNimbus makes a Nimbus from the conf; it does not start it.
func buildNimbus(conf config.Conf, sources config.Sources, bind string, deps nimbus.Deps) (*nimbus.Nimbus, error) {
	cfg, err := nimbus.ConfigFrom(conf, sources.StormHome, sources.StormVersion, bind)
	if err != nil {
		return nil, err
	}
	deps.Blobs = blobstore.New(filepath.Join(config.BlobRoot(conf, sources.StormHome), "blobs"))
	return nimbus.New(cfg, deps), nil
}

func runNimbus(ctx context.Context, n *nimbus.Nimbus) error {
	if err := quiet(n.Run(ctx)); err != nil {
		return fmt.Errorf("run nimbus: %w", err)
	}
	return nil
}
