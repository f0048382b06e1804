// SPDX-License-Identifier: Apache-2.0

// This file is "gust state": the keyed state of one machine.

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/internal/openfiles"
	"github.com/gust-stream/gust/stateapi/server"
)

func newState() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "state",
		Short: "Look at and look after the keyed state of a machine",
		Long:  "Keyed state lies on the machine whose supervisor runs the task. These commands speak with the state server of this machine.",
		Args:  usage(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newStateList(), newStateShow(), newStateVerify(), newStateRemove(), newStateServe())
	return cmd
}

func newStateServe() *cobra.Command {
	var cfg server.MachineConfig
	var level string
	var retain time.Duration
	var memory int64
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a state server alone, for tests and for workers without a supervisor",
		Long: "Keeps the states of --dir in the foreground and prints a line that starts with \"gust state ready\" when clients can open them.\n" +
			"A supervisor runs the same by itself. Clients find the server by GUST_STATE_SOCKET in their environment.",
		Example: "  gust state serve --dir /tmp/state\n  GUST_STATE_SOCKET=/tmp/state/state.sock python3 program.py",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case cfg.Dir == "":
				return usagef("gust state serve needs --dir, a folder for the states")
			case memory < 0 || retain < 0:
				return usagef("--memory-max and --retain must not be below 0")
			}
			log, err := newLogger(level)
			if err != nil {
				return err
			}
			files, err := openfiles.OfProcess()
			if err != nil {
				return err
			}
			cfg.FreeOnStop = cfg.Memory == ""
			if cfg.Socket == "" {
				cfg.Socket = filepath.Join(cfg.Dir, server.SocketName)
			}
			cfg.MemoryMax, cfg.Retain, cfg.Files = uint64(memory)<<20, retain, files.Share()
			m, err := server.NewMachine(cfg, log.Named("state"))
			if err != nil {
				return err
			}
			group, ctx := errgroup.WithContext(cmd.Context())
			group.Go(func() error { return m.Run(ctx) })
			group.Go(func() error {
				select {
				case <-m.Ready():
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "gust state ready: socket %s, memory %s\n", m.Socket(), m.Memory())
				return err
			})
			return quiet(group.Wait())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&cfg.Dir, "dir", "", "folder of journal and snapshots (required)")
	flags.StringVar(&cfg.Memory, "memory-dir", "", "folder on a tmpfs for the states in memory (default one in /dev/shm that belongs to --dir)")
	flags.StringVar(&cfg.Socket, "socket", "", "path of the socket (default state.sock in --dir)")
	flags.BoolVar(&cfg.NewArena, "new-arena", false, "read all states from the disk, even if an earlier process left them in memory")
	flags.Int64Var(&memory, "memory-max", 0, "MB that the states may take in memory together (default as much as there is)")
	flags.DurationVar(&retain, "retain", 0, "time after which a state that nobody opened is removed (default never)")
	flags.StringVar(&level, "log-level", "info", "debug, info, warn or error")
	return cmd
}
