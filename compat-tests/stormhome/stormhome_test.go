// SPDX-License-Identifier: Apache-2.0

// This file runs the script in temporary folders.

package stormhome

import (
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/gust-stream/gust/compat-tests/harness"
)

// fakeMaven does what the script wants of Maven: it puts a jar for each
// artifact of the pom into the output folder, and knows one version.
const fakeMaven = `#!/bin/bash
echo "$*" >>"$MAVEN_CALLS"
for arg; do
  case $arg in
    -DoutputDirectory=*) out=${arg#*=} ;;
    */pom.xml) pom=$arg ;;
  esac
done
if ! grep -q '<version>2.8.3</version>' "$pom"; then
  echo "[ERROR] Could not find artifact org.apache.storm:storm-client:jar:9.9.9 in somewhere"
  exit 1
fi
if [[ -n $MAVEN_FAILS ]]; then echo "[ERROR] the disk is full"; exit 1; fi
mkdir -p "$out"
for artifact in storm-client storm-server storm-core; do
  if grep -q "<artifactId>$artifact</artifactId>" "$pom"; then : >"$out/$artifact-2.8.3.jar"; fi
done
`

// bench is a folder to work in, with a fake Maven first on the PATH.
type bench struct {
	dir, script string
	env         []string
}

func newBench(t *testing.T) bench {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "mvn"), []byte(fakeMaven), 0o755); err != nil {
		t.Fatal(err)
	}
	return bench{dir, filepath.Join(root, "scripts", "storm-home"), append(os.Environ(),
		"PATH="+bin+":"+os.Getenv("PATH"), "MAVEN_CALLS="+filepath.Join(dir, "calls"))}
}

