// SPDX-License-Identifier: Apache-2.0

package flux_test

// Tests that topology/flux makes what Storm's Flux makes.

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gust-stream/gust/compat-tests/stockjava"
	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology/engine"
	"github.com/gust-stream/gust/topology/flux"
)

const (
	properties = "testdata/filter.properties"
	copyGoal   = "org.apache.maven.plugins:maven-dependency-plugin:2.8:copy"
)

// fetched is a folder with Flux's JARs.
func fetched(t *testing.T) string {
	t.Helper()
	lib := filepath.Join("target", "lib")
	for _, artifact := range []string{"flux-core", "flux-wrappers", "multilang-javascript", "multilang-python"} {
		if _, err := os.Stat(filepath.Join(lib, artifact+"-2.8.3.jar")); err == nil {
			continue
		}
		fetch := exec.CommandContext(t.Context(), "mvn", "-q", "-B", copyGoal, "-Dartifact=org.apache.storm:"+artifact+":2.8.3", "-DoutputDirectory="+lib)
		if out, err := fetch.CombinedOutput(); err != nil {
			t.Fatalf("fetch %s: %v\n%s", artifact, err, out)
		}
	}
	return lib
}

// stock lets Flux read files; it prints a line for each.
func stock(t *testing.T, files []string) []string {
	t.Helper()
	lib := fetched(t)
	classes := t.TempDir()
	path := classes + ":" + lib + "/*:" + stockjava.Lib(t) + "/*"
	if out, err := exec.CommandContext(t.Context(), "javac", "-nowarn", "-d", classes, "-cp", path, "java/FluxDriver.java").CombinedOutput(); err != nil {
		t.Fatalf("compile the driver: %v\n%s", err, out)
	}
	run := exec.CommandContext(t.Context(), "java", append([]string{"-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", path, "FluxDriver", properties}, files...)...)
	var log bytes.Buffer
	run.Stderr = &log
	out, err := run.Output()
	if err != nil {
		t.Fatalf("run Flux: %v\n%s", err, log.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// component is what two topologies must have in common.
type component struct {
	Command []string
	Env     map[string]string
	KeepDir bool
	Inputs  map[string]string
	Streams map[string]*storm.StreamInfo
	Hint    int32
	Conf    config.Conf
}

func describe(t *testing.T, object *storm.ComponentObject, c *storm.ComponentCommon) component {
	t.Helper()
	child, err := engine.ReadChild(object)
	if err != nil {
		t.Fatal(err)
	}
	out := component{
		Command: child.Command, Env: child.Env, KeepDir: child.KeepDir, Inputs: map[string]string{}, Streams: c.Streams,
		Hint: c.GetParallelismHint(), Conf: config.Conf{},
	}
	for in, g := range c.Inputs {
		text := g.String()
		if g.CustomSerialized != nil {
			fields, err := engine.PartialKeyFields(g.CustomSerialized)
			text = fmt.Sprint("partial key ", fields, err)
		}
		out.Inputs[in.ComponentId+"/"+in.StreamId] = text
	}
	if c.JSONConf != nil {
		if out.Conf, err = config.ParseJSON([]byte(*c.JSONConf)); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range out.Conf { // one load comes as a whole number: it means the same
		if n, ok := value.(int64); ok {
			out.Conf[key] = float64(n)
		}
	}
	return out
}

func components(t *testing.T, topology *storm.StormTopology) map[string]component {
	t.Helper()
	out := map[string]component{}
	for id, s := range topology.Spouts {
		out["spout "+id] = describe(t, s.SpoutObject, s.Common)
	}
	for id, b := range topology.Bolts {
		out["bolt "+id] = describe(t, b.BoltObject, b.Common)
	}
	return out
}

// TestFluxCompat compares name, conf and components of each file in testdata.
func TestFluxCompat(t *testing.T) {
	t.Setenv("GUST_FLUX_TEST", "home: of \"tests\"")
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(properties)
	if err != nil {
		t.Fatal(err)
	}
	values, err := flux.ParseProperties(text)
	if err != nil {
		t.Fatal(err)
	}
	options := flux.Options{
		Properties: values, Env: os.LookupEnv,
		Include: func(name string, _ bool) ([]byte, error) { return os.ReadFile(name) },
	}
	answers := stock(t, files)
	for i, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			ours, err := flux.Load(file, data, options)
			answer := strings.Fields(answers[i])
			if answer[0] == "fault" {
				fault, _ := base64.StdEncoding.DecodeString(answer[1])
				if err == nil {
					t.Errorf("no error, but Flux says %s", fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var parts [3][]byte
			for n := range parts {
				if parts[n], err = base64.StdEncoding.DecodeString(answer[n+1]); err != nil {
					t.Fatal(err)
				}
			}
			conf, err := config.ParseJSON(parts[1])
			if err != nil {
				t.Fatal(err)
			}
			var theirs storm.StormTopology
			if err := thrift.NewTDeserializer().Read(t.Context(), &theirs, parts[2]); err != nil {
				t.Fatal(err)
			}
			if ours.Name != string(parts[0]) {
				t.Errorf("name %q, Flux says %q", ours.Name, parts[0])
			}
			if diff := cmp.Diff(conf, ours.Conf, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("conf, Flux -, gust +:\n%s", diff)
			}
			if diff := cmp.Diff(components(t, &theirs), components(t, ours.Storm), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("components, Flux -, gust +:\n%s", diff)
			}
		})
	}
}
