// SPDX-License-Identifier: Apache-2.0

// This file is "gust demo": gust dev in a folder of its own, with a topology submitted and shown while it runs.

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/gust-stream/gust/config"
)

// demoName is the name under which the demo's topology is submitted.
const demoName = "demo"

func newDemo() *cobra.Command {
	var d daemonSettings
	var jar, class string
	var seconds int
	cmd := &cobra.Command{
		Use:   "demo --jar JAR --main CLASS",
		Short: "Watch a word count run",
		Long: "Starts a gust dev in a temporary folder, submits a topology with Storm's own Java client and shows its words, tasks and\n" +
			"workers until Ctrl-C or until the time is up. The main class gets the topology's name and a folder, into which its tasks\n" +
			"write lines of word, tab, count. Ports that are taken are replaced by free ones.",
		Example: "  gust demo --jar build/topologies.jar --main org.gust.compat.Demo",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if jar == "" || class == "" {
				return usagef("gust demo needs --jar and --main")
			}
			dir, err := os.MkdirTemp("", "gust-demo-")
			if err != nil {
				return fmt.Errorf("make a folder for the demo: %w", err)
			}
			defer func() { _ = os.RemoveAll(dir) }() // a folder in the system's own place for temporary files
			if d.options, err = demoPorts(cmd.Context(), d.options); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), time.Duration(seconds)*time.Second)
			defer cancel()
			return runDemo(ctx, cmd, &d, demo{jar: jar, class: class, dir: dir})
		},
	}
	d.register(cmd, "127.0.0.1")
	flags := cmd.Flags()
	flags.StringVar(&jar, "jar", "", "topology JAR")
	flags.StringVar(&class, "main", "", "its main class")
	flags.IntVar(&seconds, "seconds", 120, "seconds after which the demo ends by itself")
	flags.Lookup("log-level").DefValue = "error"
	d.level = "error"
	return cmd
}

// demo is one run of the demo.
type demo struct {
	jar, class, dir string
}

func runDemo(ctx context.Context, cmd *cobra.Command, d *daemonSettings, run demo) error {
	log, err := newLogger(d.level)
	if err != nil {
		return err
	}
	conf, sources, err := prepareDev(d, run.dir)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "Starting the cluster state, Nimbus and a supervisor in one process ...\n")
	err = runDev(ctx, devSite{conf: conf, sources: sources, bind: d.bind, log: log, confDir: sources.ConfDir}, func(ctx context.Context) error {
		fmt.Fprintf(out, "Ready. Submitting %s from %s with Storm's Java client ...\n", run.class, run.jar)
		if err := run.submit(ctx, d, sources); err != nil {
			return err
		}
		view := newDemoView(out, conf, filepath.Join(run.dir, "out"))
		return view.run(ctx)
	})
	if ctx.Err() != nil {
		err = quiet(err)
		fmt.Fprintln(out, "\nThe demo has ended; its workers and its files are gone.")
	}
	return err
}

// submit runs "storm jar" against the demo's own conf.
func (r demo) submit(ctx context.Context, d *daemonSettings, sources config.Sources) error {
	line := jarLine{settings: settings{stormHome: sources.StormHome}, jar: r.jar, class: r.class, args: []string{demoName, filepath.Join(r.dir, "out")}, confDir: sources.ConfDir, quiet: d.level != "debug"}
	if err := line.run(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("submit the demo's topology: %w", err)
	}
	return nil
}

// demoPorts keeps Storm's own ports as long as they are free and the user named none.
func demoPorts(ctx context.Context, options []string) ([]string, error) {
	var listen net.ListenConfig
	given, err := config.ParseOverrides(options)
	if err != nil {
		return nil, usageError{err}
	}
	var listeners []net.Listener
	defer func() {
		for _, l := range listeners {
			_ = l.Close() // it was only held so that no other key gets its port
		}
	}()
	free := func(wanted int) (int, error) {
		l, err := listen.Listen(ctx, "tcp", fmt.Sprintf(":%d", wanted))
		if err != nil {
			l, err = listen.Listen(ctx, "tcp", ":0")
		}
		if err != nil {
			return 0, fmt.Errorf("find a free port: %w", err)
		}
		listeners = append(listeners, l)
		addr, ok := l.Addr().(*net.TCPAddr)
		if !ok {
			return 0, errors.New("find a free port: not a TCP address")
		}
		return addr.Port, nil
	}
	for key, wanted := range map[string]int{config.NimbusThriftPort: 6627, config.SupervisorThriftPort: 6628, config.StormZookeeperPort: 2181} {
		if given.Has(key) {
			continue
		}
		port, err := free(wanted)
		if err != nil {
			return nil, err
		}
		options = append(options, fmt.Sprintf("%s=%d", key, port))
	}
	if given.Has(config.SupervisorSlotsPorts) {
		return options, nil
	}
	first, err := free(6700)
	if err != nil {
		return nil, err
	}
	second, err := free(6701)
	return append(options, fmt.Sprintf("%s=[%d,%d]", config.SupervisorSlotsPorts, first, second)), err
}
