// SPDX-License-Identifier: Apache-2.0

// Tests of Conf: JSON, YAML, getters, merge.

package config

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseJSONKeepsNumbers(t *testing.T) {
	t.Parallel()
	in := `{"a":1,"b":1.0,"c":9223372036854775807,"d":-9223372036854775808,"e":18446744073709551616,"f":1.0E10,"g":0.1,"h":null,` +
		`"i":[1,2.0,"x",{"y":true}],"j":-0.0,"k":1.0E-5,"l":1234567.5,"m":1.0E7}`
	conf, err := ParseJSON([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	want := Conf{
		"a": int64(1), "b": 1.0, "c": int64(math.MaxInt64), "d": int64(math.MinInt64), "e": json.Number("18446744073709551616"),
		"f": 1e10, "g": 0.1, "h": nil, "i": []any{int64(1), 2.0, "x", map[string]any{"y": true}}, "j": math.Copysign(0, -1),
		"k": 1e-5, "l": 1234567.5, "m": 1e7,
	}
	if d := cmp.Diff(want, conf); d != "" {
		t.Error(d)
	}
	out, err := conf.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if string(out) != in {
		t.Errorf("have %s\nwant %s", out, in)
	}
}

func TestParseJSONFaults(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":               "EOF",
		"[1]":            "want an object, have a list",
		"null":           "want an object, have null",
		`{"a":1}{"b":2}`: "text after the value at byte 7",
		strings.Repeat(`{"a":`, 401) + "1" + strings.Repeat("}", 401): "nested deeper than 400",
		`{"a":1e999}`:     "number 1e999 does not fit a double",
		`{"a":"secret}`:   "unexpected EOF",
		`{"a":"x",, "b"}`: "syntax error at byte 10",
	} {
		_, err := ParseJSON([]byte(in))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: have %v, want %q", in, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error quotes a value: %v", in, err)
		}
	}
}

func TestParseJSONTakesAsMuchAsStorm(t *testing.T) {
	t.Parallel()
	in := strings.Repeat(`{"a":[`, 200) + "1" + strings.Repeat("]}", 200)
	c, err := ParseJSON([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := c.JSON(); err != nil || string(out) != in {
		t.Errorf("have %s, %v", out, err)
	}
}

func TestJSONRefusesForeignTypes(t *testing.T) {
	t.Parallel()
	_, err := Conf{"a": map[string]any{"b": []any{struct{}{}}}}.JSON()
	if err == nil || err.Error() != "conf as json: a/b/0 holds a struct {}" {
		t.Errorf("have %v", err)
	}
}

func TestParseYAML(t *testing.T) {
	t.Parallel()
	in := `
bools: [yes, No, on, OFF, true, "yes", y]
ints: [10, 010, 0x1F, 0b11, 1_000, -5, +5, 1:30, 9223372036854775808, 08]
floats: [1.0, 1., .5, 1e3, 6.8523015e+5, 1:30.5, -.inf]
strings: [abc, '1', "1.0", 1.2.3, 2001-01-01, -Xmx64m, a:b]
nulls: [~, null, , Null]
base: &b {x: 1, y: 2}
merged: {<<: *b, y: 3}
1: one
true: yes
text: |
  a
  b
dup: 1
dup: 2
tagged: [!!str 1, !!float 1, !!int "7"]
`
	conf, err := ParseYAML([]byte(strings.Replace(in, "[~, null, , Null]", "[~, null, Null]", 1)))
	if err != nil {
		t.Fatal(err)
	}
	want := Conf{
		"bools":   []any{true, false, true, false, true, "yes", "y"},
		"ints":    []any{int64(10), int64(8), int64(31), int64(3), int64(1000), int64(-5), int64(5), int64(90), json.Number("9223372036854775808"), "08"},
		"floats":  []any{1.0, 1.0, 0.5, 1000.0, 685230.15, 90.5, math.Inf(-1)},
		"strings": []any{"abc", "1", "1.0", "1.2.3", "2001-01-01", "-Xmx64m", "a:b"},
		"nulls":   []any{nil, nil, nil},
		"base":    map[string]any{"x": int64(1), "y": int64(2)},
		"merged":  map[string]any{"x": int64(1), "y": int64(3)},
		"1":       "one", "true": true, "text": "a\nb\n", "dup": int64(2),
		"tagged": []any{"1", 1.0, int64(7)},
	}
	if d := cmp.Diff(want, conf); d != "" {
		t.Error(d)
	}
}

func TestParseYAMLFaults(t *testing.T) {
	t.Parallel()
	var bomb strings.Builder
	bomb.WriteString("a: &a [x,x,x,x,x,x,x,x,x,x]\n")
	for _, p := range []string{"ab", "bc", "cd", "de", "ef", "fg"} {
		bomb.WriteString(p[1:] + ": &" + p[1:] + " [" + strings.Repeat("*"+p[:1]+",", 10) + "]\n")
	}
	for name, c := range map[string]struct{ in, want string }{
		"List":     {"- a\n- b", "want a map of keys to values, have a list"},
		"Text":     {"abc", "want a map of keys to values, have a string"},
		"Syntax":   {"a: [1", "line 1"},
		"Tag":      {"a: !!java.util.Date x", "unknown tag !!java.util.Date"},
		"Aliases":  {bomb.String(), "more than 50 aliases"},
		"Depth":    {"a: " + strings.Repeat("[", 60) + strings.Repeat("]", 60), "nested deeper than 50"},
		"Two":      {"a: 1\n---\nb: 2", "want one document"},
		"Size":     {strings.Repeat("#", maxYAMLBytes+1), "exceed the limit"},
		"BadMerge": {"a: {<<: 1}", "merge key with an integer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseYAML([]byte(c.in))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("have %v, want %q", err, c.want)
			}
		})
	}
}

