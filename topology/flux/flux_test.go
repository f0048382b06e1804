// SPDX-License-Identifier: Apache-2.0

package flux_test

// Tests of gust's own form and of messages. compat-tests/engine/flux compares Flux's form with Flux.

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology/engine"
	"github.com/gust-stream/gust/topology/flux"
)

const own = `
name: words
config: {topology.workers: 2}
spouts:
  - id: sentences
    command: python3 -u sentences.py
    env: {LANG: C.UTF-8, N: 3}
    fields: [sentence]
    streams:
      log: [line]
      late: {fields: [sentence], direct: true}
bolts:
  - id: split
    command: [python3, split.py]
    parallelism: 2
    numTasks: 4
    config: {topology.tick.tuple.freq.secs: 5}
    inputs:
      - from: sentences
      - {from: sentences, stream: late, grouping: direct}
    fields: [word]
  - id: count
    command: ./count
    inputs:
      - {from: split, fields: [word]}
      - {from: sentences, stream: log, grouping: partial_key, fields: [line]}
  - id: idle
    command: ./idle
`

func TestOwnForm(t *testing.T) {
	t.Parallel()
	got, err := flux.Load("words.yaml", []byte(own), flux.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "words" || got.Conf.Int("topology.workers", 0) != 2 {
		t.Errorf("name %q, conf %v", got.Name, got.Conf)
	}
	if diff := cmp.Diff([]string{"words.yaml:27: bolt idle has no input and is left out"}, got.Warnings); diff != "" {
		t.Error(diff)
	}
	topology := got.Storm
	if ids := slices.Sorted(maps.Keys(topology.Bolts)); !slices.Equal(ids, []string{"count", "split"}) {
		t.Errorf("bolts %q", ids)
	}
	spout := topology.Spouts["sentences"]
	child, err := engine.ReadChild(spout.SpoutObject)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"python3", "-u", "sentences.py"}, child.Command); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"LANG": "C.UTF-8", "N": "3"}, child.Env); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]*storm.StreamInfo{
		"default": {OutputFields: []string{"sentence"}}, "log": {OutputFields: []string{"line"}},
		"late": {OutputFields: []string{"sentence"}, Direct: true},
	}, spout.Common.Streams); diff != "" {
		t.Error(diff)
	}
	split := topology.Bolts["split"]
	if split.BoltObject.Shell == nil || split.BoltObject.Shell.Script != "split.py" || *split.Common.ParallelismHint != 2 {
		t.Errorf("split is %v", split)
	}
	if want := `{"topology.tasks":4,"topology.tick.tuple.freq.secs":5}`; *split.Common.JSONConf != want {
		t.Errorf("conf of split %s", *split.Common.JSONConf)
	}
	groupings := map[string]string{}
	for id, b := range topology.Bolts {
		for in, g := range b.Common.Inputs {
			text := g.String()
			if g.CustomSerialized != nil {
				fields, err := engine.PartialKeyFields(g.CustomSerialized)
				if err != nil {
					t.Fatal(err)
				}
				text = "partial " + strings.Join(fields, " ")
			}
			groupings[in.ComponentId+"/"+in.StreamId+" "+id] = text
		}
	}
	shuffle, direct, byWord := storm.Grouping{Shuffle: &storm.NullStruct{}}, storm.Grouping{Direct: &storm.NullStruct{}}, storm.Grouping{Fields: []string{"word"}}
	if diff := cmp.Diff(map[string]string{
		"sentences/default split": shuffle.String(), "sentences/late split": direct.String(),
		"split/default count": byWord.String(), "sentences/log count": "partial line",
	}, groupings); diff != "" {
		t.Error(diff)
	}
}

