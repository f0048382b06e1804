// SPDX-License-Identifier: Apache-2.0

package program

// This file tests what a topology's binary does for those who call it.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/thrift/storm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// words is a small topology.
func words() *component.Topology {
	t := component.NewTopology("words").Set("key", "value")
	t.Spout("in", func() component.Spout { return nil }).Output("word")
	t.Bolt("out", func() component.Bolt { return nil }).From("in").Shuffle()
	return t
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if err := run(words(), []string{"--describe"}, &out, &errs); err != nil || errs.Len() > 0 {
		t.Fatal(err, errs.String())
	}
	var d Description
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	if bytes.Count(out.Bytes(), []byte("\n")) != 1 {
		t.Errorf("not one line: %q", out.Bytes())
	}
	buffer := thrift.NewTMemoryBuffer()
	buffer.Write(d.Topology)
	code := &storm.StormTopology{}
	if err := code.Read(t.Context(), thrift.NewTBinaryProtocolConf(buffer, nil)); err != nil {
		t.Fatal(err)
	}
	if bolt := code.Bolts["out"]; bolt == nil || len(bolt.Common.Inputs) != 1 || code.Spouts["in"] == nil {
		t.Errorf("topology %v", code)
	}
	if diff := cmp.Diff(map[string]any{"key": "value", "gust.topology.go.binary": "topology"}, d.Conf); d.Name != "words" || diff != "" {
		t.Errorf("%s: conf (-want +got):\n%s", d.Name, diff)
	}
}

func TestBadTopologyIsNotDescribed(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if err := run(component.NewTopology("x"), []string{"--describe"}, &out, &errs); err == nil || errors.Is(err, errUsage) || out.Len() > 0 {
		t.Errorf("%v, printed %q", err, out.String())
	}
}

func TestArgumentsThatAreNotUnderstood(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"--what"}, {"describe"}, {"--describe", "more"}} {
		var out, errs bytes.Buffer
		if err := run(words(), args, &out, &errs); !errors.Is(err, errUsage) || !strings.Contains(errs.String(), "gust submit") || out.Len() > 0 {
			t.Errorf("%q: %v, printed %q and %q", args, err, out.String(), errs.String())
		}
	}
}

func TestHelpGoesWhereOutputGoes(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if err := run(words(), []string{"--help"}, &out, &errs); err != nil || !strings.Contains(out.String(), "gust submit") || errs.Len() > 0 {
		t.Errorf("%v, printed %q and %q", err, out.String(), errs.String())
	}
}

func TestWorkerNeedsItsArguments(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	var code exitError
	if err := run(words(), []string{"worker", "x"}, &out, &errs); !errors.As(err, &code) || code != 2 {
		t.Errorf("got %v", err)
	}
}

// TestComponentAsStormStartsIt lays out resources as Storm unpacks them, which marks nothing as a program, and starts the command that
// the topology names.
func TestComponentAsStormStartsIt(t *testing.T) {
	t.Parallel()
	dir, pids := t.TempDir(), t.TempDir()
	binary := filepath.Join(dir, component.Binary)
	if text, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../examples/go-wordcount").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, text)
	}
	if err := os.Chmod(binary, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, text := range words().Files() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, err := words().Storm()
	if err != nil {
		t.Fatal(err)
	}
	shell := code.Bolts["out"].BoltObject.Shell
	cmd := exec.CommandContext(t.Context(), shell.ExecutionCommand, shell.Script)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"conf":{},"pidDir":%q,"context":{"componentid":"split","taskid":1,
"stream->outputfields":{"default":["word"]},"source->stream->fields":{"sentences":{"default":["sentence"]}}}}
end
{"id":"1","comp":"sentences","stream":"default","task":2,"tuple":["the cow"]}
end
`, pids))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	found, err := os.ReadDir(pids)
	if err != nil || len(found) != 1 {
		t.Fatalf("pid files %v: %v", found, err)
	}
	var lines []string
	for scanner := bufio.NewScanner(bytes.NewReader(out)); scanner.Scan(); {
		if scanner.Text() != "end" {
			lines = append(lines, scanner.Text())
		}
	}
	want := []string{
		`{"pid":` + found[0].Name() + `}`,
		`{"command":"emit","stream":"default","anchors":["1"],"need_task_ids":false,"tuple":["the"]}`,
		`{"command":"emit","stream":"default","anchors":["1"],"need_task_ids":false,"tuple":["cow"]}`,
		`{"command":"ack","id":"1"}`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("it said (-want +got):\n%s", diff)
	}
}

// once is a spout of one word, out is a bolt that does not like it.
type once struct{ done bool }

func (s *once) Next(out *component.SpoutOutput) error {
	if s.done {
		return nil
	}
	s.done = true
	return out.Emit(nil, "gust")
}

func TestRunHere(t *testing.T) {
	t.Parallel()
	top := component.NewTopology("words")
	top.Spout("in", func() component.Spout { return &once{} }).Output("word")
	top.Bolt("out", func() component.Bolt {
		return component.Basic(func(*component.Tuple, *component.BasicOutput) error { return errors.New("not liked") })
	}).Parallelism(3).From("in").Shuffle()
	var out, errs bytes.Buffer
	if err := run(top, []string{"--run", "--for", "3s"}, &out, &errs); err != nil {
		t.Fatal(err, errs.String())
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	if len(lines) != 4 || lines[1] != "in 0 1 0 0 0" || lines[2] != "out 1 0 0 1 1" || !strings.HasPrefix(lines[3], "out, task ") || !strings.HasSuffix(lines[3], ", 1 times: not liked") {
		t.Errorf("it printed\n%s", out.String())
	}
}
