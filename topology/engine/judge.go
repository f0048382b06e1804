// SPDX-License-Identifier: Apache-2.0

package engine

// This file judges whether a Java class that extends ShellBolt or ShellSpout has code that a Java worker would run.
//
// A worker makes the object by deserialization and calls it through Storm's interfaces. Deserialization runs no constructor of such a
// class. Fields and configuration are asked for by the client, before the submit. So what counts is: methods of Storm's
// interfaces, hooks of the deserialization, what other interfaces Storm might look for, and the static initializer.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/gust-stream/gust/topology/engine/classfile"
)

// runOnWorkers are methods that a Java worker, or the deserialization in it, calls.
func runOnWorkers(method string) bool {
	return slices.Contains([]string{
		"prepare", "execute", "cleanup", // IBolt
		"open", "close", "activate", "deactivate", "nextTuple", "ack", "fail", // ISpout
		"shouldChangeChildCWD", "changeChildCWD", // ShellBolt and ShellSpout
		"readObject", "readObjectNoData", "readResolve", "readExternal", "writeObject", "writeReplace", "writeExternal",
		"finalize", "clone",
	}, method)
}

// plainInterface says whether an interface asks for nothing but such methods.
func plainInterface(name string) bool {
	return slices.Contains([]string{
		"org.apache.storm.topology.IRichBolt", "org.apache.storm.topology.IRichSpout", "org.apache.storm.topology.IComponent",
		"org.apache.storm.task.IBolt", "org.apache.storm.spout.ISpout", "java.io.Serializable",
	}, name)
}

// judge gives what keeps an object of these classes on Java, "" if nothing does.
func judge(jar fs.FS, known classes) string {
	for _, name := range known.all {
		element := strings.TrimLeft(name, "[")
		if element != name { // an array: of primitives, or "Lclass;"
			if len(element) == 1 {
				continue
			}
			element = strings.TrimSuffix(strings.TrimPrefix(element, "L"), ";")
		}
		if !strings.HasPrefix(element, "java.") && element != shellBolt && element != shellSpout &&
			!strings.HasPrefix(element, "org.apache.storm.utils.") && !slices.Contains(known.own, element) {
			return "holds an object of " + element
		}
	}
	for i, name := range known.own {
		super := ""
		if i+1 < len(known.own) {
			super = known.own[i+1]
		}
		if why := judgeClass(jar, name, super); why != "" {
			return why
		}
	}
	return ""
}

// judgeClass looks at one class; super is "" where it must be one of Storm's.
func judgeClass(jar fs.FS, name, super string) string {
	data, err := classBytes(jar, name)
	if err != nil {
		return fmt.Sprintf("cannot be looked at: %v", err)
	}
	class, err := classfile.Read(data)
	if err != nil {
		return fmt.Sprintf("cannot be looked at: %v", err)
	}
	if class.Name != name || (class.Super != super && (super != "" || (class.Super != shellBolt && class.Super != shellSpout))) {
		return fmt.Sprintf("is another class in the JAR: %s, which extends %s", class.Name, class.Super)
	}
	for _, i := range class.Interfaces {
		if !plainInterface(i) {
			return "implements " + i
		}
	}
	for _, m := range class.Methods {
		if runOnWorkers(m.Name) {
			return fmt.Sprintf("has a method %s of its own", m.Name)
		}
	}
	if ok, why := class.OnlyConstants(); !ok {
		return "has a static initializer with " + why
	}
	return ""
}

// classBytes reads a class out of the JAR.
func classBytes(jar fs.FS, name string) ([]byte, error) {
	if jar == nil {
		return nil, errors.New("the topology has no JAR")
	}
	file := strings.ReplaceAll(name, ".", "/") + ".class"
	if !fs.ValidPath(file) || strings.ContainsAny(file, `*?[\`) {
		return nil, fmt.Errorf("%q is no name of a class", name)
	}
	if versions, err := fs.Glob(jar, "META-INF/versions/*/"+file); err != nil || len(versions) > 0 {
		return nil, fmt.Errorf("the JAR has several releases of %s", name)
	}
	f, err := jar.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the JAR has no %s", file)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s in the JAR: %w", file, err)
	}
	defer f.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(f, classfile.MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read %s in the JAR: %w", file, err)
	}
	return data, nil
}
