// SPDX-License-Identifier: Apache-2.0

// This file is "gust state ls", "show", "verify" and "rm".

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/stateapi/wire"
)

// stateLine is a component's states on a supervisor.
type stateLine struct {
	Node string `json:"node"`
	Host string `json:"host"`
	cluster.StateComponent
}

// stateTask is the state of a task.
type stateTask struct {
	Topology  string `json:"topology"`
	Owner     string `json:"owner"`
	Component string `json:"component"`
	Task      int32  `json:"task"`
	Tasks     int32  `json:"tasks"`
	Shards    int32  `json:"shards"`
	Encoder   string `json:"encoder"`
	Entries   uint64 `json:"entries"`
	Bytes     uint64 `json:"bytes"`
	Commit    uint64 `json:"commit"`
	Applied   uint64 `json:"applied"`
	Prepared  *int64 `json:"prepared"` // txid of what is prepared, or null
	Opened    int64  `json:"opened"`
	Connected bool   `json:"connected"`
	Damage    string `json:"damage,omitempty"`
}

func stateTaskOf(i *wire.Info) stateTask {
	t := stateTask{
		Topology: i.Topology, Owner: i.Owner, Component: i.Component, Task: i.Task, Tasks: i.Tasks, Shards: i.Shards, Encoder: i.Encoder,
		Entries: i.Entries, Bytes: i.Bytes, Commit: i.Commit, Applied: i.Applied, Opened: i.Opened, Connected: i.Connected, Damage: i.Damage,
	}
	if i.Prepared {
		t.Prepared = &i.TxID
	}
	return t
}

func newStateList() *cobra.Command {
	var s stateSettings
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List keyed states, of all supervisors or of one state server",
		Long: "Lists what the supervisors last told of the states they keep, a line for each component and supervisor; sizes are up to a minute old.\n" +
			"With --dir or --socket it lists each task's state on that server as it is now.",
		Example: "  gust state ls\n  gust state ls --json\n  gust state ls --dir /tmp/state",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.dir != "" || s.socket != "" {
				return s.with(cmd.Context(), func(c *stateClient) error {
					infos, err := c.list(stateFilter{task: -1})
					if err != nil {
						return err
					}
					return printStateTasks(cmd.OutOrStdout(), infos, s.json)
				})
			}
			lines, err := s.reports(cmd.Context())
			if err != nil {
				return err
			}
			return printStateLines(cmd.OutOrStdout(), lines, s.json)
		},
	}
	s.register(cmd)
	return cmd
}

// reports reads what the supervisors told.
func (s *stateSettings) reports(ctx context.Context) ([]stateLine, error) {
	conf, _, err := s.load()
	if err != nil {
		return nil, err
	}
	state, err := connectCluster(ctx, conf, zap.NewNop())
	if err != nil {
		return nil, err
	}
	defer state.Close()
	reports, err := state.StateReports(ctx)
	if err != nil {
		return nil, err
	}
	lines := []stateLine{}
	for _, node := range slices.Sorted(maps.Keys(reports)) {
		for _, c := range reports[node].Components {
			lines = append(lines, stateLine{node, reports[node].Host, c})
		}
	}
	slices.SortStableFunc(lines, func(a, b stateLine) int {
		return cmp.Or(cmp.Compare(a.Topology, b.Topology), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Component, b.Component))
	})
	return lines, nil
}

