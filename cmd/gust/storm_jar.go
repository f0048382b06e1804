// SPDX-License-Identifier: Apache-2.0

// This file is "storm jar": it runs the main class of a topology with Storm's client on the class path.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gust-stream/gust/config"
)

// jarLine is a parsed command line of "storm jar".
type jarLine struct {
	settings
	jar, class string
	args       []string
	jars       []string
	confDir    string // in place of the one that the conf was read from; "" keeps that
	quiet      bool   // what the JVM prints is shown only when it fails
	help       bool
}

func newJar() *cobra.Command {
	return &cobra.Command{
		Use:   "jar TOPOLOGY-JAR MAIN-CLASS [ARG ...] [--jars FILE,...] [-c key=value] [--config FILE]",
		Short: "Run a topology's main class, which submits the JAR",
		Long: "Runs the main class with Storm's client JARs, the conf and the topology's JAR on the class path, so that StormSubmitter\n" +
			"uploads the JAR. The options may stand anywhere on the line; everything else goes to the main class.\n\n" +
			"  --jars FILE,...   JARs to ship beside the topology's own\n" +
			"  -c key=value      a conf value over what the files say; may be repeated\n" +
			"  --config FILE     file to read in place of storm.yaml\n" +
			"  --storm-home DIR  Storm home whose client is used\n\n" +
			"STORM_JAR_JVM_OPTS holds further options for the JVM, JAVA_HOME says which one.",
		Example:            "  storm jar app.jar com.example.WordCount words -c topology.workers=2",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			line, err := parseJarLine(args)
			if err != nil {
				return err
			}
			if line.help {
				return cmd.Help()
			}
			return line.run(cmd.Context())
		},
	}
}

// parseJarLine takes the options out of the line, wherever they stand; a bare "--" ends them.
func parseJarLine(args []string) (*jarLine, error) {
	line := &jarLine{}
	var jars string
	valued := map[string]func(string){
		"-c": func(v string) { line.options = append(line.options, v) }, "--conf": func(v string) { line.options = append(line.options, v) },
		"--config": func(v string) { line.confFile = v }, "--jars": func(v string) { jars = v }, "--storm-home": func(v string) { line.stormHome = v },
	}
	var positional []string
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		set, known := valued[name]
		switch {
		case args[i] == "--":
			positional = append(positional, args[i+1:]...)
			i = len(args)
		case slices.Contains([]string{"--artifacts", "--artifactRepositories"}, name):
			return nil, usagef("%s is not supported: download the artifacts and name their files by --jars", name)
		case (args[i] == "-h" || args[i] == "--help") && len(positional) == 0:
			line.help = true
			return line, nil
		case !known:
			positional = append(positional, args[i])
		case joined:
			set(value)
		case i+1 == len(args):
			return nil, usagef("%s needs a value", name)
		default:
			i++
			set(args[i])
		}
	}
	if len(positional) < 2 {
		return nil, usagef("storm jar needs a topology JAR and a main class; see storm jar --help")
	}
	line.jar, line.class, line.args = positional[0], positional[1], positional[2:]
	if jars != "" {
		line.jars = strings.Split(jars, ",")
	}
	return line, nil
}

func (l *jarLine) run(ctx context.Context) error {
	for _, file := range append([]string{l.jar}, l.jars...) {
		if info, err := os.Stat(file); err != nil {
			return fmt.Errorf("topology JAR: %w", err)
		} else if info.IsDir() {
			return fmt.Errorf("topology JAR: %s is a folder", file)
		}
	}
	conf, sources, err := l.load()
	if err != nil {
		return err
	}
	if err := needHome(sources); err != nil {
		return err
	}
	if l.confDir != "" {
		sources.ConfDir = l.confDir
	}
	argv, err := l.command(conf, sources)
	if err != nil {
		return err
	}
	child := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var said bytes.Buffer
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	if l.quiet {
		child.Stdout, child.Stderr = &said, &said
	}
	child.Cancel = func() error { return child.Process.Signal(os.Interrupt) }
	if err := child.Run(); err != nil {
		if _, exited := errors.AsType[*exec.ExitError](err); exited {
			fmt.Fprint(os.Stderr, said.String()) // the main class has said why
			return err
		}
		return fmt.Errorf("run %s: %w", argv[0], err)
	}
	return nil
}

// command is the JVM's command line, in the form that Storm's own script gives it.
func (l *jarLine) command(conf config.Conf, sources config.Sources) ([]string, error) {
	overrides, err := config.ParseOverrides(l.options)
	if err != nil {
		return nil, usageError{err}
	}
	options, err := config.StormOptions(overrides)
	if err != nil {
		return nil, err
	}
	dependencies, err := json.Marshal(map[string]string{})
	if err != nil {
		return nil, err
	}
	home := sources.StormHome
	argv := append([]string{javaCommand()}, strings.Fields(os.Getenv("STORM_JAR_JVM_OPTS"))...)
	argv = append(argv, "-Ddaemon.name=", "-Dstorm.options="+options, "-Dstorm.home="+home,
		"-Dstorm.log.dir="+config.LogDir(conf, home), "-Djava.library.path="+conf.String("java.library.path", ""),
		"-Dstorm.conf.file="+l.confFile, "-Dstorm.jar="+l.jar, "-Dstorm.dependency.jars="+strings.Join(l.jars, ","),
		"-Dstorm.dependency.artifacts="+string(dependencies),
		"-cp", clientClasspath(home, append(slices.Clone(l.jars), l.jar, sources.ConfDir)...), l.class)
	return append(argv, l.args...), nil
}

func javaCommand() string {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		return filepath.Join(home, "bin", "java")
	}
	return "java"
}
