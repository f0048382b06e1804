// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gust-stream/gust/cluster"
	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/localstate"
	"github.com/gust-stream/gust/supervisor/localizer"
	"github.com/gust-stream/gust/thrift/storm"
)

// Task 1 is the acker, 2 the bolt, 3 the spout.
func TestProgramOfASlot(t *testing.T) {
	t.Parallel()
	golang := func(ids ...string) map[string]any {
		m := map[string]any{}
		for _, id := range ids {
			m[id] = onGo
		}
		return m
	}
	all := golang("__acker", "bolt", "spout")
	for name, c := range map[string]struct {
		engines map[string]any
		binary  string
		tasks   []int32
		want    string // program below the topology's folder, "gust", "" for Java
		fault   string
	}{
		"Java":         {nil, "", []int32{1, 2, 3}, "", ""},
		"JavaOfMixed":  {golang("spout"), "", []int32{1, 2}, "", ""},
		"Go":           {all, "", []int32{1, 2, 3}, "gust", ""},
		"GoOfMixed":    {golang("spout", "bolt"), "", []int32{2, 3}, "gust", ""},
		"OwnProgram":   {all, "sub/topology", []int32{3}, "resources/sub/topology", ""},
		"Both":         {golang("spout"), "", []int32{2, 3}, "", "two engines: bolt runs on Java, spout on Go"},
		"UnknownTask":  {all, "", []int32{4}, "", "task 4 of 3"},
		"NoProgram":    {all, "missing", []int32{1}, "", "no such file"},
		"LeadsOut":     {all, "../stormconf.ser", []int32{1}, "", "leads out of its resources"},
		"LeadsOutRoot": {all, "/bin/sh", []int32{1}, "", "leads out of its resources"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topology := laidOut(t, c.engines, c.binary)
			a := &storm.LocalAssignment{TopologyID: topology.ID}
			for _, task := range c.tasks {
				a.Executors = append(a.Executors, &storm.ExecutorInfo{TaskStart: task, TaskEnd: task})
			}
			got, err := Config{GoWorker: "gust"}.program(topology, a)
			if c.fault != "" {
				if err == nil || !strings.Contains(err.Error(), c.fault) {
					t.Errorf("%q, %v", got, err)
				}
				return
			}
			want := c.want
			if strings.Contains(want, "/") {
				want = filepath.Join(topology.Dir, want)
			}
			if err != nil || got != want {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		})
	}
}

func TestProgramIsMadeExecutable(t *testing.T) {
	t.Parallel()
	topology := laidOut(t, map[string]any{"spout": onGo}, "sub/topology")
	a := &storm.LocalAssignment{TopologyID: topology.ID, Executors: []*storm.ExecutorInfo{{TaskStart: 3, TaskEnd: 3}}}
	path, err := Config{}.program(topology, a)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestProgramBehindALink has the program's place taken by a link to a file that is nobody's program.
func TestProgramBehindALink(t *testing.T) {
	t.Parallel()
	topology := laidOut(t, map[string]any{"spout": onGo}, "sub/topology")
	secret := filepath.Join(t.TempDir(), "secret")
	check(t, os.WriteFile(secret, nil, 0o600))
	path := filepath.Join(topology.Dir, "resources", "sub", "topology")
	check(t, os.Remove(path))
	check(t, os.Symlink(secret, path))
	a := &storm.LocalAssignment{TopologyID: topology.ID, Executors: []*storm.ExecutorInfo{{TaskStart: 3, TaskEnd: 3}}}
	if got, err := (Config{}).program(topology, a); err == nil || !strings.Contains(err.Error(), "escapes") {
		t.Errorf("%q, %v", got, err)
	}
	if info, err := os.Stat(secret); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	check(t, os.Remove(path))
	check(t, os.Mkdir(path, 0o700))
	if got, err := (Config{}).program(topology, a); err == nil {
		t.Errorf("a folder is the program %q", got)
	}
}

// laidOut is a localized topology of one spout and one bolt.
func laidOut(t *testing.T, engines map[string]any, binary string) *localizer.Topology {
	t.Helper()
	conf, err := config.Builtin()
	check(t, err)
	conf[config.TopologyWorkers], conf[config.TopologyAckerExecutors] = int64(1), nil
	if engines != nil {
		conf[config.GustTopologyEngines] = engines
	}
	if binary != "" {
		conf[config.GustTopologyGoBinary] = binary
	}
	text, one := `{"topology.tasks":1}`, int32(1)
	common := storm.NewComponentCommon()
	common.Inputs = map[*storm.GlobalStreamId]*storm.Grouping{}
	common.Streams = map[string]*storm.StreamInfo{"default": {OutputFields: []string{"x"}}}
	common.JSONConf, common.ParallelismHint = &text, &one
	shell := &storm.ComponentObject{Shell: &storm.ShellComponent{}}
	code := &storm.StormTopology{
		Spouts: map[string]*storm.SpoutSpec{"spout": {SpoutObject: shell, Common: common}},
		Bolts:  map[string]*storm.Bolt{"bolt": {BoltObject: shell, Common: common}}, StateSpouts: map[string]*storm.StateSpoutSpec{},
	}
	packed, err := cluster.Encode(t.Context(), code)
	check(t, err)
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, localstate.TopologyCode), packed, 0o600))
	check(t, os.MkdirAll(filepath.Join(dir, "resources", "sub"), 0o755))
	check(t, os.WriteFile(filepath.Join(dir, "resources", "sub", "topology"), []byte("x"), 0o600))
	return &localizer.Topology{ID: "t-1-1", Conf: conf, Dir: dir}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
