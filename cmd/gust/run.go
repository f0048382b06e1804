// SPDX-License-Identifier: Apache-2.0

// This file is "gust run": a whole topology in one process, without a cluster.

package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/worker/local"
)

// runLine is the command line of "gust run".
type runLine struct {
	source

	options []string
	length  time.Duration
	level   string
	json    bool
}

func newRun() *cobra.Command {
	var r runLine
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a topology of a YAML file or of a Go program in one process, without a cluster",
		Long: "Runs what gust submit would submit, with the same semantics: groupings, acks, timeouts, ticks, spout max pending. Components that\n" +
			"are child processes run in the folder of resources itself. Ends after the time, or with Ctrl-C, and prints what the\n" +
			"components did. The status is 0 unless the topology could not run.",
		Example: "  gust run words.yaml --for 30s\n" +
			"  gust run words.yaml --for 5s --json --log-level error\n" +
			"  gust run ./wordcount --for 10s",
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.file = args[0]
			if r.length < 0 {
				return usagef("--for says how long the topology runs, and %v is no time", r.length)
			}
			if !isYAML(r.file) {
				return r.program(cmd)
			}
			return r.run(cmd)
		},
	}
	r.register(cmd)
	flags := cmd.Flags()
	flags.StringArrayVarP(&r.options, "conf", "c", nil, "a key=value over what the file says; may be repeated")
	flags.DurationVar(&r.length, "for", 0, "how long the topology runs (default until Ctrl-C)")
	flags.StringVar(&r.level, "log-level", "info", "least level of the log lines on stderr, those of components included: debug, info, warn, error")
	flags.BoolVar(&r.json, "json", false, "print JSON")
	return cmd
}

func (r *runLine) run(cmd *cobra.Command) error {
	overrides, err := config.ParseOverrides(r.options)
	if err != nil {
		return usageError{err}
	}
	log, err := newLogger(r.level)
	if err != nil {
		return usageError{err}
	}
	d, err := r.read(cmd.Context(), overrides)
	if err != nil {
		return err
	}
	for _, warning := range d.warnings {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning:", warning)
	}
	dir := d.dir
	if dir == "" {
		dir = "."
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return fmt.Errorf("resources: %w", err)
	}
	sum, err := local.Run(cmd.Context(), d.name, d.topology, d.conf, local.Options{For: r.length, Resources: dir, Log: log})
	if sum.Components != nil {
		if err := r.summarize(cmd.OutOrStdout(), sum); err != nil {
			return err
		}
	}
	return explain(err)
}

// program lets a program run itself, with its components linked.
func (r *runLine) program(cmd *cobra.Command) error {
	for _, flag := range []string{"conf", "json", "name", "resources", "filter", "env-filter", "log-level"} {
		if cmd.Flags().Changed(flag) {
			return usagef("--%s is for YAML files; %s is a program and runs itself", flag, r.file)
		}
	}
	path, err := filepath.Abs(r.file)
	if err != nil {
		return err
	}
	child := exec.CommandContext(cmd.Context(), path, "--run", "--for", r.length.String())
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	child.Cancel = func() error { return child.Process.Signal(syscall.SIGTERM) }
	err = child.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err == nil || exited {
		return err // it has said why
	}
	return fmt.Errorf("run %s: %w", r.file, err)
}

// ran is what a topology did, as JSON.
type ran struct {
	Seconds    float64         `json:"seconds"`
	Components []ranComponent  `json:"components"`
	Errors     []ranWithErrors `json:"errors"`
}

type ranComponent struct {
	ID       string `json:"component"`
	Executed int64  `json:"executed"`
	Emitted  int64  `json:"emitted"`
	Acked    int64  `json:"acked"`
	Failed   int64  `json:"failed"`
	Errors   int64  `json:"errors"`
}

type ranWithErrors struct {
	Component string `json:"component"`
	Task      int32  `json:"task"`
	Count     int    `json:"count"`
	Error     string `json:"error"`
}

// summarize prints what the components did, and their errors.
func (r *runLine) summarize(out io.Writer, sum local.Summary) error {
	done := ran{Seconds: sum.Ran.Seconds(), Errors: []ranWithErrors{}}
	for _, id := range slices.Sorted(maps.Keys(sum.Components)) {
		if c := sum.Components[id]; !strings.HasPrefix(id, "__") {
			done.Components = append(done.Components, ranComponent{id, c.Executed, c.Emitted, c.Acked, c.Failed, c.Errors})
		}
	}
	for _, e := range sum.Errors {
		done.Errors = append(done.Errors, ranWithErrors{e.Component, e.Task, e.Count, e.Text})
	}
	if r.json {
		return printJSON(out, done)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "after %.1f s\texecuted\temitted\tacked\tfailed\terrors\t\n", done.Seconds)
	for _, c := range done.Components {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t\n", c.ID, c.Executed, c.Emitted, c.Acked, c.Failed, c.Errors)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, e := range done.Errors {
		fmt.Fprintf(out, "%s, task %d, %d times: %s\n", e.Component, e.Task, e.Count, e.Error)
	}
	return nil
}
