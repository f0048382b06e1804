// SPDX-License-Identifier: Apache-2.0

package container_test

// Tests that ask Storm's BasicContainer and gust for the same worker's command line.

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/compat-tests/stockjava"
	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/supervisor/container"
	"github.com/gust-stream/gust/thrift/storm"
)

// question is what both are asked. Conf and Topology go over the defaults.
type question struct {
	ID         string            `json:"id"`
	Conf       config.Conf       `json:"conf"`
	Topology   config.Conf       `json:"topology"`
	Worker     string            `json:"worker"`
	Port       int               `json:"port"`
	Heap       *float64          `json:"heap,omitempty"`
	OffHeap    *float64          `json:"offHeap,omitempty"`
	Version    *string           `json:"version,omitempty"`
	Jars       []string          `json:"jars"`
	Artifacts  []string          `json:"artifacts"`
	Properties map[string]string `json:"properties"`
}

type answer struct {
	Command []string          `json:"command"`
	Env     map[string]string `json:"env"`
	Error   string            `json:"error"`
}

func ptr[T any](v T) *T { return &v }

// cases are the rules of the command line, one by one.
func cases() map[string]question {
	conf := func(pairs ...any) config.Conf {
		c := config.Conf{}
		for i := 0; i < len(pairs); i += 2 {
			c[pairs[i].(string)] = pairs[i+1] //nolint:errcheck,forcetypeassert // a test's own literals
		}
		return c
	}
	list := func(elements ...any) []any { return elements }
	all := "-Di=%ID% -Dw=%WORKER-ID% -Dt=%TOPOLOGY-ID%  -Dp=%WORKER-PORT%\t-Dh=%HEAP-MEM% -Do=%OFF-HEAP-MEM% -Dl=%LIMIT-MEM%"
	const cp, main = config.SupervisorWorkerVersionClasspathMap, config.SupervisorWorkerVersionMainMap
	return map[string]question{
		"Defaults":       {},
		"Heap":           {Heap: ptr(1152.0), OffHeap: ptr(12.5)},
		"HeapFraction":   {Heap: ptr(128.25)},
		"HeapZero":       {Heap: ptr(0.0), Topology: conf(config.WorkerHeapMemoryMb, int64(333))},
		"Placeholders":   {OffHeap: ptr(1.1), Conf: conf(config.WorkerChildopts, all), Topology: conf(config.TopologyWorkerChildopts, all)},
		"NoOffHeap":      {Conf: conf(config.WorkerChildopts, all)},
		"Lists":          {Conf: conf(config.WorkerChildopts, list("-Da=b c", " ", all)), Topology: conf(config.TopologyWorkerChildopts, list("-Dx", ""))},
		"NoChildopts":    {Conf: conf(config.WorkerChildopts, nil), Topology: conf(config.TopologyWorkerChildopts, "   ")},
		"GcOfSupervisor": {Conf: conf(config.WorkerGcChildopts, "-XX:+UseG1GC -Dheap=%HEAP-MEM%")},
		"GcOfTopology":   {Conf: conf(config.WorkerGcChildopts, "-XX:+UseG1GC"), Topology: conf(config.TopologyWorkerGcChildopts, list("-XX:+UseSerialGC"))},
		"GcEmpty":        {Conf: conf(config.WorkerGcChildopts, "-XX:+UseG1GC"), Topology: conf(config.TopologyWorkerGcChildopts, "")},
		"Profiler":       {Conf: conf(config.WorkerProfilerEnabled, true)},
		"ProfilerList":   {Conf: conf(config.WorkerProfilerEnabled, true, config.WorkerProfilerChildopts, list("-Dp=%ID%"))},
		"Environment":    {Topology: conf(config.TopologyEnvironment, map[string]any{"FOO": "bar", "LD_LIBRARY_PATH": "/a:/b"})},
		"LibraryPath":    {Conf: conf(config.JavaLibraryPath, "/native")},
		"NoLibraryPath":  {Conf: conf(config.JavaLibraryPath, nil)},
		"ClassPath":      {Topology: conf(config.TopologyClasspath, "/x:/y", config.TopologyClasspathBeginning, list("/first", "/second"))},
		"ClassPathList":  {Topology: conf(config.TopologyClasspath, list("/x", "/y"), config.TopologyClasspathBeginning, "/first")},
		"Dependencies":   {Jars: []string{"dep-b.jar", "dep-a.jar"}, Artifacts: []string{"dep-x-1.jar"}, Topology: conf(config.TopologyClasspath, "/x")},
		"Sensitivity":    {Topology: conf(config.TopologyLoggingSensitivity, "S0")},
		"LoggingConfig":  {Topology: conf(config.TopologyLoggingConfig, "/etc/my.xml")},
		"Log4jAbsolute":  {Conf: conf(config.StormLog4j2ConfDir, "/etc/log4j2")},
		"Log4jRelative":  {Conf: conf(config.StormLog4j2ConfDir, "other")},
		"Log4jUnset":     {Conf: conf(config.StormLog4j2ConfDir, nil)},
		"Options":        {Properties: map[string]string{"storm.options": "a%3Db,c%3Dd", "storm.conf.file": "my.yaml"}},
		"Older":          {Version: ptr("2.4.0")},
		"Newer":          {Version: ptr("2.9.0-SNAPSHOT")},
		"NoVersion":      {Version: ptr("")},
		"DefaultVersion": {Version: ptr(""), Conf: conf(config.SupervisorWorkerDefaultVersion, "1.2.3", cp, map[string]any{"1.2.3": "/v1"})},
		"VersionOne":     {Version: ptr("1.2.3")},
		"VersionZero":    {Version: ptr("0.10.2")},
		"VersionUnknown": {Version: ptr("Unknown")},
		"MapExact":       {Version: ptr("1.2.3"), Conf: conf(cp, map[string]any{"1.2.3": "/v123/*:/c", "1.1.1": "/v111"}, main, map[string]any{"1.2.3": "v.Main"})},
		"MapPatch":       {Version: ptr("1.2.9"), Conf: conf(cp, map[string]any{"1.2.3": "/v12", "1.3.0": "/v13"})},
		"MapSameLine":    {Version: ptr("2.8.1"), Conf: conf(cp, map[string]any{"2.8.0": "/v280"})},
		"MapNewer":       {Version: ptr("1.0.0"), Conf: conf(cp, map[string]any{"1.3.3": "/v13", "1.2.1": "/v12"}, main, map[string]any{"1.2.3": "v.Main"})},
		"MapOlder":       {Version: ptr("1.9.9"), Conf: conf(cp, map[string]any{"1.3.3": "/v13", "1.2.1": "/v12"}, main, map[string]any{"1.2.3": "v.Main"})},
		"MapOtherMajor":  {Version: ptr("1.9.9"), Conf: conf(cp, map[string]any{"0.10.2": "/v0"})},
		"MapSame":        {Conf: conf(cp, map[string]any{"2.8.3": "/own"}, main, map[string]any{"2.8.3": "own.Main"})},
		"MapOfTwo":       {Version: ptr("2.4.0"), Conf: conf(cp, map[string]any{"2.5.0": "/v25"})},
		"MapBelowOwn":    {Version: ptr("2.7.0"), Conf: conf(cp, map[string]any{"2.5.0": "/v25"})},
		"MapAboveOwn":    {Version: ptr("2.9.0"), Conf: conf(cp, map[string]any{"2.9.9": "/v299"})},
		"MapFarAbove":    {Version: ptr("2.9.9"), Conf: conf(cp, map[string]any{"2.9.0": "/v29"})},
	}
}

