// SPDX-License-Identifier: Apache-2.0

// This file is "storm classpath", "storm version" and "storm localconfvalue": what Storm's client would run with.

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// clientClasspath is the class path of Storm's client: the JARs of the home in a fixed order, then extra.
func clientClasspath(home string, extra ...string) string {
	var path []string
	for _, dir := range []string{home, filepath.Join(home, "lib-worker"), filepath.Join(home, "extlib")} {
		jars, err := filepath.Glob(filepath.Join(dir, "*.jar"))
		if err == nil { // else the pattern is bad, and a folder with brackets in its name has no JARs for us
			path = append(path, jars...)
		}
	}
	if more := os.Getenv("STORM_EXT_CLASSPATH"); more != "" {
		path = append(path, more)
	}
	path = append(path, extra...)
	return strings.Join(slices.DeleteFunc(path, func(p string) bool { return p == "" }), string(os.PathListSeparator))
}

func newClasspath() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:     "classpath",
		Short:   "Print the class path of Storm's client",
		Example: "  java -cp \"$(storm classpath):app.jar\" com.example.WordCount",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, sources, err := s.load()
			if err != nil {
				return err
			}
			if err := needHome(sources); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), clientClasspath(sources.StormHome))
			return err
		},
	}
	s.register(cmd)
	return cmd
}

func newVersion() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the versions of gust and of the Storm home",
		Example: "  gust version --storm-home /opt/storm",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, sources, err := s.load()
			if err != nil {
				return err
			}
			gust := "(devel)"
			if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
				gust = info.Main.Version
			}
			if s.json {
				return printJSON(cmd.OutOrStdout(), map[string]string{"gust": gust, "storm": sources.StormVersion, "stormHome": sources.StormHome})
			}
			warnings := cmd.ErrOrStderr()
			for _, warning := range sources.Warnings {
				fmt.Fprintln(warnings, "warning:", warning)
			}
			storm := fmt.Sprintf("Storm %s (%s)", sources.StormVersion, sources.StormHome)
			if err := needHome(sources); err != nil {
				storm = fmt.Sprintf("Storm %s by gust's own table; %v", sources.StormVersion, err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "gust %s\n%s\n", gust, storm)
			return err
		},
	}
	s.register(cmd)
	s.registerJSON(cmd)
	return cmd
}

func newConfValue() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:     "localconfvalue KEY",
		Short:   "Print the value of a key as this machine's conf has it",
		Example: "  storm localconfvalue nimbus.seeds",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			conf, _, err := s.load()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %v\n", args[0], conf[args[0]])
			return err
		},
	}
	s.register(cmd)
	return cmd
}
