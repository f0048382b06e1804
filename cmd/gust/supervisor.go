// SPDX-License-Identifier: Apache-2.0

// This file is "gust supervisor".

package main

import (
	"context"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/internal/openfiles"
	"github.com/gust-stream/gust/supervisor"
)

func newSupervisor() *cobra.Command {
	var d daemonSettings
	cmd := &cobra.Command{
		Use:   "supervisor",
		Short: "Run a supervisor: starts workers and keeps them running",
		Long: "Runs a supervisor with the slots of supervisor.slots.ports. Its workers outlive it: the next supervisor over the same\n" +
			"storm.local.dir adopts them.",
		Example: "  gust supervisor --config /etc/storm/storm.yaml",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, sources, log, err := d.start()
			if err != nil {
				return err
			}
			obstacle, err := lookForJava(sources)
			if err != nil {
				return err
			}
			if obstacle != "" {
				log.Warn("conf", zap.String("warning", obstacle))
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
			s, err := buildSupervisor(conf, sources, d.bind, supervisor.Deps{Cluster: state, Files: files.Share(), StateFiles: files.Share(), Log: log}, false)
			if err != nil {
				return err
			}
			return settled(cmd.Context(), log, func(ctx context.Context) error { return quiet(s.Run(ctx)) })
		},
	}
	d.register(cmd, "")
	return cmd
}

// buildSupervisor makes a supervisor from the conf; it does not start it.
func buildSupervisor(conf config.Conf, sources config.Sources, bind string, deps supervisor.Deps, killWorkers bool,
) (*supervisor.Supervisor, error) {
	cfg, err := supervisor.FromConf(conf, sources)
	if err != nil {
		return nil, err
	}
	cfg.BindHost = bind
	cfg.KillWorkersOnStop = killWorkers
	return supervisor.New(cfg, deps)
}
