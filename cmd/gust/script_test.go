// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"gust":  func() { os.Exit(execute(append([]string{"gust"}, os.Args[1:]...))) },
		"storm": func() { os.Exit(execute(append([]string{"storm"}, os.Args[1:]...))) },
	})
}

// TestScripts runs the command lines in testdata/script, each against a gust of its own where it starts one.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Setup:               setupScript,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"await":    await,
			"nothere":  nothere,
			"pidsgone": pidsgone,
			"idle":     idle,
			"uploads":  uploads,
		},
	})
}

// TestEveryCommandHasAnExample is for those who read --help.
func TestEveryCommandHasAnExample(t *testing.T) {
	t.Parallel()
	var look func(*cobra.Command)
	look = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			if !sub.HasSubCommands() && (sub.Example == "" || sub.Short == "") {
				t.Errorf("%s has no example, or does not say what it does", sub.CommandPath())
			}
			look(sub)
		}
	}
	look(newGust())
}

// setupScript gives a script a Storm home, the JAR of topologies and free ports: $P0 to $P4.
func setupScript(env *testscript.Env) error {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return err
	}
	home := os.Getenv("GUST_STORM_HOME")
	if home == "" {
		home = filepath.Join(root, "build", "storm-home", referenceStorm)
	}
	jar := filepath.Join(root, "build", "topologies.jar")
	for _, needed := range []string{home, jar} {
		if _, err := os.Stat(needed); err != nil {
			return fmt.Errorf("%w; make storm-home topologies makes it", err)
		}
	}
	env.Setenv("STORM_HOME", home)
	env.Setenv("JAR", jar)
	env.Setenv("MULTILANG", filepath.Join(root, "build", "multilang"))
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("JAVA_HOME", os.Getenv("JAVA_HOME"))
	env.Setenv("STORM_JAR_JVM_OPTS", "-Xmx128m")
	var listeners [5]net.Listener // all at once, so that no two get one port
	for i := range listeners {
		listener, err := net.Listen("tcp", ":0")
		if err != nil {
			return err
		}
		listeners[i] = listener
		_, port, err := net.SplitHostPort(listener.Addr().String())
		if err != nil {
			return err
		}
		env.Setenv(fmt.Sprintf("P%d", i), port)
	}
	for _, listener := range listeners {
		if err := listener.Close(); err != nil {
			return err
		}
	}
	env.Setenv("PORTS", fmt.Sprintf("-c nimbus.thrift.port=%s -c supervisor.thrift.port=%s -c storm.zookeeper.port=%s -c supervisor.slots.ports=[%s,%s]",
		env.Getenv("P0"), env.Getenv("P1"), env.Getenv("P2"), env.Getenv("P3"), env.Getenv("P4")))
	return nil
}

// await FILE PATTERN waits until a file has a match.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await FILE PATTERN")
	}
	pattern, err := regexp.Compile(args[1])
	ts.Check(err)
	deadline := time.After(2 * time.Minute)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		files, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		for _, name := range files {
			if text, err := os.ReadFile(name); err == nil && pattern.Match(text) {
				return
			}
		}
		select {
		case <-ticker.C:
		case <-deadline:
			text, _ := os.ReadFile(ts.MkAbs(args[0])) // shown as it is, if it is there at all
			ts.Fatalf("await: no %q in %s:\n%s", args[1], args[0], text)
		}
	}
}

// nothere PATTERN fails when a file below the script's folder has a match: for secrets that must not lie about.
func nothere(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: nothere DIR TEXT")
	}
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && bytes.Contains(text, []byte(args[1])) {
			return fmt.Errorf("%s holds %q", path, args[1])
		}
		return err
	}))
}

// pidsgone waits until no process is left whose command line names the script's folder.
func pidsgone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: pidsgone TEXT")
	}
	deadline := time.After(time.Minute)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		found := processes(args[0])
		if len(found) == 0 {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			ts.Fatalf("processes left: %v", found)
		}
	}
}

func processes(text string) []string {
	var found []string
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil
	}
	for _, name := range lines {
		line, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(line), text) && !strings.HasPrefix(name, fmt.Sprintf("/proc/%d/", os.Getpid())) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