func TestFaultsNameTheirLine(t *testing.T) {
	t.Parallel()
	const head = "name: x\nspouts:\n- {id: s, command: ./s, fields: [a]}\n"
	for name, test := range map[string]struct{ text, want string }{
		"JavaBolt": {
			head + "bolts:\n- id: b\n  className: com.example.Bolt\n",
			"f.yaml:6: component b: class com.example.Bolt is Java; without Java there are " +
				"org.apache.storm.flux.wrappers.bolts.FluxShellBolt and components with a command. Submit such a file with storm jar and Flux's own JAR",
		},
		"SpoutAsBolt":     {head + "bolts:\n- id: b\n  className: org.apache.storm.flux.wrappers.spouts.FluxShellSpout\n", "f.yaml:6: component b: class org.apache.storm.flux.wrappers.spouts.FluxShellSpout is Java"},
		"TopologySource":  {"name: x\ntopologySource:\n  className: com.example.Source\n", "f.yaml:3: topologySource is Java code"},
		"UnknownKey":      {head + "bolts:\n- {id: b, comand: ./b}\n", `f.yaml:5: unknown key "comand"; known are id,`},
		"Nothing":         {head + "bolts:\n- {id: b}\n", "f.yaml:5: component b has neither a command nor a className"},
		"BothForms":       {head + "bolts:\n- {id: b, command: ./b, className: x}\n", "f.yaml:5: component b has a command, so className makes no sense"},
		"NoID":            {head + "bolts:\n- {command: ./b}\n", "f.yaml:5: id is missing"},
		"Twice":           {head + "- {id: s, command: ./s}\n", "f.yaml:4: there is a component s already, in line 3"},
		"SpoutAndBolt":    {head + "bolts:\n- {id: s, command: ./s, inputs: [{from: s}]}\n", "f.yaml:5: s is a spout and a bolt"},
		"UnknownSource":   {head + "bolts:\n- id: b\n  command: ./b\n  inputs:\n  - {from: z}\n", "f.yaml:8: there is no component z"},
		"UnknownTarget":   {head + "streams:\n- {from: s, to: z, grouping: {type: ALL}}\n", "f.yaml:5: there is no bolt z"},
		"UnknownStream":   {head + "bolts:\n- {id: b, command: ./b, inputs: [{from: s, stream: z}]}\n", "f.yaml:5: component s declares no stream z"},
		"UnknownField":    {head + "bolts:\n- {id: b, command: ./b, inputs: [{from: s, fields: [z]}]}\n", `f.yaml:5: stream default of s has no field "z"`},
		"UnknownGrouping": {head + "bolts:\n- {id: b, command: ./b, inputs: [{from: s, grouping: some}]}\n", `f.yaml:5: unknown grouping "some"`},
		"CustomGrouping": {
			head + "bolts:\n- {id: b, command: ./b}\nstreams:\n- from: s\n  to: b\n  grouping:\n    type: CUSTOM\n    customClass: {className: com.example.G}\n",
			"f.yaml:11: grouping of class com.example.G is Java",
		},
		"SpoutInputs":     {"name: x\nspouts:\n- {id: s, command: ./s, inputs: [{from: s}]}\n", "f.yaml:3: spout s has inputs"},
		"EmptyCommand":    {"name: x\nspouts:\n- {id: s, command: \"\"}\n", "f.yaml:3: the command is empty"},
		"NoExecutor":      {"name: x\nspouts:\n- {id: s, command: ./s, parallelism: 0}\n", `f.yaml:3: component s has parallelism 0: it must be positive`},
		"LessThanNone":    {"name: x\nspouts:\n- {id: s, command: ./s, parallelism: -1}\n", `f.yaml:3: component s has parallelism -1: it must be positive`},
		"FieldTwice":      {"name: x\nspouts:\n- {id: s, command: ./s, fields: [a, a]}\n", `f.yaml:3: component s has field "a" twice in stream default`},
		"Parallelism":     {"name: x\nspouts:\n- {id: s, command: ./s, parallelism: many}\n", `f.yaml:3: want a whole number, have "many"`},
		"Syntax":          {"name: [x\n", "f.yaml: yaml: line 1:"},
		"TwoDocuments":    {"name: x\n---\nname: y\n", "f.yaml: it has more than one document"},
		"Scalar":          {"just text", `f.yaml:1: want a map, have "just text"`},
		"NoInclude":       {head + "includes:\n- {file: other.yaml}\n", "f.yaml:5: includes are not possible here"},
		"SelfAlias":       {"name: x\nspouts: &a\n- *a\n", "yaml"},
		"Empty":           {"", "f.yaml: it is empty"},
		"MethodArguments": {"name: x\nspouts:\n- id: s\n  className: org.apache.storm.flux.wrappers.spouts.FluxShellSpout\n  constructorArgs: [[a], [b]]\n  configMethods:\n  - {name: setEnv, args: [1, 2]}\n", "f.yaml:7: component s: setEnv takes a map, not 2 arguments"},
		"UnknownMethod":   {"name: x\nspouts:\n- id: s\n  className: org.apache.storm.flux.wrappers.spouts.FluxShellSpout\n  constructorArgs: [[a], [b]]\n  configMethods:\n  - {name: open, args: []}\n", "f.yaml:7: component s: there is no method open"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := flux.Load("f.yaml", []byte(test.text), flux.Options{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestIncludeFaults(t *testing.T) {
	t.Parallel()
	main := "name: x\nincludes:\n- {file: other.yaml}\n"
	include := func(text string, err error) flux.Options {
		return flux.Options{Include: func(string, bool) ([]byte, error) { return []byte(text), err }}
	}
	_, err := flux.Load("f.yaml", []byte(main), include("", errors.New("no such file")))
	if err == nil || err.Error() != "f.yaml:3: include: no such file" {
		t.Errorf("got %v", err)
	}
	_, err = flux.Load("f.yaml", []byte(main), include("name: y\nspots: []\n", nil))
	if err == nil || !strings.HasPrefix(err.Error(), `included by line 3 of f.yaml: other.yaml:2: unknown key "spots"`) {
		t.Errorf("got %v", err)
	}
}

func TestSubstitutionWarnsOfGaps(t *testing.T) {
	t.Parallel()
	text := "name: ${a}-${a}-${ENV-B}\nconfig:\n  c: ${c}\nspouts: [{id: s, command: ./s}]\n"
	env := func(name string) (string, bool) { return "env" + name, true }
	got, err := flux.Load("f.yaml", []byte(text), flux.Options{Properties: map[string]string{"a": "1"}, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "1-1-envB" || got.Conf["c"] != "${c}" {
		t.Errorf("name %q, conf %v", got.Name, got.Conf)
	}
	if diff := cmp.Diff([]string{"f.yaml:3: nothing to put in place of ${c}"}, got.Warnings); diff != "" {
		t.Error(diff)
	}
	if got, err = flux.Load("f.yaml", []byte(text), flux.Options{}); err != nil || got.Name != "${a}-${a}-${ENV-B}" || len(got.Warnings) > 0 {
		t.Errorf("without values: %v, %v", got, err)
	}
}

func TestPropertiesFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"a=1\nb=\\u12": "line 2", "a=\\uzzzz": "no character"} {
		if _, err := flux.ParseProperties([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(own)
	f.Add("a: &a [*a]\n")
	f.Add("<<: &a {name: x, <<: *a}\n")
	f.Fuzz(func(_ *testing.T, text string) {
		include := func(string, bool) ([]byte, error) { return []byte(text), nil }
		_, _ = flux.Load("f.yaml", []byte(text), flux.Options{Properties: map[string]string{"a": "b"}, Include: include})
	})
}
