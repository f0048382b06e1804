// SPDX-License-Identifier: Apache-2.0

package container

// Tests of the command line against what stock 2.8.3 executed (compat-tests/container asks it about many more), and of what
// gust adds to it.

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/thrift/storm"
)

// recorded is the command whose arguments stock's worker had in testdata/stock-2.8.3/argv.txt.
func recorded(t *testing.T) Command {
	t.Helper()
	conf, err := config.Builtin()
	must(t, err)
	conf[config.WorkerProfilerEnabled], conf[config.WorkerProfilerChildopts] = true, "-Dprof=1"
	heap, offHeap := 384.0, 0.0
	return Command{
		Host: Host{
			Conf: conf, JavaHome: "/jdk", StormHome: "/storm", StormVersion: "2.8.3", ConfDir: "/rig/conf", LogDir: "/rig/logs",
			LocalDir: "/rig/local", Artifacts: "/rig/logs/workers-artifacts", ExtClassPath: "/ext/a.jar", StormOptions: "a.b%3Dc",
			OSName: "Linux", OSArch: "amd64",
		},
		Topology: Topology{
			ID: "rig-1-1796054947", Version: "2.8.3", Dir: "/rig/local/supervisor/stormdist/rig-1-1796054947",
			Conf: config.Conf{
				config.TopologyEnvironment:        map[string]any{"FOO": "bar", "LD_LIBRARY_PATH": "/opt/x/lib"},
				config.TopologyWorkerChildopts:    "-Dt=%TOPOLOGY-ID% -Dw=%WORKER-ID%   -Dp=%ID%:%WORKER-PORT% -Do=%OFF-HEAP-MEM% -Dl=%LIMIT-MEM%",
				config.TopologyWorkerGcChildopts:  []any{"-XX:+UseSerialGC", "-Dgc=a b"},
				config.TopologyClasspath:          []any{"/x/y", "/z"},
				config.TopologyLoggingSensitivity: "S1",
			},
		},
		SupervisorID: "2c3604cd-086c-4ab8-9121-a0b70a37fef4-127.0.0.1", SupervisorPort: 26628, Port: 26700,
		WorkerID: "db17749d-0b65-4b35-b07e-e9a33f798f01", Resources: &storm.WorkerResources{MemOnHeap: &heap, MemOffHeap: &offHeap},
	}
}

func build(t *testing.T, cmd Command) *Invocation {
	t.Helper()
	invocation, err := cmd.Build()
	must(t, err)
	return invocation
}

func TestBuildIsWhatStockExecutes(t *testing.T) {
	t.Parallel()
	want := strings.Split(strings.TrimSuffix(content(t, "testdata", "stock-2.8.3", "argv.txt"), "\n"), "\n")
	got := build(t, recorded(t))
	if diff := cmp.Diff(want, append([]string{got.Path}, got.Args...)); diff != "" {
		t.Errorf("stock (-), gust (+):\n%s", diff)
	}
	const dist = "/rig/local/supervisor/stormdist/rig-1-1796054947/resources"
	env := map[string]string{
		"FOO": "bar", "GUST_WORKER_ID": "db17749d-0b65-4b35-b07e-e9a33f798f01",
		"LD_LIBRARY_PATH": dist + "/Linux-amd64:" + dist + ":/usr/local/lib:/opt/local/lib:/usr/lib:/usr/lib64:/opt/x/lib",
	}
	if diff := cmp.Diff(env, got.Env); diff != "" {
		t.Errorf("environment: %s", diff)
	}
}

func option(args []string, prefix string) string {
	if i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, prefix) }); i >= 0 {
		return strings.TrimPrefix(args[i], prefix)
	}
	return "none"
}

