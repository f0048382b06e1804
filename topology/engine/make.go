// SPDX-License-Identifier: Apache-2.0

package engine

// This file makes the object of a component that is a child process.

import (
	_ "embed" // the objects that Java made
	"fmt"
	"maps"
	"slices"

	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology/engine/javaobject"
)

// What Java makes of new ShellBolt("python3", "x.py") and of the spout.
var (
	//go:embed objects/ShellBolt.ser
	boltObject []byte
	//go:embed objects/ShellSpout.ser
	spoutObject []byte
)

// Object is a component that runs a child, for Go and for Java workers alike. A ShellComponent holds a program and one argument and
// nothing else; whatever needs more becomes Storm's own ShellBolt or ShellSpout in Java's serialized form.
func (c Child) Object(spout bool) (*storm.ComponentObject, error) {
	if err := checkCommand(c.Command); err != nil {
		return nil, err
	}
	if len(c.Command) == 2 && len(c.Env) == 0 && !c.KeepDir {
		return &storm.ComponentObject{Shell: &storm.ShellComponent{ExecutionCommand: c.Command[0], Script: c.Command[1]}}, nil
	}
	data, base := boltObject, shellBolt
	if spout {
		data, base = spoutObject, shellSpout
	}
	o, _, err := javaobject.Read(data)
	if err != nil {
		return nil, fmt.Errorf("serialized %s: %w", base, err)
	}
	values := o.Part(base).Values
	command, ok := values["command"].(*javaobject.Array)
	if !ok {
		return nil, fmt.Errorf("serialized %s has no command", base)
	}
	command.Values = nil
	for _, word := range c.Command {
		command.Values = append(command.Values, word)
	}
	values["changeDirectory"] = !c.KeepDir
	env, ok := values["env"].(*javaobject.Object)
	if !ok {
		return nil, fmt.Errorf("serialized %s has no environment", base)
	}
	part := env.Part("java.util.HashMap")
	// What a HashMap writes: a number of buckets that nobody reads, how many entries there are, then each.
	n := len(c.Env)
	part.Written = []any{[]byte{0, 0, 0, 16, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		part.Written = append(part.Written, name, c.Env[name])
	}
	object, err := javaobject.Write(o)
	if err != nil {
		return nil, fmt.Errorf("serialized %s: %w", base, err)
	}
	return &storm.ComponentObject{SerializedJava: object}, nil
}