// complete fills in what all questions have.
func complete(t *testing.T, name string, q question, home string) question {
	t.Helper()
	defaults, err := config.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	q.ID, q.Worker, q.Port = "t-"+name, "w-"+name, 6701
	q.Conf = config.Merge(config.Merge(defaults, config.Conf{config.StormLocalDir: "/local"}), q.Conf)
	q.Topology = config.Merge(defaults, q.Topology)
	properties := map[string]string{"storm.home": home, "storm.log.dir": "/logs", "storm.options": "", "storm.conf.file": ""}
	maps.Copy(properties, q.Properties)
	q.Properties = properties
	q.Jars, q.Artifacts = append([]string{}, q.Jars...), append([]string{}, q.Artifacts...)
	switch {
	case q.Version == nil:
		q.Version = ptr("2.8.3")
	case *q.Version == "":
		q.Version = nil
	}
	return q
}

// ours answers the question as gust does.
func ours(t *testing.T, q question) answer {
	t.Helper()
	dir := "/local/supervisor/stormdist/" + q.ID
	confDir := os.Getenv("STORM_CONF_DIR")
	if confDir == "" {
		confDir = filepath.Join(q.Properties["storm.home"], "conf")
	}
	cmd := container.Command{
		Host: container.Host{
			Conf: q.Conf, JavaHome: os.Getenv("JAVA_HOME"), StormHome: q.Properties["storm.home"], StormVersion: "2.8.3",
			ConfDir: confDir, LogDir: "/logs", LocalDir: "/local", Artifacts: "/logs/workers-artifacts",
			ExtClassPath: os.Getenv("STORM_EXT_CLASSPATH"), StormOptions: q.Properties["storm.options"],
			StormConfFile: q.Properties["storm.conf.file"], OSName: "Linux", OSArch: "amd64",
		},
		Topology:     container.Topology{ID: q.ID, Conf: q.Topology, Owner: "alice", Dir: dir},
		SupervisorID: "sup-1", SupervisorPort: 6628, Port: q.Port, WorkerID: q.Worker,
		Resources: &storm.WorkerResources{MemOnHeap: q.Heap, MemOffHeap: q.OffHeap},
	}
	if q.Version != nil {
		cmd.Topology.Version = *q.Version
	}
	for _, key := range slices.Concat(q.Jars, q.Artifacts) {
		cmd.Topology.Dependencies = append(cmd.Topology.Dependencies, filepath.Join(dir, key))
	}
	invocation, err := cmd.Build()
	if err != nil {
		return answer{Error: err.Error()}
	}
	env := maps.Clone(invocation.Env)
	if env[container.WorkerIDVariable] != q.Worker {
		t.Errorf("the environment does not name the worker: %v", env)
	}
	delete(env, container.WorkerIDVariable)
	return answer{Command: append([]string{invocation.Path}, invocation.Args...), Env: env}
}

// TestCommandLineCompat compares, less the log writer that stock puts before the worker.
func TestCommandLineCompat(t *testing.T) {
	home := filepath.Dir(stockjava.Lib(t))
	all := cases()
	names := slices.Sorted(maps.Keys(all))
	var lines [][]byte
	for _, name := range names {
		all[name] = complete(t, name, all[name], home)
		line, err := json.Marshal(all[name])
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	answers := stockjava.Ask(t, "java", "org.apache.storm.daemon.supervisor.ContainerDriver", lines)
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			var stock answer
			if err := json.Unmarshal(answers[i], &stock); err != nil {
				t.Fatal(err)
			}
			writer := slices.IndexFunc(stock.Command, func(s string) bool {
				return s == "org.apache.storm.LogWriter" || s == "backtype.storm.LogWriter"
			})
			if stock.Error != "" || writer < 0 {
				t.Fatalf("stock answers %s", answers[i])
			}
			stock.Command = stock.Command[writer+1:]
			if diff := cmp.Diff(stock, ours(t, all[name])); diff != "" {
				t.Error(fmt.Sprintf("stock (-), gust (+):\n%s", diff))
			}
		})
	}
}
