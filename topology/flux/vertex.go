// SPDX-License-Identifier: Apache-2.0

package flux

// This file reads spouts and bolts.

import (
	"fmt"
	"maps"
	"strings"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/topology/engine"
)

// Flux's classes for child processes.
const (
	fluxSpout = "org.apache.storm.flux.wrappers.spouts.FluxShellSpout"
	fluxBolt  = "org.apache.storm.flux.wrappers.bolts.FluxShellBolt"
)

// vertex is a spout or bolt.
type vertex struct {
	at          at
	id          string
	child       engine.Child
	streams     map[string]output
	conf        config.Conf
	parallelism int32
}

// output is a declared stream.
type output struct {
	fields []string
	direct bool
}

func (l *loader) readVertex(a at, spout bool) (*vertex, error) {
	fields, err := a.fields("id", "className", "constructorArgs", "configMethods", "properties", "factory", "factoryArgs", "parallelism", "numTasks",
		"onHeapMemoryLoad", "offHeapMemoryLoad", "cpuLoad", "config", "command", "env", "fields", "streams", "inputs")
	if err != nil {
		return nil, err
	}
	v := &vertex{at: a, streams: map[string]output{}, conf: config.Conf{}}
	if v.id, err = a.need(fields, "id"); err != nil {
		return nil, err
	}
	if v.parallelism, err = fields["parallelism"].int(1); err != nil {
		return nil, err
	}
	if v.parallelism < 1 { // as Storm's TopologyBuilder: it would run nothing, and nobody would be told
		return nil, fields["parallelism"].errorf("component %s has parallelism %d: it must be positive", v.id, v.parallelism)
	}
	if err := v.readLoad(fields); err != nil {
		return nil, err
	}
	if own, ok := fields["config"]; ok {
		if err := v.addConf(own); err != nil {
			return nil, err
		}
	}
	if command, ok := fields["command"]; ok {
		return v, l.readOwn(v, fields, command, spout)
	}
	return v, l.readClass(v, fields, spout)
}

func (v *vertex) addConf(a at) error {
	conf, err := a.conf()
	if err != nil {
		return err
	}
	maps.Copy(v.conf, conf)
	return nil
}

// readLoad puts tasks and loads into the conf, each load under both keys as Storm's builder does. A negative number says nothing.
func (v *vertex) readLoad(fields map[string]at) error {
	tasks, err := fields["numTasks"].int(-1)
	if err != nil {
		return err
	}
	if tasks >= 0 {
		v.conf[config.TopologyTasks] = int64(tasks)
	}
	loads := map[string]any{}
	for name, key := range map[string]string{
		"onHeapMemoryLoad": config.TopologyComponentResourcesOnheapMemoryMb, "offHeapMemoryLoad": config.TopologyComponentResourcesOffheapMemoryMb,
		"cpuLoad": config.TopologyComponentCpuPcorePercent,
	} {
		n, err := fields[name].int(-1)
		if err != nil {
			return err
		}
		if n < 0 {
			continue
		}
		loads[key] = float64(n)
		v.conf[key] = float64(n)
	}
	if len(loads) > 0 {
		v.conf[config.TopologyComponentResourcesMap] = loads
	}
	return nil
}

// readOwn reads gust's lighter form: a command, fields, streams and inputs.
func (l *loader) readOwn(v *vertex, fields map[string]at, command at, spout bool) error {
	for _, name := range []string{"className", "constructorArgs", "configMethods", "properties", "factory", "factoryArgs"} {
		if f, ok := fields[name]; ok {
			return f.errorf("component %s has a command, so %s makes no sense", v.id, name)
		}
	}
	var err error
	if v.child.Command, err = words(command); err != nil {
		return err
	}
	if env, ok := fields["env"]; ok {
		if v.child.Env, err = env.stringMap(); err != nil {
			return err
		}
	}
	if f, ok := fields["fields"]; ok {
		if err := v.declare(f, "default", f, false); err != nil {
			return err
		}
	}
	if streams, ok := fields["streams"]; ok {
		if err := v.readOwnStreams(streams); err != nil {
			return err
		}
	}
	if inputs, ok := fields["inputs"]; ok {
		if spout {
			return inputs.errorf("spout %s has inputs", v.id)
		}
		return l.readInputs(v, inputs)
	}
	return nil
}

// words is a command as a list, or as a string that is cut at spaces.
func words(a at) ([]string, error) {
	if list, err := a.strings(); err == nil && len(list) > 0 {
		return list, nil
	}
	line, err := a.string()
	if err != nil {
		return nil, a.errorf("want a command as string or list, have %s", a.kind())
	}
	if list := strings.Fields(line); len(list) > 0 {
		return list, nil
	}
	return nil, a.errorf("the command is empty")
}

// readOwnStreams reads a map of streams to their fields, or to {fields, direct}.
func (v *vertex) readOwnStreams(a at) error {
	entries, err := a.entries()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.value.isList() {
			if err := v.declare(e.value, e.key, e.value, false); err != nil {
				return err
			}
			continue
		}
		fields, err := e.value.fields("fields", "direct")
		if err != nil {
			return err
		}
		direct, err := fields["direct"].bool()
		if err != nil {
			return err
		}
		if err := v.declare(e.value, e.key, fields["fields"], direct); err != nil {
			return err
		}
	}
	return nil
}

// declare adds a stream. A later one of the name replaces it, as in Flux.
func (v *vertex) declare(where at, stream string, fields at, direct bool) error {
	names, err := fields.strings()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			return where.errorf("component %s has field %q twice in stream %s", v.id, name, stream)
		}
		seen[name] = true
	}
	v.streams[stream] = output{fields: names, direct: direct}
	return nil
}

