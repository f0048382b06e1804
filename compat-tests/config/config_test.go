// SPDX-License-Identifier: Apache-2.0

// Tests that ask Storm's ConfigValidation, Utils and ConfigUtils, and gust, the same.

package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gust-stream/gust/config"

	"github.com/gust-stream/gust/compat-tests/stockjava"
)

var record = flag.Bool("record", false, "write Storm's answers to the recorded table of the config package")

// recorded is the table of confs and Storm's answers to them that the config package's own tests use.
var recorded = filepath.Join("..", "..", "config", "testdata", "validate-"+config.TableVersion+".jsonl")

// answer is what the driver says.
type answer struct {
	Value json.RawMessage `json:"value,omitempty"`
	Class string          `json:"class,omitempty"`
	Text  string          `json:"text,omitempty"`
}

func ask(t *testing.T, questions []string) []answer {
	t.Helper()
	lines := make([][]byte, len(questions))
	for i, q := range questions {
		lines[i] = []byte(q)
	}
	raw := stockjava.Ask(t, "java", "ConfigDriver", lines)
	out := make([]answer, len(raw))
	for i, line := range raw {
		if err := json.Unmarshal(line, &out[i]); err != nil {
			t.Fatalf("answer to %s: %v: %s", questions[i], err, line)
		}
	}
	return out
}

