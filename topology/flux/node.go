// SPDX-License-Identifier: Apache-2.0

package flux

// This file reads parts of a YAML document, with the line in every error.

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gust-stream/gust/config"
)

// maxAliases bounds uses of YAML's aliases, against files that expand without end.
const maxAliases = 200

// at is a part of a document. The zero value is one that is not there.
type at struct {
	file   string
	loader *loader
	node   *yaml.Node
}

func (a at) errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: "+format, append([]any{a.file, a.node.Line}, args...)...)
}

// empty says whether there is nothing, or null.
func (a at) empty() bool { return a.node == nil || a.node.Tag == "!!null" }

// resolved follows an alias.
func (a at) resolved() (at, error) {
	if a.node.Kind != yaml.AliasNode {
		return a, nil
	}
	if a.loader.aliases++; a.loader.aliases > maxAliases {
		return a, a.errorf("more than %d aliases", maxAliases)
	}
	a.node = a.node.Alias
	return a, nil
}

// fields gives the entries of a map, whose keys must be among known.
func (a at) fields(known ...string) (map[string]at, error) {
	a, err := a.resolved()
	if err != nil {
		return nil, err
	}
	if a.node.Kind != yaml.MappingNode {
		return nil, a.errorf("want a map, have %s", a.kind())
	}
	out := map[string]at{}
	for i := 0; i+1 < len(a.node.Content); i += 2 {
		key, value := a.node.Content[i], at{a.file, a.loader, a.node.Content[i+1]}
		if key.Tag == "!!merge" {
			merged, err := value.fields(known...)
			if err != nil {
				return nil, err
			}
			for name, v := range merged {
				if _, have := out[name]; !have {
					out[name] = v
				}
			}
			continue
		}
		if !slices.Contains(known, key.Value) {
			return nil, at{a.file, a.loader, key}.errorf("unknown key %q; known are %s", key.Value, strings.Join(known, ", "))
		}
		out[key.Value] = value
	}
	return out, nil
}

// list gives the elements of a list; nothing has none.
func (a at) list() ([]at, error) {
	if a.empty() {
		return nil, nil
	}
	a, err := a.resolved()
	if err != nil {
		return nil, err
	}
	if a.node.Kind != yaml.SequenceNode {
		return nil, a.errorf("want a list, have %s", a.kind())
	}
	out := make([]at, len(a.node.Content))
	for i, n := range a.node.Content {
		out[i] = at{a.file, a.loader, n}
	}
	return out, nil
}

// strings gives a list of strings.
func (a at) strings() ([]string, error) {
	list, err := a.list()
	if err != nil {
		return nil, err
	}
	out := make([]string, len(list))
	for i, e := range list {
		if out[i], err = e.string(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// string gives a scalar as it is written.
func (a at) string() (string, error) {
	if a.node == nil {
		return "", nil
	}
	a, err := a.resolved()
	if err != nil {
		return "", err
	}
	if a.node.Kind != yaml.ScalarNode || a.empty() {
		return "", a.errorf("want a string, have %s", a.kind())
	}
	return a.node.Value, nil
}

// need gives a string of a map that must be there.
func (a at) need(fields map[string]at, name string) (string, error) {
	v, ok := fields[name]
	if !ok || v.empty() {
		return "", a.errorf("%s is missing", name)
	}
	return v.string()
}

// value gives what a Conf holds for it.
func (a at) value() (any, error) {
	if a.node == nil {
		return nil, nil //nolint:nilnil // nothing is null
	}
	v, err := config.YAMLValue(a.node)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.file, err)
	}
	return v, nil
}

func (a at) conf() (config.Conf, error) {
	v, err := a.value()
	if err != nil {
		return nil, err
	}
	switch m := v.(type) {
	case nil:
		return config.Conf{}, nil
	case map[string]any:
		return m, nil
	default:
		return nil, a.errorf("want a map, have %s", a.kind())
	}
}

// bool gives a boolean; nothing is false.
func (a at) bool() (bool, error) {
	v, err := a.value()
	if err != nil || v == nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, a.errorf("want true or false, have %s", a.kind())
	}
	return b, nil
}

// int gives a whole number that fits 32 bits; nothing is def.
func (a at) int(def int32) (int32, error) {
	v, err := a.value()
	if err != nil || v == nil {
		return def, err
	}
	n, ok := v.(int64)
	if !ok || int64(int32(n)) != n {
		return 0, a.errorf("want a whole number, have %s", a.kind())
	}
	return int32(n), nil
}

func (a at) kind() string {
	switch {
	case a.empty():
		return "nothing"
	case a.node.Kind == yaml.MappingNode:
		return "a map"
	case a.node.Kind == yaml.SequenceNode:
		return "a list"
	default:
		return fmt.Sprintf("%q", a.node.Value)
	}
}

// isList says whether there is a list.
func (a at) isList() bool {
	resolved, err := a.resolved()
	return err == nil && resolved.node.Kind == yaml.SequenceNode
}