func printStateLines(out io.Writer, lines []stateLine, asJSON bool) error {
	if asJSON {
		return printStateJSON(out, lines)
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, err := fmt.Fprintln(table, "TOPOLOGY\tOWNER\tCOMPONENT\tTASKS HERE\tENTRIES\tMEMORY\tOPENED\tHOST\tNODE")
	for i := range lines {
		l := &lines[i]
		_, e := fmt.Fprintf(table, "%s\t%s\t%s\t%d of %d\t%d\t%s\t%s\t%s\t%s\n", l.Topology, l.Owner, l.Component, len(l.Here), l.Tasks, l.Entries,
			bytesText(l.Bytes), timeText(l.Opened), l.Host, l.Node)
		err = errors.Join(err, e)
	}
	return errors.Join(err, table.Flush())
}

func printStateTasks(out io.Writer, infos []wire.Info, asJSON bool) error {
	if asJSON {
		tasks := make([]stateTask, 0, len(infos))
		for i := range infos {
			tasks = append(tasks, stateTaskOf(&infos[i]))
		}
		return printStateJSON(out, tasks)
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, err := fmt.Fprintln(table, "TOPOLOGY\tOWNER\tCOMPONENT\tTASK\tENTRIES\tMEMORY\tCOMMIT\tOPENED\tSTATUS")
	for i := range infos {
		n := &infos[i]
		status := "closed"
		if n.Connected {
			status = "open"
		}
		if n.Prepared {
			status += fmt.Sprintf(", %d prepared", n.TxID)
		}
		if n.Damage != "" {
			status = "damaged: " + n.Damage
		}
		_, e := fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%s\t%d\t%s\t%s\n", n.Topology, n.Owner, n.Component, n.Task, n.Entries, bytesText(n.Bytes),
			n.Commit, timeText(n.Opened), status)
		err = errors.Join(err, e)
	}
	return errors.Join(err, table.Flush())
}

func printStateJSON(out io.Writer, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	_, err = fmt.Fprintf(out, "%s\n", text)
	return err
}

func bytesText(n uint64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d B", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

func timeText(ms int64) string { return time.UnixMilli(ms).Format("2006-01-02 15:04:05") }

func newStateShow() *cobra.Command {
	var s stateSettings
	filter := stateFilter{}
	cmd := &cobra.Command{
		Use:     "show TOPOLOGY",
		Short:   "Show all that this machine knows of a topology's states",
		Example: "  gust state show words\n  gust state show words --component count --task 3 --json",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			filter.topology = args[0]
			return s.with(cmd.Context(), func(c *stateClient) error {
				infos, err := c.list(filter)
				switch {
				case err != nil:
					return err
				case len(infos) == 0:
					return fmt.Errorf("no such state of topology %s on this machine; gust state ls lists those of all", args[0])
				case s.json:
					return printStateTasks(cmd.OutOrStdout(), infos, true)
				}
				for i := range infos {
					if err := showState(cmd.OutOrStdout(), &infos[i]); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	s.register(cmd)
	filter.register(cmd)
	return cmd
}

func showState(out io.Writer, n *wire.Info) error {
	_, err := fmt.Fprintf(out, "task %d of %s, topology %s of %s\n  tasks %d, shards %d, encoder %s\n  entries %d, memory %s\n"+
		"  commit %d, in the table up to %d, session %x, opened %s\n", n.Task, n.Component, n.Topology, n.Owner, n.Tasks, n.Shards, n.Encoder, n.Entries,
		bytesText(n.Bytes), n.Commit, n.Applied, n.Session, timeText(n.Opened))
	if n.Prepared {
		_, e := fmt.Fprintf(out, "  prepared and not committed: txid %d\n", n.TxID)
		err = errors.Join(err, e)
	}
	if n.Damage != "" {
		_, e := fmt.Fprintf(out, "  damaged: %s\n", n.Damage)
		err = errors.Join(err, e)
	}
	return err
}

func newStateVerify() *cobra.Command {
	var s stateSettings
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check every state of this machine, in memory and on the disk",
		Long: "Reads all tables and snapshots of this machine's state server and checks their checksums and structure. It prints what is damaged and\n" +
			"exits with 1 if anything is.",
		Example: "  gust state verify\n  gust state verify --dir /tmp/state --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.with(cmd.Context(), func(c *stateClient) error {
				f, err := c.ask(wire.Verify, nil)
				if err != nil {
					return err
				}
				damage := f.String()
				if err := f.End(); err != nil {
					return err
				}
				switch {
				case s.json:
					err = printStateJSON(cmd.OutOrStdout(), map[string]any{"damaged": damage != "", "damage": damage})
				case damage == "":
					_, err = fmt.Fprintln(cmd.OutOrStdout(), "all states are sound")
				default:
					_, err = fmt.Fprintln(cmd.OutOrStdout(), damage)
				}
				if err == nil && damage != "" {
					err = exitError(1)
				}
				return err
			})
		},
	}
	s.register(cmd)
	return cmd
}

func newStateRemove() *cobra.Command {
	var s stateSettings
	var force bool
	filter := stateFilter{}
	cmd := &cobra.Command{
		Use:   "rm TOPOLOGY",
		Short: "Remove a topology's states from this machine, for good",
		Long: "Removes the states of a topology from this machine's memory and disk, or those of one component or task. States that a task has open\n" +
			"are removed with --force only; the task then fails and begins anew. Run it on each machine that gust state ls names.",
		Example: "  gust state rm words\n  gust state rm words --component count --owner ann",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			filter.topology = args[0]
			return s.with(cmd.Context(), func(c *stateClient) error { return c.removeAll(cmd.OutOrStdout(), filter, force, s.json) })
		},
	}
	s.register(cmd)
	filter.register(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "also states that a task has open")
	return cmd
}

func (c *stateClient) removeAll(out io.Writer, filter stateFilter, force, asJSON bool) error {
	infos, err := c.list(filter)
	if err != nil {
		return err
	}
	if len(infos) == 0 {
		return fmt.Errorf("no such state of topology %s on this machine", filter.topology)
	}
	if i := slices.IndexFunc(infos, func(i wire.Info) bool { return i.Connected }); i >= 0 && !force {
		return fmt.Errorf("task %d of %s has its state open; kill the topology first, or use --force. Nothing was removed", infos[i].Task, infos[i].Component)
	}
	for i := range infos {
		name := infos[i].Name
		if _, err := c.ask(wire.Remove, func(b *wire.Builder) { wire.AppendName(b, name) }); err != nil {
			return fmt.Errorf("remove state of task %d of %s (%d of %d were removed): %w", name.Task, name.Component, i, len(infos), err)
		}
	}
	if asJSON {
		return printStateJSON(out, map[string]int{"removed": len(infos)})
	}
	noun := "states"
	if len(infos) == 1 {
		noun = "state"
	}
	_, err = fmt.Fprintf(out, "removed %d %s\n", len(infos), noun)
	return err
}
