// SPDX-License-Identifier: Apache-2.0

// This file tests gust's own storm jar.

package client

import (
	"archive/zip"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gust-stream/gust/compat-tests/harness"
	"github.com/gust-stream/gust/compat-tests/versions/facts"
)

// TestJar submits by storm jar with all its options: a file in place of storm.yaml, a value over it, and a further JAR, which
// must be on the worker's class path.
func TestJar(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cluster, err := harness.NewGust(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Errorf("stop gust: %v", err)
		}
	})
	if err := cluster.Start(ctx); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	jar, err := harness.Jar()
	if err != nil {
		t.Fatal(err)
	}
	hook, err := facts.Compile(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	// The file has the ports; the value on the line must win over the one in it.
	conf := filepath.Join(dir, "other.yaml")
	text := fmt.Sprintf("nimbus.seeds: [\"localhost\"]\nnimbus.thrift.port: %d\ntopology.workers: 3\n", cluster.Settings().Nimbus)
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "results")
	args := []string{
		"jar", jar, "org.gust.compat.WordCount", "words", out, "compat.rows=60000", "compat.pause.ms=5",
		"--config", conf, "--jars", marked(t, dir), "-c", "topology.workers=2",
	}
	options := hook.Conf("gust/marker.txt")
	for _, key := range slices.Sorted(maps.Keys(options)) {
		args = append(args, "-c", key+"="+options[key])
	}
	if said, err := storm(ctx, t, args...); err != nil {
		t.Fatalf("storm jar: %v\n%s", err, said)
	}
	if err := awaitAck(ctx, out); err != nil {
		t.Fatal(err)
	}

	var pids []int
	err = harness.Await(ctx, "facts of both workers", func() (bool, error) {
		if pids, err = cluster.Workers(); err != nil {
			return false, err
		}
		for _, pid := range pids {
			if _, ok, err := hook.Read(pid); !ok || err != nil {
				return false, err
			}
		}
		return len(pids) == 2, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	where := regexp.MustCompile(`^jar:file:.*/dep-extra-[-0-9a-f]+\.jar(\.\d+)?!/gust/marker\.txt$`)
	for _, pid := range pids {
		got, _, err := hook.Read(pid)
		if err != nil {
			t.Fatal(err)
		}
		if !where.MatchString(got.Resource) {
			t.Errorf("worker %d found the marker of the further JAR at %q", pid, got.Resource)
		}
	}
	if said, err := storm(ctx, t, "kill", "words", "-w", "0", "--config", conf); err != nil {
		t.Errorf("storm kill: %v\n%s", err, said)
	}
}

// TestJarRefuses checks what storm jar says about lines that cannot work.
func TestJarRefuses(t *testing.T) {
	t.Parallel()
	jar, err := harness.Jar()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"Artifacts", []string{jar, "Main", "--artifacts", "a:b:1"}, "--artifacts is not supported: download the artifacts and name their files by --jars"},
		{"Repositories", []string{jar, "Main", "--artifactRepositories", "x^http://localhost"}, "--artifactRepositories is not supported"},
		{"NoMain", []string{jar}, "needs a topology JAR and a main class"},
		{"NoJar", []string{"none.jar", "Main"}, "none.jar"},
		{"NoDependency", []string{jar, "Main", "--jars", "none.jar"}, "none.jar"},
		{"NoConf", []string{jar, "Main", "--config", "none.yaml"}, "none.yaml"},
		{"NoValue", []string{jar, "Main", "--jars"}, "--jars needs a value"},
		{"NoPair", []string{jar, "Main", "-c", "topology.workers"}, "topology.workers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			said, err := storm(t.Context(), t, append([]string{"jar"}, c.args...)...)
			if err == nil {
				t.Error("storm jar ends well")
			}
			if !strings.Contains(said, c.want) || strings.Count(said, "\n") > 3 {
				t.Errorf("said %q, want a few lines with %q", said, c.want)
			}
		})
	}
}

// marked makes a JAR with a file that no other JAR has.
func marked(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "extra.jar")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	jar := zip.NewWriter(file)
	entry, err := jar.Create("gust/marker.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := entry.Write([]byte("here\n")); err != nil {
		t.Fatal(err)
	}
	if err := jar.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// storm runs gust under the name of Storm's own script, with the Storm home of the harness.
func storm(ctx context.Context, t *testing.T, args ...string) (string, error) {
	t.Helper()
	binary, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	home, err := harness.Home()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Args[0] = "storm"
	cmd.Env = append(os.Environ(), "STORM_HOME="+home, "STORM_CONF_DIR=", "STORM_JAR_JVM_OPTS=-Xmx128m")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
