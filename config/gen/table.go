// SPDX-License-Identifier: Apache-2.0

// Reading the two tables, and what can be said of a key from its checks.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// table is what both outputs are made of.
type table struct {
	Version string              `yaml:"version"`
	Keys    []key               `yaml:"keys"`
	Classes map[string][]string `yaml:"classes"`
	// NoEffect are keys that somebody reads and nobody obeys.
	NoEffect []string `yaml:"-"`
}

// key is one configuration key. Default is absent (not even null) when Storm's defaults do not have the key.
type key struct {
	Key        string    `yaml:"key"`
	Field      string    `yaml:"field"`
	Class      string    `yaml:"class"`
	Default    yaml.Node `yaml:"default"`
	Deprecated bool      `yaml:"deprecated"`
	Reloadable bool      `yaml:"reloadable"`
	Checks     []check   `yaml:"checks"`
	Doc        string    `yaml:"doc"`
	Type       string    `yaml:"type"` // for the page, where there are no checks to tell

	Again       bool `yaml:"-"`
	defaultJSON string
	readBy      []string // parts of gust, sorted
}

// check is one validator of a key with the parameters of Storm's annotation.
type check struct {
	Is                    string   `yaml:"is"`
	ValidatorClass        string   `yaml:"validatorClass"`
	IncludeZero           bool     `yaml:"includeZero"`
	AcceptedValues        []string `yaml:"acceptedValues"`
	Type                  string   `yaml:"type"`
	KeyType               string   `yaml:"keyType"`
	ValueType             string   `yaml:"valueType"`
	ImplementsClass       string   `yaml:"implementsClass"`
	BaseType              string   `yaml:"baseType"`
	EntryValidatorClasses []string `yaml:"entryValidatorClasses"`
	KeyValidatorClasses   []string `yaml:"keyValidatorClasses"`
	ValueValidatorClasses []string `yaml:"valueValidatorClasses"`
}

func readTable(stormPath, gustPath string) (*table, error) {
	var t table
	if err := readYAML(stormPath, &t); err != nil {
		return nil, err
	}
	var ours struct {
		Keys []key             `yaml:"keys"`
		Also []key             `yaml:"also"`
		Docs map[string]string `yaml:"docs"`

		NoEffect []string `yaml:"noeffect"`
	}
	if err := readYAML(gustPath, &ours); err != nil {
		return nil, err
	}
	t.NoEffect = ours.NoEffect
	for i := range ours.Keys {
		k := &ours.Keys[i]
		if !strings.HasPrefix(k.Key, "gust.") || k.Doc == "" || len(k.Checks) == 0 {
			return nil, fmt.Errorf("%s: key %q: want the prefix gust., checks and a doc", gustPath, k.Key)
		}
		k.Class = "gust"
		k.Field = strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(k.Key))
	}
	for i := range ours.Also {
		k := &ours.Also[i]
		k.Field = strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(k.Key))
	}
	t.Keys = append(append(t.Keys, ours.Keys...), ours.Also...)
	seen := map[string]bool{}
	for i := range t.Keys {
		k := &t.Keys[i]
		if seen[k.Key] && k.Class != "DaemonConfig" {
			return nil, fmt.Errorf("key %q is listed twice", k.Key)
		}
		k.Again = seen[k.Key] // DaemonConfig declares a key of Config once more: a second row of checks, no second constant
		seen[k.Key] = true
		if doc, ok := ours.Docs[k.Key]; ok {
			k.Doc = doc
			delete(ours.Docs, k.Key)
		}
		var err error
		if k.defaultJSON, err = nodeJSON(&k.Default); err != nil {
			return nil, fmt.Errorf("default of %s: %w", k.Key, err)
		}
	}
	for k := range ours.Docs {
		return nil, fmt.Errorf("%s: docs has %q, which is no key of Storm %s", gustPath, k, t.Version)
	}
	return &t, checkNames(&t)
}

// checkNames makes sure that no two keys get the same constant.
func checkNames(t *table) error {
	var errs []error
	seen := map[string]string{}
	for _, k := range t.Keys {
		name := constName(k.Key)
		if other, ok := seen[name]; ok && other != k.Key {
			errs = append(errs, fmt.Errorf("keys %s and %s both give %s", other, k.Key, name))
		}
		seen[name] = k.Key
	}
	return errors.Join(errs...)
}

func readYAML(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read table: %w", err)
	}
	if err := yaml.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// constName is the camel case of a key: nimbus.thrift.port gives NimbusThriftPort.
func constName(key string) string {
	var sb strings.Builder
	for _, part := range strings.FieldsFunc(key, func(r rune) bool { return r == '.' || r == '-' || r == '_' }) {
		r, n := utf8.DecodeRuneInString(part)
		sb.WriteRune(unicode.ToUpper(r))
		sb.WriteString(part[n:])
	}
	return sb.String()
}

// nodeJSON prints a default as JSON, "" if there is none. Numbers keep their spelling, so 0.0 stays a float.
func nodeJSON(n *yaml.Node) (string, error) {
	if n.Kind == 0 {
		return "", nil
	}
	switch n.Kind {
	case yaml.ScalarNode:
		switch n.ShortTag() {
		case "!!int", "!!float", "!!bool", "!!null":
			return n.Value, nil
		}
		b, err := json.Marshal(n.Value)
		return string(b), err
	case yaml.SequenceNode:
		var parts []string
		for _, c := range n.Content {
			s, err := nodeJSON(c)
			if err != nil {
				return "", err
			}
			parts = append(parts, s)
		}
		return "[" + strings.Join(parts, ",") + "]", nil
	case yaml.MappingNode:
		var parts []string
		for i := 0; i+1 < len(n.Content); i += 2 {
			s, err := nodeJSON(n.Content[i+1])
			if err != nil {
				return "", err
			}
			k, err := json.Marshal(n.Content[i].Value)
			if err != nil {
				return "", err
			}
			parts = append(parts, string(k)+":"+s)
		}
		return "{" + strings.Join(parts, ",") + "}", nil
	default:
		return "", fmt.Errorf("line %d: not a plain value", n.Line)
	}
}

// typeName says in words what a key's value is.
func (k key) typeName() string {
	has := func(names ...string) bool {
		return slices.ContainsFunc(k.Checks, func(c check) bool { return slices.Contains(names, c.Is) })
	}
	switch {
	case has("IsBoolean"):
		return "boolean"
	case has("IsInteger", "IsLong", "IsPowerOf2"):
		return "integer"
	case has("IsNumber", "IsPositiveNumber"):
		return "number"
	case has("IsString", "Password"):
		return "string"
	case has("IsImplementationOfClass", "IsDerivedFrom"):
		return "class name"
	case has("IsStringOrStringList"):
		return "string or list of strings"
	case has("IsStringList"):
		return "list of strings"
	case has("IsListEntryCustom", "IsListEntryType", "IsNoDuplicateInList", "IsKryoReg"):
		return "list"
	case has("IsMapEntryType", "IsMapEntryCustom", "IsType"):
		return "map"
	case k.Type != "":
		return k.Type
	default:
		return "any"
	}
}