// run gives exit status and output of one run in the folder "homes".
func (b bench) run(t *testing.T, args ...string) (int, string) {
	t.Helper()
	homes := filepath.Join(b.dir, "homes")
	if err := os.MkdirAll(homes, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), b.script, args...)
	cmd.Dir, cmd.Env = homes, b.env
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatalf("run storm-home: %v", err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// calls counts how often Maven was called.
func (b bench) calls(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, "calls"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// tree lists what lies under the folder "homes".
func (b bench) tree(t *testing.T) []string {
	t.Helper()
	var found []string
	root := filepath.Join(b.dir, "homes")
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && path != root {
			name := strings.TrimPrefix(path, root+"/")
			if entry.IsDir() {
				name += "/"
			}
			found = append(found, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var worker = []string{
	"h/", "h/.storm-home", "h/RELEASE", "h/conf/", "h/conf/storm.yaml", "h/extlib/", "h/lib-worker/",
	"h/lib-worker/storm-client-2.8.3.jar", "h/log4j2/", "h/log4j2/worker.xml",
}

var server = []string{
	"h/lib/", "h/lib/storm-core-2.8.3.jar", "h/lib/storm-server-2.8.3.jar", "h/log4j2/cluster.xml",
}

func TestStormHomeLayout(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if status, out := b.run(t, "2.8.3", "h"); status != 0 {
		t.Fatalf("status %d: %s", status, out)
	}
	if diff := cmp.Diff(worker, b.tree(t)); diff != "" {
		t.Errorf("worker side (-want +got):\n%s", diff)
	}
	release, err := os.ReadFile(filepath.Join(b.dir, "homes", "h", "RELEASE"))
	if err != nil || string(release) != "2.8.3\n" {
		t.Errorf("RELEASE is %q, %v", release, err)
	}
	// Once more: Maven is not asked again.
	if status, out := b.run(t, "2.8.3", "h"); status != 0 || b.calls(t) != 1 {
		t.Errorf("second run: status %d, %d calls of Maven: %s", status, b.calls(t), out)
	}
	// The server side is added to what is there.
	if status, out := b.run(t, "2.8.3", "h", "--server"); status != 0 {
		t.Fatalf("--server: status %d: %s", status, out)
	}
	want := slices.Sorted(slices.Values(slices.Concat(worker, server)))
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(b.tree(t)))); diff != "" {
		t.Errorf("with the server side (-want +got):\n%s", diff)
	}
	if status, out := b.run(t, "--server", "2.8.3", "h"); status != 0 || b.calls(t) != 2 {
		t.Errorf("fourth run: status %d, %d calls of Maven: %s", status, b.calls(t), out)
	}
}

func TestStormHomeServerAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if status, out := b.run(t, "2.8.3", "h", "--server"); status != 0 {
		t.Fatalf("status %d: %s", status, out)
	}
	want := slices.Sorted(slices.Values(slices.Concat(worker, server)))
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(b.tree(t)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStormHomePlugin(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	jar := filepath.Join(b.dir, "plug.jar")
	if err := os.WriteFile(jar, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(slices.Values(append([]string{"h/extlib/plug.jar"}, worker...)))
	for _, content := range []string{"first", "second"} { // the second home is complete
		if err := os.WriteFile(jar, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if status, out := b.run(t, "2.8.3", "h", "--plugin="+jar); status != 0 {
			t.Fatalf("status %d: %s", status, out)
		}
		got, err := os.ReadFile(filepath.Join(b.dir, "homes", "h", "extlib", "plug.jar"))
		if err != nil || string(got) != content {
			t.Errorf("plug-in is %q, %v; want %q", got, err, content)
		}
		if diff := cmp.Diff(want, b.tree(t)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if status, out := b.run(t, "2.8.3", "h", "--plugin=missing.jar"); status != 1 || !strings.Contains(out, "there is no plug-in missing.jar") {
		t.Errorf("missing plug-in: status %d: %s", status, out)
	}
}

func TestStormHomeRefusals(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(homes string) error
		env     string
		args    []string
		status  int
		says    string
		leaves  []string
	}{
		"NoArguments":   {status: 2, says: "VERSION and DIR are needed"},
		"OneArgument":   {args: []string{"2.8.3"}, status: 2, says: "VERSION and DIR are needed"},
		"ThreeArgument": {args: []string{"2.8.3", "h", "more"}, status: 2, says: "too many arguments: more"},
		"UnknownOption": {args: []string{"2.8.3", "h", "--sever"}, status: 2, says: "unknown option --sever"},
		"NotAVersion":   {args: []string{"latest", "h"}, status: 2, says: "not a Storm version: 'latest'"},
		"VersionAsPath": {args: []string{"../2.8.3", "h"}, status: 2, says: "not a Storm version"},
		"UnknownVersion": {
			args: []string{"9.9.9", "h"}, status: 1, says: "no Apache Storm 9.9.9",
		},
		"MavenFails": {
			args: []string{"2.8.3", "h"}, env: "MAVEN_FAILS=1", status: 1, says: "the disk is full",
		},
		"NotAFolder": {
			prepare: func(homes string) error { return os.WriteFile(filepath.Join(homes, "h"), nil, 0o644) },
			args:    []string{"2.8.3", "h"}, status: 1, says: "h is not a folder", leaves: []string{"h"},
		},
		"OthersFolder": {
			prepare: func(homes string) error {
				if err := os.Mkdir(filepath.Join(homes, "h"), 0o755); err != nil {
					return err
				}
				return os.WriteFile(filepath.Join(homes, "h", "mine"), nil, 0o644)
			},
			args: []string{"2.8.3", "h"}, status: 1, says: "is not a home that this script made", leaves: []string{"h/", "h/mine"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			homes := filepath.Join(b.dir, "homes")
			if err := os.Mkdir(homes, 0o755); err != nil {
				t.Fatal(err)
			}
			if test.prepare != nil {
				if err := test.prepare(homes); err != nil {
					t.Fatal(err)
				}
			}
			b.env = append(b.env, test.env)
			status, out := b.run(t, test.args...)
			if status != test.status || !strings.Contains(out, test.says) {
				t.Errorf("status %d, want %d with %q:\n%s", status, test.status, test.says, out)
			}
			if diff := cmp.Diff(test.leaves, b.tree(t)); diff != "" {
				t.Errorf("left behind (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStormHomeOtherVersionStays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if status, out := b.run(t, "2.8.3", "h"); status != 0 {
		t.Fatalf("status %d: %s", status, out)
	}
	status, out := b.run(t, "2.6.4", "h")
	if status != 1 || !strings.Contains(out, "h is a home of Storm 2.8.3, not 2.6.4") {
		t.Errorf("status %d: %s", status, out)
	}
	if diff := cmp.Diff(worker, b.tree(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStormHomeWithoutMaven(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	// A PATH with all that the script calls but Maven.
	tools := filepath.Join(b.dir, "tools")
	if err := os.Mkdir(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"bash", "cat", "chmod", "dirname", "env", "find", "grep", "head", "ls", "mkdir", "mktemp", "mv", "rm", "rmdir"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(tools, tool)); err != nil {
			t.Fatal(err)
		}
	}
	b.env = append(b.env, "PATH="+tools)
	status, out := b.run(t, "2.8.3", "h")
	if status != 1 || !strings.Contains(out, "Maven is needed") {
		t.Errorf("status %d: %s", status, out)
	}
	if left := b.tree(t); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestStormHomeTwoAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	homes := filepath.Join(b.dir, "homes")
	if err := os.Mkdir(homes, 0o755); err != nil {
		t.Fatal(err)
	}
	var runs errgroup.Group
	for range 4 {
		runs.Go(func() error {
			cmd := exec.CommandContext(t.Context(), b.script, "2.8.3", "h")
			cmd.Dir, cmd.Env = homes, b.env
			return cmd.Run()
		})
	}
	if err := runs.Wait(); err != nil {
		t.Errorf("one of the runs: %v", err)
	}
	if diff := cmp.Diff(worker, b.tree(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStormHomeHelp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if status, out := b.run(t, "--help"); status != 0 || !strings.HasPrefix(out, "usage: storm-home VERSION DIR [--server] [--plugin=JAR]") {
		t.Errorf("status %d: %s", status, out)
	}
}

// TestStormHomeWorkerLogging reads worker.xml as Log4j would: every property that Storm passes is used, and only the
// two plain logs are opened without need.
func TestStormHomeWorkerLogging(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if status, out := b.run(t, "2.8.3", "h"); status != 0 {
		t.Fatalf("status %d: %s", status, out)
	}
	text, err := os.ReadFile(filepath.Join(b.dir, "homes", "h", "log4j2", "worker.xml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, property := range []string{"workers.artifacts", "storm.id", "worker.port", "logfile.name", "logging.sensitivity"} {
		if !strings.Contains(string(text), "${sys:"+property) {
			t.Errorf("property %s is not used", property)
		}
	}
	var conf struct {
		Appenders struct {
			Files []struct {
				Name     string `xml:"name,attr"`
				File     string `xml:"fileName,attr"`
				OnDemand bool   `xml:"createOnDemand,attr"`
			} `xml:"RollingFile"`
		}
	}
	if err := xml.Unmarshal(text, &conf); err != nil {
		t.Fatalf("worker.xml: %v", err)
	}
	got := map[string]bool{}
	for _, file := range conf.Appenders.Files {
		got[file.File] = file.OnDemand
	}
	want := map[string]bool{"${base}": false, "${base}.metrics": true, "${base}.out": true, "${base}.err": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files, and whether on demand (-want +got):\n%s", diff)
	}
}
