// SPDX-License-Identifier: Apache-2.0

package enginetest

// This file reads recorded Java objects and describes them.

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing/fstest"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology/engine"
)

// Variant is a serialized object with the class files that a JAR would hold.
type Variant struct {
	Object  []byte
	Classes fstest.MapFS
}

// Names lists the variants that are recorded.
func Names() []string {
	return strings.Fields(`bare bare-spout plain helpers asserting deeper prepares below-prepares executes own-folder reads resolves static
		static-object listens holds spout failing-spout bolt anonymous env-hash env-linked env-tree env-of env-of-one env-single env-none
		env-read-only env-odd keep-folder no-command partial-key partial-key-all partial-key-own grouping`)
}

// Load reads a record.
func Load(file string) (map[string]Variant, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(data)
}

// Parse reads lines of name, object and class files, all in base64.
func Parse(data []byte) (map[string]Variant, error) {
	out := map[string]Variant{}
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		if len(words) < 2 {
			return nil, fmt.Errorf("record of Java objects: line %q", line)
		}
		object, err := base64.StdEncoding.DecodeString(words[1])
		if err != nil {
			return nil, fmt.Errorf("record of Java objects: %s: %w", words[0], err)
		}
		v := Variant{Object: object, Classes: fstest.MapFS{}}
		for _, class := range words[2:] {
			file, text, _ := strings.Cut(class, "=")
			bytes, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return nil, fmt.Errorf("record of Java objects: %s: %w", file, err)
			}
			v.Classes[file] = &fstest.MapFile{Data: bytes}
		}
		out[words[0]] = v
	}
	return out, nil
}

// Describe says what the engine's rules make of a variant as component or grouping.
func Describe(v Variant) string {
	if fields, err := engine.PartialKeyFields(v.Object); err == nil {
		return fmt.Sprintf("partial key by %q", fields)
	}
	plan, err := engine.Decide(engine.Input{Conf: config.Conf{}, Jar: v.Classes, Topology: &storm.StormTopology{Bolts: map[string]*storm.Bolt{
		"x": {BoltObject: &storm.ComponentObject{SerializedJava: v.Object}, Common: &storm.ComponentCommon{}},
	}}})
	if err != nil {
		return err.Error()
	}
	c := plan.Components["x"]
	out := fmt.Sprintf("%s %s: %s", c.Engine, c.Kind, c.Reason)
	if c.Child != nil {
		out += fmt.Sprintf(" %q %v keep=%v", c.Child.Command, c.Child.Env, c.Child.KeepDir)
	}
	return out
}
