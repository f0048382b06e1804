// SPDX-License-Identifier: Apache-2.0

package engine

// This file finds out which child process stands behind a component.

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology/engine/javaobject"
)

// Storm's classes that run a child process.
const (
	shellBolt  = "org.apache.storm.task.ShellBolt"
	shellSpout = "org.apache.storm.spout.ShellSpout"
)

// ErrNoChild says that a component is no child process.
var ErrNoChild = errors.New("no child process")

// Child is the process behind a component.
type Child struct {
	// Command is the program and its arguments.
	Command []string
	// Env is what the component adds to the worker's environment; its PATH is put behind the worker's.
	Env map[string]string
	// KeepDir lets the child run in the worker's folder in place of the topology's resources.
	KeepDir bool
	// Class is the component's Java class, "" for a ShellComponent.
	Class string
}

// LinkedCommand is the command of the components that are linked into a topology's binary: where they run as children, a script
// starts the binary.
func LinkedCommand(binary string) []string { return []string{"sh", binary + ".sh"} }

// ReadChild gives the process that stands behind a component. The error has ErrNoChild in its chain where there is none.
func ReadChild(object *storm.ComponentObject) (Child, error) {
	c, _, err := readChild(object)
	return c, err
}

// readChild also gives the classes of a Java object: the component's own down to Storm's, and all that occur in it.
func readChild(object *storm.ComponentObject) (Child, classes, error) {
	switch {
	case object == nil:
		return Child{}, classes{}, fmt.Errorf("%w: the component has no object", ErrNoChild)
	case object.Shell != nil:
		c := Child{Command: []string{object.Shell.ExecutionCommand, object.Shell.Script}}
		if err := checkCommand(c.Command); err != nil {
			return Child{}, classes{}, fmt.Errorf("%w: %w", ErrNoChild, err)
		}
		return c, classes{}, nil
	case object.JavaObject != nil:
		return Child{}, classes{}, fmt.Errorf("%w: Java class %s", ErrNoChild, object.JavaObject.FullClassName)
	case object.SerializedJava == nil:
		return Child{}, classes{}, fmt.Errorf("%w: the component has no object", ErrNoChild)
	default:
		return readJavaChild(object.SerializedJava)
	}
}

// classes are the classes of a serialized object.
type classes struct {
	own []string // from the object's class down to the one below Storm's
	all []string
}

func readJavaChild(data []byte) (Child, classes, error) {
	top, err := javaobject.ReadClass(data)
	if err != nil {
		return Child{}, classes{}, fmt.Errorf("%w: %w", ErrNoChild, err)
	}
	var known classes
	base := ""
	for _, c := range top.Chain() {
		if c.Name == shellBolt || c.Name == shellSpout {
			base = c.Name
			break
		}
		known.own = append(known.own, c.Name)
	}
	if base == "" {
		return Child{}, classes{}, fmt.Errorf("%w: Java class %s", ErrNoChild, top.Name)
	}
	o, all, err := javaobject.Read(data)
	if err != nil {
		return Child{}, classes{}, fmt.Errorf("%w: Java class %s is a %s, but: %w", ErrNoChild, top.Name, base, err)
	}
	for _, c := range all {
		known.all = append(known.all, c.Name)
	}
	child, err := childOf(o, base)
	if err != nil {
		return Child{}, classes{}, fmt.Errorf("%w: Java class %s is a %s, but %w", ErrNoChild, top.Name, base, err)
	}
	return child, known, nil
}

// childOf reads the fields of Storm's class.
func childOf(o *javaobject.Object, base string) (Child, error) {
	c := Child{Class: o.Class.Name}
	command, _ := o.Value(base, "command")
	var err error
	if c.Command, err = stringArray(command); err != nil {
		return Child{}, fmt.Errorf("its command is not known: %w", err)
	}
	if err := checkCommand(c.Command); err != nil {
		return Child{}, err
	}
	env, _ := o.Value(base, "env")
	if c.Env, err = stringMap(env); err != nil {
		return Child{}, fmt.Errorf("its environment is not known: %w", err)
	}
	change, ok := o.Value(base, "changeDirectory")
	if value, is := change.(bool); ok && is {
		c.KeepDir = !value
	}
	return c, nil
}

func checkCommand(command []string) error {
	if len(command) == 0 || command[0] == "" {
		return errors.New("its command is empty")
	}
	for _, word := range command {
		if slices.Contains([]byte(word), 0) {
			return errors.New("its command holds a NUL")
		}
	}
	return nil
}

func stringArray(v any) ([]string, error) {
	a, ok := v.(*javaobject.Array)
	if !ok {
		return nil, fmt.Errorf("it is %s", describe(v))
	}
	return stringsOf(a.Values)
}

func stringsOf(values []any) ([]string, error) {
	out := make([]string, 0, len(values))
	for _, v := range values {
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("it holds %s", describe(v))
		}
		out = append(out, s)
	}
	return out, nil
}

// stringMap reads a map of strings of one of Java's usual classes.
func stringMap(v any) (map[string]string, error) {
	if v == nil {
		return nil, nil //nolint:nilnil // none
	}
	o, ok := v.(*javaobject.Object)
	if !ok {
		return nil, fmt.Errorf("it is %s", describe(v))
	}
	var pairs []any
	switch o.Class.Name {
	case "java.util.HashMap", "java.util.LinkedHashMap", "java.util.TreeMap":
		// What these write: a block with numbers, then key and value by turns.
		part := o.Part("java.util.HashMap")
		if part == nil {
			part = o.Part("java.util.TreeMap")
		}
		if part == nil || len(part.Written) == 0 {
			return nil, errors.New("it is a map without content")
		}
		pairs = part.Written[1:]
	case "java.util.Collections$UnmodifiableMap":
		inner, _ := o.Value(o.Class.Name, "m")
		if _, again := inner.(*javaobject.Object); !again || inner == v {
			return nil, errors.New("it is a map without content")
		}
		return stringMap(inner)
	case "java.util.Collections$EmptyMap":
		return map[string]string{}, nil
	case "java.util.Collections$SingletonMap":
		key, _ := o.Value(o.Class.Name, "k")
		value, _ := o.Value(o.Class.Name, "v")
		pairs = []any{key, value}
	case "java.util.CollSer": // Map.of: a list of keys and values
		part := o.Part(o.Class.Name)
		if part == nil || len(part.Written) == 0 {
			return nil, errors.New("it is a map without content")
		}
		pairs = part.Written[1:]
	default:
		return nil, fmt.Errorf("it is %s", describe(v))
	}
	words, err := stringsOf(pairs)
	if err != nil {
		return nil, err
	}
	if len(words)%2 != 0 {
		return nil, errors.New("it is a map with a key too many")
	}
	out := make(map[string]string, len(words)/2)
	for i := 0; i < len(words); i += 2 {
		out[words[i]] = words[i+1]
	}
	return out, nil
}

// describe names a value in a message.
func describe(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case *javaobject.Object:
		return "a " + x.Class.Name
	case *javaobject.Array:
		return "a " + x.Class.Name
	case *javaobject.Enum:
		return "a " + x.Class.Name
	default:
		return fmt.Sprintf("a %T", v)
	}
}
