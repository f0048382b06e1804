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
	"strconv"
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

// rig is a gust with a word count of shell components.
type rig struct {
	t    *testing.T
	dir  string // of all that gust writes
	port int    // of Nimbus
	out  string // folder in which spouts note acks
}

// quick are entries of storm.yaml: statistics at once, and no JVM beside the tests.
func quick() []string {
	return []string{"executor.metrics.frequency.secs: 1", "gust.worker.cds.enabled: false"}
}

// newRig is a gust dev.
func newRig(t *testing.T) (*rig, *harness.Gust) {
	t.Helper()
	gust, err := harness.NewGust(t.TempDir(), quick()...)
	check(t, err)
	r := &rig{t: t, dir: gust.Settings().Dir, port: gust.Settings().Nimbus, out: t.TempDir()}
	t.Cleanup(func() { r.end(gust.Stop) })
	check(t, gust.Start(t.Context()))
	return r, gust
}

// newSiteRig is a gust of several processes, with two supervisors.
func newSiteRig(t *testing.T) (*rig, *site.Site) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	s, err := site.New(site.Options{
		Dir: dir, Supervisors: map[string]string{"one": "localhost", "two": "localhost"}, Slots: 4, More: quick(),
	})
	check(t, err)
	r := &rig{t: t, dir: dir, port: s.NimbusPort, out: t.TempDir()}
	t.Cleanup(func() { r.end(s.Stop) })
	check(t, s.Start(t.Context()))
	return r, s
}

// in is the rig for a subtest.
func (r *rig) in(t *testing.T) *rig {
	t.Helper()
	own := *r
	own.t = t
	return &own
}

func (r *rig) end(stop func() error) {
	check(r.t, stop())
	// Children of a worker that was killed end when they find their pipes closed.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := harness.Await(ctx, "no process to be left", func() (bool, error) { return len(r.processes()) == 0, nil })
	check(r.t, err)
}

// ask calls Nimbus.
func (r *rig) ask(call func(ctx context.Context, n *leader.Nimbus) error) error {
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	n, err := leader.Dial(ctx, leader.Config{
		Seeds: []string{"localhost"}, Port: r.port, RPC: rpc.ClientConfig{ConnectTimeout: patience, CallTimeout: patience},
	})
	if err != nil {
		return err
	}
	return errors.Join(call(ctx, n), n.Close())
}

// submit submits the word count and returns the topology's id.
func (r *rig) submit(conf map[string]any) (id string) {
	r.t.Helper()
	conf["test.out"], conf["topology.message.timeout.secs"] = r.out, 5
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

func (r *rig) children() []int { return r.childrenOf(".py") }

func (r *rig) childrenOf(script string) (pids []int) {
	for _, pid := range r.processes() {
		if argv := testbed.Argv(pid); len(argv) > 1 && strings.HasSuffix(argv[1], script) {
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
		return err != nil || !strings.HasPrefix(dir, r.dir+"/")
	})
}

// count counts notes of the spouts.
func (r *rig) count(what string) int { return strings.Count(r.notes("spout.*"), what+"\n") }

// notes is what components have written into files of that name.
func (r *rig) notes(pattern string) string {
	files, err := filepath.Glob(filepath.Join(r.out, pattern))
	check(r.t, err)
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(r.t, err)
		all.Write(text)
	}
	return all.String()
}

func (r *rig) await(what string, holds func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	if err := harness.Await(ctx, what, func() (bool, error) { return holds(), nil }); err != nil {
		r.t.Fatalf("%v\n%s", err, r.logs())
	}
}

// artifacts are the paths of files of workers, by a pattern below workers-artifacts.
func (r *rig) artifacts(pattern ...string) (files []string) {
	r.t.Helper()
	for _, logs := range []string{"logs", "logs/*"} {
		found, err := filepath.Glob(filepath.Join(append([]string{r.dir, logs, "workers-artifacts"}, pattern...)...))
		check(r.t, err)
		files = append(files, found...)
	}
	return files
}

// artifact is the content of the files of a worker that a pattern names.
func (r *rig) artifact(id string, port int32, pattern string) string {
	r.t.Helper()
	var all strings.Builder
	for _, file := range r.artifacts(id, strconv.Itoa(int(port)), pattern) {
		text, err := os.ReadFile(file)
		check(r.t, err)
		all.Write(text)
	}
	return all.String()
}

// logs is the end of each worker's and daemon's log.
func (r *rig) logs() string {
	daemons, err := filepath.Glob(filepath.Join(r.dir, "*.out"))
	if err != nil {
		return err.Error()
	}
	var all strings.Builder
	for _, file := range append(r.artifacts("*", "*", "worker.log*"), daemons...) {
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
