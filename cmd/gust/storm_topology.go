// SPDX-License-Identifier: Apache-2.0

// This file holds the storm commands that look at topologies and start or stop them: list, kill, activate, deactivate,
// get-errors.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gust-stream/gust/thrift/leader"
	"github.com/gust-stream/gust/thrift/storm"
)

// explain puts the text of Nimbus's own exceptions in place of the generated one.
func explain(err error) error {
	var (
		notAlive *storm.NotAliveException
		alive    *storm.AlreadyAliveException
		invalid  *storm.InvalidTopologyException
		denied   *storm.AuthorizationException
	)
	switch {
	case errors.As(err, &notAlive):
		return errors.New(notAlive.Msg)
	case errors.As(err, &alive):
		return errors.New(alive.Msg)
	case errors.As(err, &invalid):
		return errors.New(invalid.Msg)
	case errors.As(err, &denied):
		return errors.New(denied.Msg)
	default:
		return err
	}
}

func newList() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the topologies and their states",
		Example: "  storm list\n  storm list --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var topologies []*storm.TopologySummary
			err := s.ask(cmd.Context(), func(n *leader.Nimbus) (err error) {
				topologies, err = n.GetTopologySummaries(cmd.Context())
				return err
			})
			if err != nil {
				return err
			}
			if s.json {
				return printJSON(cmd.OutOrStdout(), topologies)
			}
			if len(topologies) == 0 {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "No topologies running.")
				return err
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "Topology_name\tStatus\tNum_tasks\tNum_workers\tUptime_secs\tTopology_Id\tOwner")
			for _, t := range topologies {
				fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%s\t%s\n", t.Name, t.Status, t.NumTasks, t.NumWorkers, t.UptimeSecs, t.ID, t.GetOwner())
			}
			if err := table.Flush(); err != nil {
				return err
			}
			for _, t := range topologies {
				sayUnscheduled(cmd.ErrOrStderr(), t)
			}
			return nil
		},
	}
	s.register(cmd)
	s.registerJSON(cmd)
	return cmd
}

// sayUnscheduled tells what keeps a topology from running as it should. It goes to stderr: what prints lists has readers that are programs.
func sayUnscheduled(out io.Writer, t *storm.TopologySummary) {
	if status := t.GetSchedStatus(); status != "" && !strings.HasPrefix(status, "Fully Scheduled") {
		fmt.Fprintf(out, "%s: %s\n", t.Name, status)
	}
}

func newKill() *cobra.Command {
	var s settings
	var wait int32
	var ignore bool
	cmd := &cobra.Command{
		Use:     "kill TOPOLOGY ...",
		Short:   "Kill topologies: spouts stop at once, workers after the wait",
		Example: "  storm kill words -w 5",
		Args:    usage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			options := storm.NewKillOptions()
			if cmd.Flags().Changed("wait") {
				options.WaitSecs = &wait
			}
			return s.each(cmd, args, "Killed topology", ignore, func(ctx context.Context, n *leader.Nimbus, name string) error {
				return n.KillTopologyWithOpts(ctx, name, options)
			})
		},
	}
	s.register(cmd)
	cmd.Flags().Int32VarP(&wait, "wait", "w", 0, "seconds between the spouts' stop and the workers' end (default the topology's message timeout)")
	cmd.Flags().BoolVarP(&ignore, "ignore-errors", "i", false, "go on with the next topology after an error")
	return cmd
}

func newActivate() *cobra.Command {
	return newSwitch("activate", "Let a topology's spouts run", "Activated topology", (*storm.NimbusClient).Activate)
}

func newDeactivate() *cobra.Command {
	return newSwitch("deactivate", "Let a topology's spouts pause", "Deactivated topology", (*storm.NimbusClient).Deactivate)
}

func newSwitch(name, short, done string, call func(*storm.NimbusClient, context.Context, string) error) *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:     name + " TOPOLOGY",
		Short:   short,
		Example: "  storm " + name + " words",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.each(cmd, args, done, false, func(ctx context.Context, n *leader.Nimbus, name string) error {
				return call(n.NimbusClient, ctx, name)
			})
		},
	}
	s.register(cmd)
	return cmd
}

// each does one thing to every named topology over one connection.
func (s *settings) each(cmd *cobra.Command, names []string, done string, ignore bool, do func(context.Context, *leader.Nimbus, string) error) error {
	return s.ask(cmd.Context(), func(n *leader.Nimbus) error {
		for _, name := range names {
			err := do(cmd.Context(), n, name)
			switch {
			case err == nil:
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", done, name)
			case ignore:
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: %v\n", name, explain(err))
			default:
				return err
			}
		}
		return nil
	})
}

func newGetErrors() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:     "get-errors TOPOLOGY",
		Aliases: []string{"get_errors"},
		Short:   "Print the last error of each component, as JSON",
		Example: "  storm get-errors words",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var info *storm.TopologyInfo
			one := storm.NumErrorsChoice_ONE
			err := s.ask(cmd.Context(), func(n *leader.Nimbus) (err error) {
				info, err = n.GetTopologyInfoByNameWithOpts(cmd.Context(), args[0], &storm.GetInfoOptions{NumErrChoice: &one})
				if _, gone := errors.AsType[*storm.NotAliveException](err); gone {
					return nil
				}
				return err
			})
			switch {
			case err != nil:
				return err
			case info == nil:
				return printJSON(cmd.OutOrStdout(), map[string]string{"Failure": "no topology of the name " + args[0] + " is alive"})
			}
			found := map[string]string{}
			for component, errs := range info.Errors {
				if len(errs) > 0 {
					found[component] = strings.TrimSpace(errs[0].Error)
				}
			}
			return printJSON(cmd.OutOrStdout(), map[string]any{"Topology Name": info.Name, "Comp-Errors": found})
		},
	}
	s.register(cmd)
	return cmd
}