// readClass reads Flux's form: a class, arguments of its constructor, and methods that are called.
func (l *loader) readClass(v *vertex, fields map[string]at, spout bool) error {
	for _, name := range []string{"env", "fields", "streams", "inputs"} {
		if f, ok := fields[name]; ok {
			return f.errorf("component %s has no command, so %s makes no sense", v.id, name)
		}
	}
	class, err := v.at.need(fields, "className")
	if err != nil {
		return v.at.errorf("component %s has neither a command nor a className", v.id)
	}
	want := fluxBolt
	if spout {
		want = fluxSpout
	}
	if class != want {
		return fields["className"].errorf("component %s: class %s is Java; without Java there are %s and components with a command. "+
			"Submit such a file with storm jar and Flux's own JAR", v.id, class, want)
	}
	for _, name := range []string{"factory", "factoryArgs"} {
		if f, ok := fields[name]; ok && !f.empty() {
			return f.errorf("component %s: %s is Java code", v.id, name)
		}
	}
	if err := l.construct(v, fields["constructorArgs"]); err != nil {
		return err
	}
	properties, err := fields["properties"].list()
	if err != nil {
		return err
	}
	for _, p := range properties {
		if err := l.property(v, p); err != nil {
			return err
		}
	}
	methods, err := fields["configMethods"].list()
	if err != nil {
		return err
	}
	for _, m := range methods {
		call, err := m.fields("name", "args")
		if err != nil {
			return err
		}
		name, err := m.need(call, "name")
		if err != nil {
			return err
		}
		args, err := call["args"].list()
		if err != nil {
			return err
		}
		if err := v.call(m, name, args); err != nil {
			return err
		}
	}
	return nil
}

// construct reads the command line and, if they are there, the fields of the default stream.
func (l *loader) construct(v *vertex, a at) error {
	if a.empty() {
		return v.at.errorf("component %s: constructorArgs are missing: the command line and the output fields", v.id)
	}
	args, err := a.list()
	if err != nil {
		return err
	}
	if len(args) > 0 && !args[0].isList() { // one argument, given without a list around it
		args = []at{a}
	}
	if len(args) == 0 || len(args) > 2 {
		return a.errorf("component %s: constructorArgs are the command line and the output fields, not %d arguments", v.id, len(args))
	}
	if v.child.Command, err = args[0].strings(); err != nil {
		return err
	}
	if len(v.child.Command) == 0 {
		return args[0].errorf("component %s: the command line is empty", v.id)
	}
	if len(args) == 2 {
		return v.declare(args[1], "default", args[1], false)
	}
	return nil
}

// property is a call of the setter of that name.
func (l *loader) property(v *vertex, a at) error {
	fields, err := a.fields("name", "value", "ref", "reflist")
	if err != nil {
		return err
	}
	name, err := a.need(fields, "name")
	if err != nil {
		return err
	}
	value, ok := fields["value"]
	if !ok || name == "" {
		return a.errorf("component %s: property %s has no value", v.id, name)
	}
	return v.call(a, "set"+strings.ToUpper(name[:1])+name[1:], []at{value})
}

// call does what a method of FluxShellSpout or FluxShellBolt does.
func (v *vertex) call(a at, name string, args []at) error {
	fail := func(want string) error {
		return a.errorf("component %s: %s takes %s, not %d arguments", v.id, name, want, len(args))
	}
	var err error
	switch name {
	case "addComponentConfig":
		if len(args) != 2 {
			return fail("a key and a value")
		}
		key, err := args[0].string()
		if err != nil {
			return err
		}
		v.conf[key], err = args[1].value()
		return err
	case "setDefaultStream":
		if len(args) != 1 {
			return fail("a list of fields")
		}
		return v.declare(a, "default", args[0], false)
	case "setNamedStream":
		if len(args) != 2 {
			return fail("a stream and a list of fields")
		}
		stream, err := args[0].string()
		if err != nil {
			return err
		}
		return v.declare(a, stream, args[1], false)
	case "setEnv":
		if len(args) != 1 {
			return fail("a map")
		}
		v.child.Env, err = args[0].stringMap()
		return err
	case "changeChildCWD":
		if len(args) != 1 {
			return fail("true or false")
		}
		change, err := args[0].bool()
		v.child.KeepDir = !change
		return err
	default:
		return a.errorf("component %s: there is no method %s; there are addComponentConfig, setDefaultStream, setNamedStream, setEnv, changeChildCWD", v.id, name)
	}
}

// entry is one of a map with free keys.
type entry struct {
	key   string
	value at
}

func (a at) entries() ([]entry, error) {
	a, err := a.resolved()
	if err != nil {
		return nil, err
	}
	v, err := a.value()
	if err != nil {
		return nil, err
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, a.errorf("want a map, have %s", a.kind())
	}
	var out []entry
	for i := 0; i+1 < len(a.node.Content); i += 2 {
		out = append(out, entry{a.node.Content[i].Value, at{a.file, a.loader, a.node.Content[i+1]}})
	}
	return out, nil
}

// stringMap is a map of scalars, taken as they print.
func (a at) stringMap() (map[string]string, error) {
	m, err := a.conf()
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(m))
	for key, value := range m {
		switch value.(type) {
		case map[string]any, []any, nil:
			return nil, a.errorf("%s is no string", key)
		}
		out[key] = fmt.Sprint(value)
	}
	return out, nil
}