func TestParseYAMLEmpty(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "# nothing\n", "---\n", "null"} {
		conf, err := ParseYAML([]byte(in))
		if err != nil || conf == nil || len(conf) != 0 {
			t.Errorf("%q: have %v, %v", in, conf, err)
		}
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	base := Conf{"a": int64(1), "b": map[string]any{"x": int64(1)}, "c": "c"}
	have := Merge(base, Conf{"a": nil, "b": map[string]any{"y": int64(2)}})
	if d := cmp.Diff(Conf{"a": nil, "b": map[string]any{"y": int64(2)}, "c": "c"}, have); d != "" {
		t.Error(d)
	}
	if base["a"] != int64(1) {
		t.Error("the base was changed")
	}
}

func TestGetters(t *testing.T) {
	t.Parallel()
	c := Conf{
		"i": int64(7), "is": "8", "if": 9.0, "f": 1.5, "fs": "2.5", "b": true, "bs": "true", "s": "text", "null": nil,
		"l": []any{"a", nil, int64(1)}, "p": []any{int64(1), "2"}, "m": map[string]any{"k": "v"},
	}
	check := func(name string, have, want any) {
		t.Helper()
		if d := cmp.Diff(want, have); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	check("Int", []int64{c.Int("i", 0), c.Int("is", 0), c.Int("if", 0), c.Int("f", -1), c.Int("null", -2), c.Int("none", -3)},
		[]int64{7, 8, 9, -1, -2, -3})
	check("Float", []float64{c.Float("i", 0), c.Float("f", 0), c.Float("fs", 0), c.Float("s", -1)}, []float64{7, 1.5, 2.5, -1})
	check("Bool", []bool{c.Bool("b", false), c.Bool("bs", false), c.Bool("none", true)}, []bool{true, false, true})
	check("String", []string{c.String("s", ""), c.String("i", ""), c.String("f", ""), c.String("l", "d"), c.String("null", "d")},
		[]string{"text", "7", "1.5", "d", "d"})
	check("Strings", [][]string{c.Strings("l"), c.Strings("s"), c.Strings("null"), c.Strings("m")},
		[][]string{{"a", "1"}, {"text"}, nil, nil})
	check("Ints", [][]int64{c.Ints("p"), c.Ints("i"), c.Ints("l")}, [][]int64{{1, 2}, {7}, nil})
	check("Map", c.Map("m"), map[string]any{"k": "v"})
	check("Has", []bool{c.Has("i"), c.Has("null"), c.Has("none")}, []bool{true, false, false})
	if _, err := c.RequireInt("null"); !errors.Is(err, ErrNotSet) || err.Error() != "conf key null: not set" {
		t.Errorf("have %v", err)
	}
	if _, err := c.RequireInt("s"); err == nil || err.Error() != `conf key s: "text" is not an integer` {
		t.Errorf("have %v", err)
	}
	if _, err := (Conf{StormZookeeperAuthPayload: "a:b"}).RequireInt(StormZookeeperAuthPayload); err == nil || strings.Contains(err.Error(), "a:b") {
		t.Errorf("have %v", err)
	}
}
