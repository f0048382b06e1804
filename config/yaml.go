// SPDX-License-Identifier: Apache-2.0

// storm.yaml as a Conf, by the rules of YAML 1.1 as Storm's parser applies them: yes and off are booleans, 010 is eight.

package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds on what an untrusted file may make us build; Storm's parser has the first two as well.
const (
	maxYAMLBytes = 3 << 20 // size of a file
	maxAliases   = 50      // uses of an alias to a list or map, against files that expand without end
	maxYAMLDepth = 50      // nesting of lists and maps
)

// ParseYAML reads one YAML document holding a map, or nothing (an empty file is an empty Conf). Keys that are no strings print as
// Java prints them. Of a key given twice the last value counts. Dates and binary values stay the strings they are written as.
// An error names the line.
func ParseYAML(data []byte) (Conf, error) {
	if len(data) > maxYAMLBytes {
		return nil, fmt.Errorf("parse yaml: %d bytes exceed the limit of %d", len(data), maxYAMLBytes)
	}
	var doc yaml.Node
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return Conf{}, nil
		}
		return nil, fmt.Errorf("parse yaml: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	var more yaml.Node
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("parse yaml: want one document, have more")
	}
	r := yamlReader{}
	v, err := r.value(&doc, 0)
	if err != nil {
		return nil, fmt.Errorf("parse yaml: %w", err)
	}
	switch v := v.(type) {
	case nil:
		return Conf{}, nil
	case map[string]any:
		return v, nil
	default:
		return nil, fmt.Errorf("parse yaml: line %d: want a map of keys to values, have %s", doc.Line, kind(v))
	}
}

// YAMLValue gives one node of a document as the value that a Conf holds for it. An error names the line.
func YAMLValue(n *yaml.Node) (any, error) {
	r := yamlReader{}
	return r.value(n, 0)
}

// yamlReader turns nodes into Conf values and counts aliases.
type yamlReader struct{ aliases int }

func (r *yamlReader) value(n *yaml.Node, depth int) (any, error) {
	if depth > maxYAMLDepth {
		return nil, fmt.Errorf("line %d: nested deeper than %d", n.Line, maxYAMLDepth)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return nil, nil // a document without content is null
		}
		return r.value(n.Content[0], depth+1)
	case yaml.AliasNode:
		if n.Alias.Kind != yaml.ScalarNode {
			if r.aliases++; r.aliases > maxAliases {
				return nil, fmt.Errorf("line %d: more than %d aliases", n.Line, maxAliases)
			}
		}
		return r.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			v, err := r.value(c, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		return r.mapping(n, depth)
	case yaml.ScalarNode:
		return yamlScalar(n)
	default:
		return nil, nil // the zero node is null
	}
}

func (r *yamlReader) mapping(n *yaml.Node, depth int) (any, error) {
	own := make(map[string]any, len(n.Content)/2)
	merged := make(map[string]any)
	for i := 0; i+1 < len(n.Content); i += 2 {
		v, err := r.value(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		key := n.Content[i]
		if key.Kind == yaml.ScalarNode && key.Value == "<<" && key.Style == 0 {
			if err := mergeInto(merged, v); err != nil {
				return nil, fmt.Errorf("line %d: %w", key.Line, err)
			}
			continue
		}
		k, err := r.value(key, depth+1)
		if err != nil {
			return nil, err
		}
		own[fromYAML.text(k)] = v
	}
	return map[string]any(Merge(merged, own)), nil
}

// mergeInto adds the maps that a merge key names; the first to have a key wins.
func mergeInto(dst map[string]any, v any) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, e := range list {
		m, ok := e.(map[string]any)
		if !ok {
			return fmt.Errorf("merge key with %s, want a map", kind(e))
		}
		for k, v := range m {
			if _, have := dst[k]; !have {
				dst[k] = v
			}
		}
	}
	return nil
}

