// SPDX-License-Identifier: Apache-2.0

// This file holds what the tests share: a gust dev, the word count, and questions about both.

package goworker

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gust-stream/gust/compat-tests/harness"
	"github.com/gust-stream/gust/compat-tests/site"
	"github.com/gust-stream/gust/internal/testbed"
	"github.com/gust-stream/gust/thrift/leader"
	"github.com/gust-stream/gust/thrift/rpc"
	"github.com/gust-stream/gust/thrift/storm"
)

// patience bounds each wait; a healthy machine needs some seconds.
const patience = time.Minute

// name is the topology's.
const name = "words"

// rig is a gust dev with a word count of shell components.
type rig struct {
	*harness.Gust
	t   *testing.T
	out string // folder in which spouts note acks
}

func newRig(t *testing.T, more ...string) *rig {
	t.Helper()
	gust, err := harness.NewGust(t.TempDir(), append([]string{"executor.metrics.frequency.secs: 1", "topology.workers: 1"}, more...)...)
	check(t, err)
	r := &rig{Gust: gust, t: t, out: t.TempDir()}
	t.Cleanup(func() {
		check(t, gust.Stop())
		if left := r.processes(); len(left) > 0 {
			t.Errorf("processes %v are left", left)
		}
	})
	check(t, gust.Start(t.Context()))
	return r
}

// ask calls Nimbus.
func (r *rig) ask(call func(ctx context.Context, n *leader.Nimbus) error) error {
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	n, err := leader.Dial(ctx, leader.Config{
		Seeds: []string{"localhost"}, Port: r.Settings().Nimbus, RPC: rpc.ClientConfig{ConnectTimeout: patience, CallTimeout: patience},
	})
	if err != nil {
		return err
	}
	return errors.Join(call(ctx, n), n.Close())
}

// submit submits the word count and returns the topology's id.
func (r *rig) submit(conf map[string]any) (id string) {
	r.t.Helper()
	conf["test.out"] = r.out
	text, err := json.Marshal(conf)
	check(r.t, err)
	jar, err := resourceJar()
	check(r.t, err)
	check(r.t, r.ask(func(ctx context.Context, n *leader.Nimbus) error {
		location, err := site.UploadFrom(ctx, n, bytes.NewReader(jar))
		if err != nil {
			return err
		}
		return n.SubmitTopology(ctx, name, location, string(text), wordCount())
	}))
	return r.summary().ID
}

// resourceJar holds the scripts, and storm.py out of the JAR of test topologies.
func resourceJar() ([]byte, error) {
	topologies, err := harness.Jar()
	if err != nil {
		return nil, err
	}
	from, err := zip.OpenReader(topologies)
	if err != nil {
		return nil, err
	}
	defer from.Close() //nolint:errcheck // only read from
	library, err := from.Open("resources/storm.py")
	if err != nil {
		return nil, err
	}
	files := map[string]io.Reader{"storm.py": library}
	for _, script := range []string{"sentences.py", "split.py", "count.py"} {
		text, err := os.ReadFile(filepath.Join("testdata", script))
		if err != nil {
			return nil, err
		}
		files[script] = bytes.NewReader(text)
	}
	var jar bytes.Buffer
	z := zip.NewWriter(&jar)
	for file, content := range files {
		w, err := z.Create("resources/" + file)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(w, content); err != nil {
			return nil, err
		}
	}
	err = z.Close()
	return jar.Bytes(), err
}

func wordCount() *storm.StormTopology {
	common := func(parallelism int32, fields ...string) *storm.ComponentCommon {
		c := storm.NewComponentCommon()
		c.Inputs = map[*storm.GlobalStreamId]*storm.Grouping{}
		c.Streams = map[string]*storm.StreamInfo{"default": {OutputFields: fields}}
		c.ParallelismHint = &parallelism
		return c
	}
	shell := func(script string) *storm.ComponentObject {
		return &storm.ComponentObject{Shell: &storm.ShellComponent{ExecutionCommand: "python3", Script: script}}
	}
	stream := func(component string) *storm.GlobalStreamId {
		return &storm.GlobalStreamId{ComponentId: component, StreamId: "default"}
	}
	split, count := common(2, "word"), common(2, "word", "count")
	split.Inputs[stream("sentences")] = &storm.Grouping{Shuffle: storm.NewNullStruct()}
	count.Inputs[stream("split")] = &storm.Grouping{Fields: []string{"word"}}
	version := testbed.Version
	return &storm.StormTopology{
		Spouts: map[string]*storm.SpoutSpec{"sentences": {SpoutObject: shell("sentences.py"), Common: common(1, "sentence")}},
		Bolts: map[string]*storm.Bolt{
			"split": {BoltObject: shell("split.py"), Common: split},
			"count": {BoltObject: shell("count.py"), Common: count},
		},
		StateSpouts:  map[string]*storm.StateSpoutSpec{},
		StormVersion: &version,
	}
}

// summary is the topology as Nimbus lists it.
func (r *rig) summary() (found *storm.TopologySummary) {
	r.t.Helper()
	check(r.t, r.ask(func(ctx context.Context, n *leader.Nimbus) error {
		info, err := n.GetClusterInfo(ctx)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(info.Topologies, func(t *storm.TopologySummary) bool { return t.Name == name })
		if at < 0 {
			return fmt.Errorf("topology %s is not listed", name)
		}
		found = info.Topologies[at]
		return nil
	}))
	return found
}

// workers are the pids of the topology's Go workers, children those of the processes below them.
func (r *rig) workers() (pids []int) {
	for _, pid := range r.processes() {
		if argv := testbed.Argv(pid); len(argv) > 1 && argv[1] == "worker" {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (r *rig) children() (pids []int) {
	for _, pid := range r.processes() {
		if argv := testbed.Argv(pid); len(argv) > 1 && strings.HasSuffix(argv[1], ".py") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// processes are all that have to do with this rig's folder but gust itself.
func (r *rig) processes() []int {
	r.t.Helper()
	all, err := testbed.Running()
	check(r.t, err)
	return slices.DeleteFunc(all, func(pid int) bool {
		dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		return err != nil || !strings.HasPrefix(dir, r.Settings().Dir+"/")
	})
}

// count counts notes of the spouts.
func (r *rig) count(what string) (n int) {
	files, err := filepath.Glob(filepath.Join(r.out, "spout.*"))
	check(r.t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(r.t, err)
		n += bytes.Count(text, []byte(what+"\n"))
	}
	return n
}

func (r *rig) await(what string, holds func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	if err := harness.Await(ctx, what, func() (bool, error) { return holds(), nil }); err != nil {
		r.t.Fatalf("%v\n%s", err, r.workerLogs())
	}
}

// workerLogs is the end of each worker's log.
func (r *rig) workerLogs() string {
	files, err := filepath.Glob(filepath.Join(r.Settings().Logs(), "workers-artifacts", "*", "*", "worker.log*"))
	if err != nil {
		return err.Error()
	}
	var all strings.Builder
	for _, file := range append(files, filepath.Join(r.Settings().Dir, "gust.out")) {
		fmt.Fprintf(&all, "%s:\n%s\n", file, testbed.Tail(file))
	}
	return all.String()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
