// SPDX-License-Identifier: Apache-2.0

// This file is "gust explain": which component runs on which workers, and why.

package main

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/leader"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology"
	"github.com/gust-stream/gust/topology/engine"
)

// explained is one row of the answer.
type explained struct {
	Component string        `json:"component"`
	Engine    engine.Engine `json:"engine"`
	Kind      engine.Kind   `json:"kind"`
	Reason    string        `json:"reason"`
	Command   []string      `json:"command,omitempty"`
}

func newExplain() *cobra.Command {
	var s settings
	var from source
	cmd := &cobra.Command{
		Use:   "explain TOPOLOGY|FILE",
		Short: "Say which component runs on Go workers, which on Java workers, and why",
		Long: "Explains a running topology by its name, or one that is not submitted yet by its YAML file or program. The key\n" +
			"gust.topology.worker.engine (auto, java or go) changes the answer, for a topology or for one component.",
		Example: "  gust explain words\n  gust explain words.yaml --json\n  gust explain ./wordcount -c gust.topology.worker.engine=java",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.ContainsAny(args[0], "/\\.") { // no name of a topology has one
				from.file = args[0]
				overrides, err := config.ParseOverrides(s.options)
				if err != nil {
					return usageError{err}
				}
				d, err := from.read(cmd.Context(), overrides)
				if err != nil {
					return err
				}
				return s.explainFile(cmd, d)
			}
			return s.explainRunning(cmd, args[0])
		},
	}
	s.register(cmd)
	s.registerJSON(cmd)
	from.register(cmd)
	return cmd
}

// explainFile decides as Nimbus would with this machine's conf.
func (s *settings) explainFile(cmd *cobra.Command, d *described) error {
	conf, _, err := s.load()
	if err != nil {
		return err
	}
	conf = config.Merge(conf, d.conf)
	user, err := topology.Normalize(conf, d.topology)
	if err != nil {
		return explain(err)
	}
	system, err := topology.System(conf, user)
	if err != nil {
		return explain(err)
	}
	plan, err := engine.Decide(engine.Input{Conf: conf, Topology: system})
	if err != nil {
		return explain(err)
	}
	return s.printPlan(cmd.OutOrStdout(), plan)
}

// explainRunning asks Nimbus for what it decided and gives the reasons for it.
func (s *settings) explainRunning(cmd *cobra.Command, name string) error {
	ctx := cmd.Context()
	nimbus, err := s.nimbus(ctx)
	if err != nil {
		return err
	}
	defer hangUp(nimbus)
	summary, err := nimbus.GetTopologySummaryByName(ctx, name)
	if err != nil {
		return explain(err)
	}
	defer sayUnscheduled(cmd.ErrOrStderr(), summary)
	id := summary.ID
	text, err := nimbus.GetTopologyConf(ctx, id)
	if err != nil {
		return explain(err)
	}
	conf, err := config.ParseJSON([]byte(text))
	if err != nil {
		return err
	}
	system, err := nimbus.GetTopology(ctx, id)
	if err != nil {
		return explain(err)
	}
	in := engine.Input{Conf: conf, Topology: system}
	if needsJar(system) {
		jar, err := downloadJar(ctx, nimbus, id)
		if err != nil {
			return err
		}
		in.Jar = jar
	}
	plan, err := engine.Decide(in)
	if err != nil {
		return explain(err)
	}
	decided := conf.Map(config.GustTopologyEngines)
	for component, choice := range plan.Components {
		runs := engine.Java
		if decided[component] == string(engine.Go) {
			runs = engine.Go
		}
		if choice.Engine != runs && choice.Engine != engine.Both {
			choice.Reason = fmt.Sprintf("Nimbus decided so at the submit; this gust would say %s: %s", choice.Engine, choice.Reason)
			choice.Engine = runs
			plan.Components[component] = choice
		}
	}
	return s.printPlan(cmd.OutOrStdout(), plan)
}

// needsJar says whether the reasons lie in the JAR.
func needsJar(t *storm.StormTopology) bool {
	inJava := func(o *storm.ComponentObject) bool {
		_, err := engine.ReadChild(o)
		return err == nil && o.SerializedJava != nil
	}
	for _, s := range t.Spouts {
		if inJava(s.SpoutObject) {
			return true
		}
	}
	for _, b := range t.Bolts {
		if inJava(b.BoltObject) {
			return true
		}
	}
	return false
}

// downloadJar reads a topology's JAR out of the blob store.
func downloadJar(ctx context.Context, nimbus *leader.Nimbus, id string) (*zip.Reader, error) {
	key := id + "-stormjar.jar"
	begin, err := nimbus.BeginBlobDownload(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("download %s: %w", key, explain(err))
	}
	var data bytes.Buffer
	for {
		part, err := nimbus.DownloadBlobChunk(ctx, begin.Session)
		if err != nil {
			return nil, fmt.Errorf("download %s: %w", key, explain(err))
		}
		if len(part) == 0 {
			break
		}
		data.Write(part)
	}
	jar, err := zip.NewReader(bytes.NewReader(data.Bytes()), int64(data.Len()))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return jar, nil
}

// printPlan prints the user's components, then the system's.
func (s *settings) printPlan(out io.Writer, plan engine.Plan) error {
	var rows []explained
	for _, id := range slices.SortedFunc(maps.Keys(plan.Components), func(a, b string) int {
		if sa, sb := strings.HasPrefix(a, "__"), strings.HasPrefix(b, "__"); sa != sb {
			if sb {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	}) {
		c := plan.Components[id]
		row := explained{Component: id, Engine: c.Engine, Kind: c.Kind, Reason: c.Reason}
		if c.Child != nil {
			row.Command = c.Child.Command
		}
		rows = append(rows, row)
	}
	if s.json {
		return printJSON(out, rows)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "Component\tEngine\tWhy")
	for _, r := range rows {
		fmt.Fprintf(table, "%s\t%s\t%s\n", r.Component, r.Engine, r.Reason)
	}
	return table.Flush()
}