func TestBuildHandsOutTaskRefresh(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		version, options string
		secs             int
		want             string
	}{
		"Alone":   {"2.8.3", "", 1, "task.refresh.poll.secs%3D1"},
		"Added":   {"2.6.4", "a%3Db", 2, "a%3Db,task.refresh.poll.secs%3D2"},
		"UserSet": {"2.8.3", "a%3Db", 0, "a%3Db"},
		"Older":   {"2.5.0", "", 1, ""},
		"Oldest":  {"2.4.0", "a%3Db", 1, "a%3Db"},
	} {
		cmd := recorded(t)
		cmd.Host.StormVersion, cmd.Host.StormOptions, cmd.Host.TaskRefreshSecs = c.version, c.options, c.secs
		if got := option(build(t, cmd).Args, "-Dstorm.options="); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestBuildUsesTheArchive(t *testing.T) {
	t.Parallel()
	archive := &Archive{File: "/a.jsa", Jars: []string{"/storm/lib-worker/a.jar", "/storm/lib-worker/b.jar"}}
	with := func(change func(*Command)) []string {
		cmd := recorded(t)
		cmd.Archive = archive
		change(&cmd)
		return build(t, cmd).Args
	}
	args := with(func(*Command) {})
	if got := option(args, "-XX:SharedArchiveFile="); got != "/a.jsa" {
		t.Errorf("archive %q", got)
	}
	if path := args[slices.Index(args, "-cp")+1]; !strings.HasPrefix(path, "/storm/lib-worker/a.jar:/storm/lib-worker/b.jar:/storm/extlib/*:/ext/a.jar:/rig/conf:") {
		t.Errorf("class path %s", path)
	}
	for name, change := range map[string]func(*Command){
		"Beginning": func(c *Command) { c.Topology.Conf[config.TopologyClasspathBeginning] = "/first" },
		"OtherVersion": func(c *Command) {
			c.Topology.Version = "1.2.3"
			c.Host.Conf[config.SupervisorWorkerVersionClasspathMap] = map[string]any{"1.2.3": "/v1"}
		},
		"Share": func(c *Command) { c.Topology.Conf[config.TopologyWorkerChildopts] = "-Xshare:off" },
		"Own":   func(c *Command) { c.Host.Conf[config.WorkerChildopts] = "-Xmx1g -XX:SharedArchiveFile=/own.jsa" },
		"Gc": func(c *Command) {
			c.Topology.Conf[config.TopologyWorkerGcChildopts] = []any{"-XX:DumpLoadedClassList=x"}
		},
		"Bootstrap": func(c *Command) { c.Topology.Conf[config.TopologyWorkerChildopts] = "-Xbootclasspath/a:/x.jar" },
	} {
		args := with(change)
		if slices.Contains(args, "-XX:SharedArchiveFile=/a.jsa") || strings.Contains(args[slices.Index(args, "-cp")+1], "/a.jar:/storm") {
			t.Errorf("%s: the archive is used: %s", name, quote(args))
		}
	}
}

func TestBuildRefusesClassPaths(t *testing.T) {
	t.Parallel()
	for _, key := range []string{config.TopologyClasspath, config.TopologyClasspathBeginning} {
		for _, bad := range []any{int64(1), map[string]any{}, []any{"a", int64(1)}} {
			cmd := recorded(t)
			cmd.Topology.Conf[key] = bad
			if _, err := cmd.Build(); err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), cmd.Topology.ID) {
				t.Errorf("%s = %v: %v", key, bad, err)
			}
		}
	}
	cmd := recorded(t)
	cmd.Topology.Version = "1.0.0"
	cmd.Host.Conf[config.SupervisorWorkerVersionMainMap] = map[string]any{"1.0.0": int64(7)}
	if _, err := cmd.Build(); err == nil {
		t.Error("a main class that is a number was taken")
	}
}

func TestConfDirCopy(t *testing.T) {
	t.Parallel()
	line := "task.refresh.poll.secs: 1\n"
	for name, c := range map[string]struct {
		text string
		want map[string]any
	}{
		"Block":     {"a: b\nc: [1, 2]", map[string]any{"a": "b", "c": []any{1, 2}, "task.refresh.poll.secs": 1}},
		"Empty":     {"", map[string]any{"task.refresh.poll.secs": 1}},
		"Comment":   {"# nothing\n", map[string]any{"task.refresh.poll.secs": 1}},
		"Flow":      {"{a: b}\n", map[string]any{"a": "b", "task.refresh.poll.secs": 1}},
		"Indented":  {"a:\n  b: c\n", map[string]any{"a": map[string]any{"b": "c"}, "task.refresh.poll.secs": 1}},
		"Literal":   {"a: |\n  text\n", map[string]any{"a": "text\n", "task.refresh.poll.secs": 1}},
		"Documents": {"---\na: b\n...\n", map[string]any{"a": "b", "task.refresh.poll.secs": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := t.TempDir()
			must(t, os.WriteFile(filepath.Join(from, "storm.yaml"), []byte(c.text), 0o600))
			must(t, os.WriteFile(filepath.Join(from, "jaas.conf"), []byte("x"), 0o600))
			layout := localstate.Layout{Local: t.TempDir()}
			host := Host{ConfDir: from, StormVersion: "2.4.0", TaskRefreshSecs: 1}
			for range 2 {
				host.ConfDir = from
				must(t, useConfDirCopy(layout, &host))
			}
			var got map[string]any
			must(t, yaml.Unmarshal([]byte(content(t, host.ConfDir, "storm.yaml")), &got))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if x := content(t, host.ConfDir, "jaas.conf"); x != "x" {
				t.Errorf("jaas.conf holds %q", x)
			}
			if name == "Block" && content(t, host.ConfDir, "storm.yaml") != c.text+"\n"+line {
				t.Error("the user's text was changed")
			}
			if info, err := os.Stat(filepath.Join(host.ConfDir, "storm.yaml")); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
		})
	}
	host := Host{ConfDir: "/conf", StormVersion: "2.8.3", TaskRefreshSecs: 1}
	if err := useConfDirCopy(localstate.Layout{}, &host); err != nil || host.ConfDir != "/conf" {
		t.Errorf("2.8.3 got %s, %v", host.ConfDir, err)
	}
}

func TestHomeVersion(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if v, err := HomeVersion(home); err == nil {
		t.Errorf("version %q of nothing", v)
	}
	must(t, os.Mkdir(filepath.Join(home, "lib-worker"), 0o755))
	jar := filepath.Join(home, "lib-worker", "storm-client-2.8.3.jar")
	must(t, os.WriteFile(jar, nil, 0o600))
	if v, err := HomeVersion(home); v != "2.8.3" || err != nil {
		t.Errorf("HomeVersion() = %q, %v", v, err)
	}
}
