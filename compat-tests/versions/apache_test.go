// SPDX-License-Identifier: Apache-2.0

// This file tests the folders of an Apache Storm distribution as Storm home, as they are.

package versions

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/compat-tests/harness"
	"github.com/gust-stream/gust/compat-tests/ledger"
)

// TestApacheHome runs gust over an existing installation, which is named by the environment or by storm.home in a storm.yaml
// elsewhere, and submits with gust's storm. The installation stays as it is.
func TestApacheHome(t *testing.T) {
	for _, c := range []struct {
		name string
		// start gives arguments and environment of gust dev, the conf's folder and those of storm.
		start func(t *testing.T, home, yaml string) (args, env []string)
	}{
		{"Environment", func(t *testing.T, home, yaml string) (args, env []string) {
			t.Helper()
			put(t, filepath.Join(home, "conf", "storm.yaml"), yaml)
			return nil, []string{"STORM_HOME=" + home}
		}},
		{"Key", func(t *testing.T, home, yaml string) (args, env []string) {
			t.Helper()
			conf := t.TempDir()
			put(t, filepath.Join(conf, "storm.yaml"), yaml+fmt.Sprintf("storm.home: %q\n", home))
			return nil, []string{"STORM_CONF_DIR=" + conf}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := installation(t)
			args, env := c.start(t, home, settings(t))
			before := tree(t, home)

			dir := t.TempDir()
			jar, err := harness.Jar()
			if err != nil {
				t.Fatal(err)
			}
			dev(t, env, append([]string{"dev", "--dir", dir}, args...)...)
			out := filepath.Join(dir, "results")
			said, err := storm(t, env, "jar", jar, "org.gust.compat.WordCount", "words", out, "compat.rows=60000", "compat.pause.ms=5")
			if err != nil {
				t.Fatalf("submit: %v\n%s", err, said)
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			err = harness.Await(ctx, "an ack", func() (bool, error) {
				book, err := ledger.Read(out)
				return len(book.Verb("sentences", "acked")) > 0, err
			})
			if err != nil {
				t.Fatal(err)
			}
			if said, err := storm(t, env, "kill", "words", "-w", "0"); err != nil {
				t.Errorf("kill: %v\n%s", err, said)
			}
			if diff := cmp.Diff(before, tree(t, home)); diff != "" {
				t.Errorf("the installation has changed (-before +after):\n%s", diff)
			}
		})
	}
}

// installation lays out the folders of a distribution, from what stock Storm is made of.
func installation(t *testing.T) string {
	t.Helper()
	stock, err := harness.StockHome()
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(t.TempDir(), "apache-storm-"+harness.Version)
	for _, dir := range []string{"bin", "conf", "extlib", "extlib-daemon", "lib-tools", "lib-webapp", "public"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"lib", "lib-worker", "log4j2"} {
		if err := os.Symlink(filepath.Join(stock, dir), filepath.Join(home, dir)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(home, "RELEASE"), harness.Version+"\n")
	put(t, filepath.Join(home, "bin", "storm"), "#!/bin/sh\nexec python3 \"$(dirname \"$0\")/storm.py\" \"$@\"\n")
	put(t, filepath.Join(home, "conf", "storm_env.ini"), "[environment]\n")
	put(t, filepath.Join(home, "conf", "storm.yaml"), "# nothing set\n")
	return home
}

// settings are a storm.yaml with free ports and small workers.
func settings(t *testing.T) string {
	t.Helper()
	ports, err := harness.NewGust(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := ports.Settings()
	return fmt.Sprintf("nimbus.seeds: [\"localhost\"]\nnimbus.thrift.port: %d\nstorm.zookeeper.servers: [\"localhost\"]\nstorm.zookeeper.port: %d\n"+
		"supervisor.thrift.port: %d\nsupervisor.slots.ports: [%d]\nworker.childopts: \"-Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1\"\n",
		s.Nimbus, s.ZooKeeper, s.Supervisor, s.Slots[0])
}

// dev runs gust until the test ends.
func dev(t *testing.T, env []string, args ...string) {
	t.Helper()
	binary, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	said, err := os.Create(filepath.Join(t.TempDir(), "gust.out"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, args...)
	cmd.Env = append(without(os.Environ(), "STORM_HOME", "STORM_CONF_DIR"), env...)
	cmd.Stdout, cmd.Stderr = said, said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // gone already is seen below
		if err := <-done; err != nil {
			t.Errorf("end of gust: %v", err)
		}
		_ = said.Close() // nothing is read from it any more
	})
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	err = harness.Await(ctx, "gust to be ready", func() (bool, error) {
		text, err := os.ReadFile(said.Name())
		if err == nil && cmd.Process.Signal(syscall.Signal(0)) != nil {
			err = fmt.Errorf("gust has ended:\n%s", text)
		}
		return bytes.Contains(text, []byte("gust ready")), err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// storm runs gust under the name of Storm's own script.
func storm(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	binary, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Args[0] = "storm"
	cmd.Env = append(append(without(os.Environ(), "STORM_HOME", "STORM_CONF_DIR"), env...), "STORM_JAR_JVM_OPTS=-Xmx128m")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// without leaves variables out of an environment.
func without(environ []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(names, name)
	})
}

// tree lists what is in a folder: mode, size and time of each file. What symbolic links lead to is in it too.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	var list func(dir string)
	list = func(dir string) {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			found = append(found, fmt.Sprintf("%s %s %d %s", path, info.Mode(), info.Size(), info.ModTime()))
			if entry.Type()&fs.ModeSymlink != 0 && info.IsDir() {
				list(path + "/.")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	list(dir)
	return found
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
