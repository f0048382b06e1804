// SPDX-License-Identifier: Apache-2.0

package flux

// This file reads a file and its includes.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/gust-stream/gust/config"
	"github.com/gust-stream/gust/thrift/storm"
)

// maxSize is the size in bytes of the largest file that is read.
const maxSize = 3 << 20

// Options say what a file may refer to.
type Options struct {
	// Properties replace ${name}; nil leaves such text as it is.
	Properties map[string]string
	// Env replaces ${ENV-name}; nil leaves such text as it is.
	Env func(name string) (string, bool)
	// Include reads an included file; resource says that it lies among the topology's resources. Nil refuses includes.
	Include func(name string, resource bool) ([]byte, error)
}

// Topology is what a file describes.
type Topology struct {
	Name  string // "" if the file has none
	Conf  config.Conf
	Storm *storm.StormTopology
	// Warnings are what is strange in the file, each with its line.
	Warnings []string
}

// loader is a Load at work.
type loader struct {
	options  Options
	aliases  int
	name     string
	named    bool
	conf     config.Conf
	beans    map[string]at // the components section
	spouts   []*vertex
	bolts    []*vertex
	streams  []stream
	warnings []string
}

// Load makes the topology of a file. file is its name in messages.
func Load(file string, data []byte, o Options) (*Topology, error) {
	l := &loader{options: o, conf: config.Conf{}, beans: map[string]at{}}
	if err := l.file(file, data, 0, true); err != nil {
		return nil, err
	}
	t, err := l.build()
	if err != nil {
		return nil, err
	}
	return &Topology{Name: l.name, Conf: l.conf, Storm: t, Warnings: l.warnings}, nil
}

func (l *loader) warn(a at, format string, args ...any) {
	l.warnings = append(l.warnings, a.errorf(format, args...).Error())
}

// file reads one file. Depth is 1 for an included one; what it says replaces what is there if override is set.
func (l *loader) file(name string, data []byte, depth int, override bool) error {
	if len(data) > maxSize {
		return fmt.Errorf("%s: %d bytes exceed the limit of %d", name, len(data), maxSize)
	}
	text, missing := substitute(string(data), l.options)
	for _, m := range missing {
		l.warnings = append(l.warnings, fmt.Sprintf("%s:%d: nothing to put in place of ${%s}", name, m.line, m.name))
	}
	var doc yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	err := decoder.Decode(&doc)
	if errors.Is(err, io.EOF) || (err == nil && len(doc.Content) == 0) {
		return fmt.Errorf("%s: it is empty", name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: it has more than one document", name)
	}
	root := at{file: name, loader: l, node: doc.Content[0]}
	sections, err := root.fields("name", "config", "components", "includes", "spouts", "bolts", "streams", "topologySource", "workerHooks")
	if err != nil {
		return err
	}
	for _, java := range []string{"topologySource", "workerHooks"} {
		if section, ok := sections[java]; ok && !section.empty() {
			return section.errorf("%s is Java code; submit such a file with storm jar and Flux's own JAR", java)
		}
	}
	for section, read := range map[string]func(at, bool) error{"name": l.readName, "config": l.readConf, "components": l.readBeans} {
		if a, ok := sections[section]; ok {
			if err := read(a, override); err != nil {
				return err
			}
		}
	}
	for _, read := range []struct {
		section string
		into    *[]*vertex
		spout   bool
	}{{"spouts", &l.spouts, true}, {"bolts", &l.bolts, false}} {
		if err := l.readVertices(sections[read.section], read.into, read.spout, override); err != nil {
			return err
		}
	}
	if err := l.readStreams(sections["streams"]); err != nil {
		return err
	}
	if includes, ok := sections["includes"]; ok && depth == 0 { // Flux ignores those of included files
		return l.readIncludes(includes)
	}
	return nil
}

func (l *loader) readName(a at, override bool) error {
	name, err := a.string()
	if err != nil {
		return err
	}
	if !l.named || override {
		l.name, l.named = name, true
	}
	return nil
}

func (l *loader) readConf(a at, override bool) error {
	conf, err := a.conf()
	if err != nil {
		return err
	}
	for key, value := range conf {
		if !l.conf.Has(key) || override {
			l.conf[key] = value
		}
	}
	return nil
}

// readBeans keeps the components section for references; most of it is Java that nothing here needs.
func (l *loader) readBeans(a at, override bool) error {
	list, err := a.list()
	if err != nil {
		return err
	}
	for _, bean := range list {
		fields, err := bean.fields("id", "className", "constructorArgs", "properties", "configMethods", "factory", "factoryArgs")
		if err != nil {
			return err
		}
		id, err := bean.need(fields, "id")
		if err != nil {
			return err
		}
		if _, have := l.beans[id]; !have || override {
			l.beans[id] = bean
		}
	}
	return nil
}

func (l *loader) readVertices(a at, into *[]*vertex, spout, override bool) error {
	if a.empty() {
		return nil
	}
	list, err := a.list()
	if err != nil {
		return err
	}
	for _, item := range list {
		v, err := l.readVertex(item, spout)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(*into, func(old *vertex) bool { return old.id == v.id })
		switch {
		case i < 0:
			*into = append(*into, v)
		case (*into)[i].at.file == v.at.file:
			return item.errorf("there is a component %s already, in line %d", v.id, (*into)[i].at.node.Line)
		case override:
			(*into)[i] = v
		}
	}
	return nil
}

func (l *loader) readIncludes(a at) error {
	if a.empty() {
		return nil
	}
	list, err := a.list()
	if err != nil {
		return err
	}
	for _, item := range list {
		fields, err := item.fields("file", "resource", "override")
		if err != nil {
			return err
		}
		file, err := item.need(fields, "file")
		if err != nil {
			return err
		}
		resource, err := fields["resource"].bool()
		if err != nil {
			return err
		}
		override, err := fields["override"].bool()
		if err != nil {
			return err
		}
		if l.options.Include == nil {
			return item.errorf("includes are not possible here")
		}
		data, err := l.options.Include(file, resource)
		if err != nil {
			return item.errorf("include: %w", err)
		}
		if err := l.file(file, data, 1, override); err != nil {
			return fmt.Errorf("included by line %d of %s: %w", item.node.Line, a.file, err)
		}
	}
	return nil
}