// quoted is text as a JSON string on one line.
func quoted(t *testing.T, text string) string {
	t.Helper()
	b, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// row is one line of the recorded table: a conf for a topology (as JSON) or for a daemon (as YAML), and Storm's answer.
type row struct {
	Topology json.RawMessage `json:"topology,omitempty"`
	Daemon   string          `json:"daemon,omitempty"`
	Class    string          `json:"class,omitempty"`
	Text     string          `json:"text,omitempty"`
}

func (r row) question(t *testing.T) string {
	t.Helper()
	if r.Topology != nil {
		return "topology " + string(r.Topology)
	}
	return "daemon " + quoted(t, r.Daemon)
}

// ours gives gust's answer.
func (r row) ours() error {
	if r.Topology != nil {
		conf, err := config.ParseJSON(r.Topology)
		if err != nil {
			return err
		}
		return config.ValidateTopology(conf)
	}
	conf, err := config.ParseYAML([]byte(r.Daemon))
	if err != nil {
		return err
	}
	return config.Validate(conf)
}

// compare returns how gust's answer differs from Storm's, "" if it does not. The texts of casts that fail are the JVM's own: there
// it is enough that gust refuses too, and says that it is an internal error.
func compare(a answer, err error) string {
	fault, isFault := errors.AsType[*config.FaultError](err)
	switch {
	case a.Class == "" && err == nil:
		return ""
	case a.Class == "" || err == nil || !isFault:
		return fmt.Sprintf("storm: %s %q, gust: %v", a.Class, a.Text, err)
	case a.Class == "java.lang.IllegalArgumentException" || a.Class == "java.lang.RuntimeException":
		if fault.Internal == (a.Class == "java.lang.RuntimeException") && a.Text == err.Error() {
			return ""
		}
	case fault.Internal:
		return ""
	}
	return fmt.Sprintf("storm: %s %q, gust: %q internal %v", a.Class, a.Text, err, fault.Internal)
}

// TestValidateCompat runs the recorded table against both, and proves that the record is what this Storm says.
func TestValidateCompat(t *testing.T) {
	data, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	var questions []string
	for line := range bytes.Lines(data) {
		var r row
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		rows = append(rows, r)
		questions = append(questions, r.question(t))
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	faults := 0
	for i, a := range ask(t, questions) {
		if d := compare(a, rows[i].ours()); d != "" {
			t.Errorf("%s\n%s", questions[i], d)
		}
		if a.Class != "" {
			faults++
		}
		rows[i].Class, rows[i].Text = a.Class, a.Text
		if err := enc.Encode(rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	if faults < len(rows)/3 || len(rows)-faults < len(rows)/5 {
		t.Errorf("%d of %d confs are faulty: the table is lopsided", faults, len(rows))
	}
	if *record {
		if err := os.WriteFile(recorded, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if d := cmp.Diff(string(data), out.String()); d != "" {
		t.Errorf("the recorded answers differ from Storm's (record them with -record):\n%s", d)
	}
}

// palette holds values of every kind that a check could stumble over. The keys of its maps are sorted: Storm's texts print a map
// in an order that depends on that of the file, which gust does not keep and takes to be sorted.
var palette = []string{
	`null`, `true`, `0`, `1`, `-1`, `6`, `8`, `2147483648`, `9007199254740993`, `18446744073709551616`, `1.0`, `0.0`, `-0.5`,
	`1.5`, `1e300`, `""`, `"a/b \"c\""`, `"S1"`, `"NONE"`, `"java.lang.Object"`, `"org.example.Missing"`,
	`"7"`, `[]`, `["a"]`, `[1,1]`, `[1,1.0]`, `[null]`, `[1,"a"]`, `[-1]`, `[["a","b"]]`,
	`[["a",1]]`, `[{"class":"a"}]`, `[{"a":"b"}]`, `[{"class":1}]`, `[{"class":"a","parallelism.hint":1}]`,
	`[{"class":"a","parallelism.hint":"x"}]`, `[{"arguments":{},"class":"a"}]`, `[{"arguments":[],"class":"a"}]`,
	`[{"class":"a","filter":{"class":1}}]`, `[{"class":"a","filter":1}]`, `[{"class":"a","filter":null}]`, `{}`, `{"a":null}`,
	`{"a":"b"}`, `{"a":1}`, `{"a":1.5}`, `{"a":true,"b":2}`, `{"a":{}}`, `{"a":{"b":"c"}}`, `{"a":["b"]}`, `{"a":[1]}`,
	`{"a":{"maxNodeCoLocationCnt":1}}`, `{"a":{"maxNodeCoLocationCnt":"x"}}`, `{"a":{"incompatibleComponents":"b"}}`,
	`{"a":{"incompatibleComponents":["b",1]}}`, `{"a":{"incompatibleComponents":1}}`, `{"a":{"groups":["g"],"hosts":["h"]}}`,
	`{"a":{"hosts":["h"]}}`, `{"a":{"groups":["g"]}}`, `{"a":{"hosts":[1]}}`, `{"a":{"cpu":1,"memory":2.5}}`, `{"a":{"cpu":1}}`,
	`{"a":{"memory":1}}`, `{"a":{"cpu":"x","memory":1}}`, `{"a":{"numa.cores":[1,2],"numa.memory.mb":1,"numa.ports":[1]}}`,
	`{"a":{"numa.cores":[1,1],"numa.memory.mb":1,"numa.ports":[1]}}`, `{"a":{"numa.cores":[1]}}`,
	`{"a":{"numa.cores":1,"numa.memory.mb":1,"numa.ports":1}}`,
	`{"drpc":true,"nimbus":[1,"x"],"supervisor":1.5,"topology":1,"ui":{"a":null,"b":"c"},"worker":"b"}`,
}

// TestValidateEveryKeyCompat gives every key of Storm every value of the palette, as a topology's conf and as a daemon's.
func TestValidateEveryKeyCompat(t *testing.T) {
	var rows []row
	for _, k := range config.StormKeys() {
		if config.IsSecret(k) { // gust's texts do not repeat these values: TestSecretInFaultDiff
			continue
		}
		for _, v := range palette {
			rows = append(rows, row{Topology: json.RawMessage(`{"` + k + `":` + v + `}`)}, row{Daemon: `"` + k + `": ` + v})
		}
	}
	questions := make([]string, len(rows))
	for i, r := range rows {
		questions[i] = r.question(t)
	}
	faults := 0
	for i, a := range ask(t, questions) {
		if d := compare(a, rows[i].ours()); d != "" {
			t.Errorf("%s\n%s", questions[i], d)
		}
		if a.Class != "" {
			faults++
		}
	}
	t.Logf("%d confs, %d of them faulty", len(rows), faults)
	if faults < len(rows)/4 {
		t.Error("Storm found almost no faults: the question does not reach it")
	}
}

// TestSecretInFaultDiff shows a known difference: Storm repeats a secret of the wrong type in its text, gust does not.
func TestSecretInFaultDiff(t *testing.T) {
	r := row{Topology: json.RawMessage(`{"storm.zookeeper.auth.payload":4711}`)}
	storm := ask(t, []string{r.question(t)})[0].Text
	err := r.ours()
	if err == nil || strings.Replace(storm, "4711", config.Redacted, 1) != err.Error() {
		t.Errorf("storm: %s\ngust: %v", storm, err)
	}
}

// TestForeignClassDiff shows a known difference: gust knows only the plug-in classes of Storm, so of any other class of Storm's JARs
// in the place of a plug-in it says that it cannot be loaded, not that it is no plug-in. Both refuse.
func TestForeignClassDiff(t *testing.T) {
	r := row{Topology: json.RawMessage(`{"storm.network.topography.plugin":"org.apache.storm.Config"}`)}
	storm := ask(t, []string{r.question(t)})[0]
	const want = "Field STORM_NETWORK_TOPOGRAPHY_PLUGIN with value org.apache.storm.Config does not implement " +
		"org.apache.storm.networktopography.DNSToSwitchMapping"
	if storm.Text != want {
		t.Errorf("storm: %s", storm.Text)
	}
	err := r.ours()
	if err == nil || err.Error() != "Failed to validate config STORM_NETWORK_TOPOGRAPHY_PLUGIN with value org.apache.storm.Config" {
		t.Errorf("gust: %v", err)
	}
}

// TestParseYAMLCompat reads documents full of the corners of YAML 1.1.
func TestParseYAMLCompat(t *testing.T) {
	scalars := []string{
		"yes", "No", "on", "OFF", "y", "true", "True", "TRUE", "tRue", "~", "null", "NULL", "nUll", "10", "010", "0o10", "08", "0x1F", "0b101", "1_000",
		"_1", "-5", "+5", "1:30", "1:30:15", "-1:30", "1:75", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1.0", "1.", ".5", "1e3",
		"1E3", "1.5e3", "1.5e+3", "1.5E-3", "-1.5", "+1.5", "1_0.5", "1:30.5", "1.2.3", "1e", "e1", "abc", "'1'", "\"1\"", "-Xmx64m", "a:b", "a=b", "%HEAP-MEM%",
		"0", "-0", "-0.0", "00", "0x", "0b", "0x_1", "12e03", "1.0e400", "4.9e-324", "123456789.123456789", "!!str 1", "!!int 1", "!!float 1", "!!str yes", "''",
		"0.001", "0.0001", "9999999.0", "10000000.0", "100.0", "1.0e-5", "- ", "=", "<", "//a", "http://x/y#z", "ä€", "'a''b'", "\"a\\tb\"", "[]", "{}", "[1, [2]]", "{a: {b: 1}}",
	}
	docs := make([]string, 0, len(scalars)+8)
	for _, s := range scalars {
		docs = append(docs, "k: "+s)
	}
	docs = append(docs,
		"a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}\nc: *x\n", "a: &x {p: 1}\ny: &y {p: 2, r: 3}\nb: {<<: [*x, *y]}\n", "a: 1\na: 2\n", "1: a\nyes: b\n1.5: c\n~: d\n",
		"a: |\n  x\n  y\nb: >\n  x\n  y\nc: |-\n  x\n", "a:\n- 1\n-\n- {b: c}\n", "# c\na: b # d\n", "---\na: b\n...\n", "'<<': {a: b}\n", "a: b\n c\n", "a: [b,\n c]\n",
		"\"a b\": c\n? d\n: e\n",
	)
	questions := make([]string, len(docs))
	for i, d := range docs {
		questions[i] = "yaml " + quoted(t, d)
	}
	for i, a := range ask(t, questions) {
		conf, err := config.ParseYAML([]byte(docs[i]))
		if (err != nil) != (a.Class != "") {
			t.Errorf("%q: storm: %s %s, gust: %v", docs[i], a.Value, a.Class, err)
			continue
		}
		if err != nil {
			continue
		}
		have, err := conf.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if string(have) != normal(t, a.Value) {
			t.Errorf("%q: storm: %s, gust: %s", docs[i], a.Value, have)
		}
	}
}

// normal writes a JSON object as gust does; only escapes may differ, since numbers keep their spelling.
func normal(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	conf, err := config.ParseJSON(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	out, err := conf.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestDefaultsCompat reads the defaults out of the JAR of a Storm home, and takes the built-in ones; both must be Storm's.
func TestDefaultsCompat(t *testing.T) {
	want := normal(t, ask(t, []string{"defaults null"})[0].Value)
	home := filepath.Dir(stockjava.Lib(t))
	for name, o := range map[string]config.Options{"Home": {StormHome: home, ConfDir: t.TempDir()}, "Builtin": {}} {
		t.Run(name, func(t *testing.T) {
			conf, src, err := config.Load(o)
			if err != nil {
				t.Fatal(err)
			}
			if fromJar := strings.HasPrefix(src.Defaults, home); fromJar != (o.StormHome != "") || src.StormVersion != config.TableVersion {
				t.Errorf("defaults of %s from %s", src.StormVersion, src.Defaults)
			}
			maps.DeleteFunc(conf, func(k string, _ any) bool { return strings.HasPrefix(k, "gust.") })
			have, err := conf.JSON()
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, string(have)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestStormOptionsCompat hands overrides to Storm as gust writes them for a worker.
func TestStormOptionsCompat(t *testing.T) {
	in := config.Conf{
		"a": "8", "b": int64(8), "c": "x,y z+%=&", "d": []any{1.0, nil, "x,y"}, "e": map[string]any{"k": "ä", "l": []any{}}, "f": true,
		"g": "true", "h": nil, "i": "", "j": "-Xmx64m -Da=b", "k": 1.5, "l": "null", "m": int64(9223372036854775807), "n": "{a",
	}
	text, err := config.StormOptions(in)
	if err != nil {
		t.Fatal(err)
	}
	a := ask(t, []string{"options " + quoted(t, text)})[0]
	want, err := in.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if have := normal(t, a.Value); have != string(want) {
		t.Errorf("%s\nstorm: %s\n gust: %s", text, have, want)
	}
}

// TestParseOverrideCompat gives both the values of -c, well-formed and not.
func TestParseOverrideCompat(t *testing.T) {
	values := []string{
		"[a,b]", "{a:b}", "abc", "'abc'", "a b", "1 2", "1,2", "tRue", "[a, b c]", "[1 2]", "[a:b]", "{a=b}", "{a", "[a", "a]", "a}", "]", "", "007", "1.", "+5",
		".5", "1e5", "0x1F", "nulls", `"a" b`, "[1]x", "[a,]", "[,]", "{a:}", "{a:b,}", "-Xmx64m,-Da", "a,b", "a:b", "[x:1,{y:[z]}]", " 8 ", " a ", "1.0.0",
		"12345678901234567890", "1e999", "[1.0.0, 2]", "http://a/b?c", "['a','b']", "true ", "[ a , b ]", `"a`, "'a", `{"a":"b"`, "it's", "100%", `a\nb`, `"x\ty"`,
		"8x", "-1", "--", "[-1,-x]", "1.5", "1.50", "[org.A,org.B]", `{"a b":1,c d:2}`, "[]", "{}", "null", "[null,true]", "{a:null,b:1.5,'c':\"d\"}", "{,}", "{a:b}}",
		"[[a],[b]]", "[[a],[b]", "}", ":", ",", "a\tb", "[a\tb]",
	}
	questions := make([]string, len(values))
	for i, v := range values {
		text := url.QueryEscape("k=" + v)
		questions[i] = "options " + quoted(t, text)
	}
	for i, a := range ask(t, questions) {
		_, v, err := config.ParseOverride("k=" + values[i])
		if err != nil {
			t.Errorf("%q: %v", values[i], err)
			continue
		}
		have, err := config.Conf{"k": v}.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if string(have) != normal(t, a.Value) {
			t.Errorf("%q: storm: %s, gust: %s", values[i], a.Value, have)
		}
	}
}

// TestRedactCompat makes sure that whatever Storm masks, gust masks.
func TestRedactCompat(t *testing.T) {
	conf := config.Conf{}
	for _, k := range config.StormKeys() {
		conf[k] = "value"
	}
	question, err := conf.JSON()
	if err != nil {
		t.Fatal(err)
	}
	a := ask(t, []string{"mask " + string(question)})[0]
	masked, err := config.ParseJSON(a.Value)
	if err != nil {
		t.Fatal(err)
	}
	redacted := config.Redact(conf)
	n := 0
	for _, k := range slices.Sorted(maps.Keys(masked)) {
		if masked[k] == config.Redacted {
			n++
			if redacted[k] != config.Redacted {
				t.Errorf("%s: storm masks it, gust does not", k)
			}
		}
	}
	if n < 10 {
		t.Errorf("storm masked %d keys: the question does not reach it", n)
	}
}