// The implicit types of YAML 1.1 plain scalars.
var (
	yamlInt = regexp.MustCompile(`^[-+]?(0b_*[01][01_]*|0[0-7_]+|0|[1-9][0-9_]*|0x_*[0-9a-fA-F][0-9a-fA-F_]*|[1-9][0-9_]*(:[0-5]?[0-9])+)$`)

	yamlFloat = regexp.MustCompile(`^[-+]?([0-9][0-9_]*\.[0-9_]*([eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+|` +
		`\.[0-9][0-9_]*([eE][-+]?[0-9]+)?|[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*)$`)

	yamlBool = regexp.MustCompile(`^(yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$`)
	yamlNull = regexp.MustCompile(`^(~|null|Null|NULL| |)$`)
	yamlInf  = regexp.MustCompile(`^([-+]?)\.(inf|Inf|INF)$`)
	yamlNaN  = regexp.MustCompile(`^\.(nan|NaN|NAN)$`)
)

func yamlScalar(n *yaml.Node) (any, error) {
	s := n.Value
	quoted := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	tagged := n.Style&yaml.TaggedStyle != 0
	if tagged {
		return taggedScalar(n)
	}
	if quoted {
		return s, nil
	}
	return plainScalar(s), nil
}

// taggedScalar reads a scalar with an explicit tag. Only YAML's own types are known, as with Storm's safe parser.
func taggedScalar(n *yaml.Node) (any, error) {
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!binary", "!!timestamp", "!":
		return n.Value, nil
	case "!!int", "!!bool", "!!null":
		return plainScalar(n.Value), nil
	case "!!float":
		if i, ok := plainScalar(n.Value).(int64); ok {
			return float64(i), nil
		}
		return plainScalar(n.Value), nil
	default:
		return nil, fmt.Errorf("line %d: unknown tag %s", n.Line, tag)
	}
}

// plainScalar gives an unquoted scalar its implicit type.
func plainScalar(s string) any {
	switch {
	case yamlNull.MatchString(s):
		return nil
	case yamlBool.MatchString(s):
		switch strings.ToLower(s) {
		case "yes", "true", "on":
			return true
		}
		return false
	case yamlInt.MatchString(s):
		if v, ok := parseYAMLInt(s); ok {
			return v
		}
		return s
	case yamlFloat.MatchString(s):
		if f, ok := parseYAMLFloat(s); ok {
			return f
		}
		return s
	case yamlInf.MatchString(s):
		if strings.HasPrefix(s, "-") {
			return math.Inf(-1)
		}
		return math.Inf(1)
	case yamlNaN.MatchString(s):
		return math.NaN()
	default:
		return s
	}
}

func parseYAMLInt(s string) (any, bool) {
	s = strings.ReplaceAll(s, "_", "")
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		if s[0] == '-' {
			sign = "-"
		}
		s = s[1:]
	}
	base := 10
	switch {
	case strings.HasPrefix(s, "0b"):
		base, s = 2, s[2:]
	case strings.HasPrefix(s, "0x"):
		base, s = 16, s[2:]
	case len(s) > 1 && s[0] == '0':
		base, s = 8, s[1:]
	case strings.Contains(s, ":"):
		n, ok := sexagesimal(s)
		if !ok {
			return nil, false
		}
		s = strconv.FormatInt(int64(n), 10)
	}
	n, ok := new(big.Int).SetString(sign+s, base)
	if !ok {
		return nil, false
	}
	if n.IsInt64() {
		return n.Int64(), true
	}
	return json.Number(n.String()), true
}

func parseYAMLFloat(s string) (float64, bool) {
	s = strings.ReplaceAll(s, "_", "")
	if strings.Contains(s, ":") {
		sign := 1.0
		if s[0] == '-' {
			sign = -1
		}
		f, ok := sexagesimal(strings.TrimLeft(s, "+-"))
		return sign * f, ok
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || errors.Is(err, strconv.ErrRange) // out of range is infinite, as in Java
}

// sexagesimal reads 1:30:00, which YAML 1.1 takes for a number in base sixty.
func sexagesimal(s string) (float64, bool) {
	var total float64
	for part := range strings.SplitSeq(s, ":") {
		f, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return 0, false
		}
		total = total*60 + f
	}
	return total, true
}
