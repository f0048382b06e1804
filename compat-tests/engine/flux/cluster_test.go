// SPDX-License-Identifier: Apache-2.0

package flux_test

// Tests of a Flux file with components of both kinds, as people submit it: by storm jar and Flux's own main class.

import (
	"archive/zip"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/compat-tests/harness"
	"github.com/gust-stream/gust/compat-tests/site"
)

const limit = 3 * time.Minute

// uber merges Flux's JARs, Storm's children and what the tests have into one, as people's builds do.
func uber(t *testing.T, lib string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "uber.jar")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(out)
	seen := map[string]bool{}
	jars := []string{}
	for _, artifact := range []string{"flux-core", "flux-wrappers", "multilang-javascript", "multilang-python"} {
		jars = append(jars, filepath.Join(lib, artifact+"-2.8.3.jar"))
	}
	topologies, err := harness.Jar()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(jars, topologies) {
		jar, err := zip.OpenReader(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range jar.File {
			if seen[f.Name] || f.FileInfo().IsDir() || strings.HasPrefix(f.Name, "META-INF/") || strings.HasPrefix(f.Name, "org/slf4j/") {
				continue
			}
			seen[f.Name] = true
			if err := z.Copy(f); err != nil {
				t.Fatal(err)
			}
		}
		if err := jar.Close(); err != nil {
			t.Fatal(err)
		}
	}
	script, err := z.Create("resources/integers.py")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/cluster/integers.py")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := script.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

// gust runs a command of gust's against a site.
func gust(t *testing.T, s *site.Site, args ...string) []byte {
	t.Helper()
	binary, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	home, err := harness.Home()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), "STORM_HOME="+home, "STORM_CONF_DIR="+filepath.Join(s.Dir, "conf"), "STORM_JAR_JVM_OPTS=-Xmx128m")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("gust %s: %v\n%s%s", strings.Join(args, " "), err, out, said.String())
	}
	return out
}

// TestMixedFileOnCluster runs JavaScript and Python on a Go worker beside Java bolts on a Java worker.
func TestMixedFileOnCluster(t *testing.T) {
	jar := uber(t, fetched(t))
	s, err := site.New(site.Options{Dir: t.TempDir(), Dev: true, Slots: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	gust(t, s, "storm", "jar", jar, "org.apache.storm.flux.Flux", "testdata/cluster/mixed.yaml")
	var rows []struct{ Component, Engine, Kind, Reason string }
	if err := json.Unmarshal(gust(t, s, "explain", "mixed", "--json"), &rows); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range rows {
		got[r.Component] = r.Engine + " " + r.Kind + ": " + r.Reason
	}
	if diff := cmp.Diff(map[string]string{
		"sentences": "go shell: Java class org.apache.storm.flux.wrappers.spouts.FluxShellSpout only names its command: node randomsentence.js",
		"split":     "go shell: Java class org.apache.storm.flux.wrappers.bolts.FluxShellBolt only names its command: python3 splitsentence.py",
		"count":     "java java: Java class org.apache.storm.topology.BasicBoltExecutor",
		"log":       "java java: Java class org.apache.storm.topology.BasicBoltExecutor",
		"__acker":   "go system: all spouts run on Go",
		"__system":  "both system: part of every worker",
	}, got); diff != "" {
		t.Errorf("explained, want -, got +:\n%s", diff)
	}
	// LogInfoBolt prints tuples, whose values are a word and its count.
	counted := regexp.MustCompile(`LogInfoBolt.*\[[a-z]+, [0-9]{2,}\]`)
	await(t, s, "words to be counted", counted)
	gust(t, s, "storm", "kill", "mixed", "-w", "0")

	// The bolt calls getInteger, which takes an Integer only, and passes it on.
	gust(t, s, "storm", "jar", jar, "org.apache.storm.flux.Flux", "testdata/cluster/integers.yaml")
	for _, n := range []string{"-2147483648", "-1", "0", "2147483647"} {
		await(t, s, "the integer "+n, regexp.MustCompile(`LogInfoBolt.*\[`+n+`, loud!!!\]`))
	}
	gust(t, s, "storm", "kill", "integers", "-w", "0")
}

// await waits until a worker's log has a line like that.
func await(t *testing.T, s *site.Site, what string, line *regexp.Regexp) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := harness.Await(ctx, what, func() (bool, error) { return logged(t, s.Dir, line), nil }); err != nil {
		t.Fatal(err)
	}
}

// logged says whether a worker's log has a line like that.
func logged(t *testing.T, dir string, line *regexp.Regexp) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() != "worker.log" {
			return nil
		}
		file, err := os.Open(path)
		if err != nil {
			return nil
		}
		defer file.Close() //nolint:errcheck // only read
		text, err := io.ReadAll(file)
		found = found || line.Match(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
