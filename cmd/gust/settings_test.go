// SPDX-License-Identifier: Apache-2.0

// Where settings come from: files by their name, options by their place on the line.

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/config"
)

// TestConfigOfTheWorkingDirectory has a storm.yaml in the conf folder and one in the working directory. It changes the working
// directory, so it does not run in parallel.
func TestConfigOfTheWorkingDirectory(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	for dir, text := range map[string]string{filepath.Join(home, "conf"): "nimbus.thrift.port: 1", work: "nimbus.thrift.port: 2"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "storm.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(work)
	client := settings{stormHome: home, confFile: "storm.yaml"}
	daemon := daemonSettings{settings: client}
	for who, c := range map[string]struct {
		load func() (config.Conf, config.Sources, error)
		want int64
	}{"Storm's commands": {client.load, 1}, "a daemon": {daemon.load, 2}} {
		conf, _, err := c.load()
		if err != nil {
			t.Fatal(err)
		}
		if port := conf.Int(config.NimbusThriftPort, 0); port != c.want {
			t.Errorf("%s reads port %d, want %d", who, port, c.want)
		}
	}
}

func TestJarLine(t *testing.T) {
	t.Parallel()
	type parsed struct {
		Jar, Class            string
		Args, Jars, Overrides []string
		File                  string
	}
	full := parsed{Jar: "a.jar", Class: "Main", Args: []string{"x", "-v"}, Jars: []string{"b c.jar", "d.jar"}, Overrides: []string{`k={"a":"b=c"}`}, File: "f.yaml"}
	for title, c := range map[string]struct {
		line []string
		want parsed
	}{
		"Behind":  {[]string{"a.jar", "Main", "x", "-v", "--jars", "b c.jar,d.jar", "-c", `k={"a":"b=c"}`, "--config", "f.yaml"}, full},
		"Before":  {[]string{"--jars", "b c.jar,d.jar", "-c", `k={"a":"b=c"}`, "--config", "f.yaml", "a.jar", "Main", "x", "-v"}, full},
		"Between": {[]string{"a.jar", "-c", `k={"a":"b=c"}`, "Main", "--config=f.yaml", "x", "--jars=b c.jar,d.jar", "-v"}, full},
		"Joined":  {[]string{"a.jar", "Main", "x", "-v", `-c=k={"a":"b=c"}`, "--config=f.yaml", "--jars=b c.jar,d.jar"}, full},
		"Ended":   {[]string{"a.jar", "Main", "--", "-c", "k=v"}, parsed{Jar: "a.jar", Class: "Main", Args: []string{"-c", "k=v"}}},
	} {
		l, err := parseJarLine(c.line)
		if err != nil {
			t.Errorf("%s: %v", title, err)
			continue
		}
		got := parsed{Jar: l.jar, Class: l.class, Args: l.args, Jars: l.jars, Overrides: l.options, File: l.confFile}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +have):\n%s", title, diff)
		}
	}
}
