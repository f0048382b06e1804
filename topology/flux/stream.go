// SPDX-License-Identifier: Apache-2.0

package flux

// This file reads how bolts subscribe to streams.

import (
	"strings"

	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology/engine"
)

const (
	partialKeyClass = "org.apache.storm.grouping.PartialKeyGrouping"
	fieldsClass     = "org.apache.storm.tuple.Fields"
)

// stream is one subscription.
type stream struct {
	at       at
	from, to string
	id       string
	grouping *storm.Grouping
}

// readStreams reads Flux's section of that name.
func (l *loader) readStreams(a at) error {
	list, err := a.list()
	if err != nil {
		return err
	}
	for _, item := range list {
		fields, err := item.fields("name", "from", "to", "grouping")
		if err != nil {
			return err
		}
		s := stream{at: item}
		if s.from, err = item.need(fields, "from"); err != nil {
			return err
		}
		if s.to, err = item.need(fields, "to"); err != nil {
			return err
		}
		g, ok := fields["grouping"]
		if !ok {
			return item.errorf("grouping is missing")
		}
		if s.grouping, s.id, err = l.readGrouping(g); err != nil {
			return err
		}
		l.streams = append(l.streams, s)
	}
	return nil
}

func (l *loader) readGrouping(a at) (*storm.Grouping, string, error) {
	fields, err := a.fields("type", "args", "streamId", "customClass")
	if err != nil {
		return nil, "", err
	}
	kind, err := a.need(fields, "type")
	if err != nil {
		return nil, "", err
	}
	args, err := fields["args"].strings()
	if err != nil {
		return nil, "", err
	}
	id := "default"
	if s := fields["streamId"]; !s.empty() {
		if id, err = s.string(); err != nil {
			return nil, "", err
		}
	}
	if strings.EqualFold(kind, "custom") {
		custom, ok := fields["customClass"]
		if !ok {
			return nil, "", a.errorf("customClass is missing")
		}
		g, err := l.readCustom(custom)
		return g, id, err
	}
	g, err := a.grouping(kind, args)
	return g, id, err
}

// grouping makes one of a name and fields.
func (a at) grouping(kind string, fields []string) (*storm.Grouping, error) {
	null := &storm.NullStruct{}
	switch strings.ToUpper(kind) {
	case "SHUFFLE":
		return &storm.Grouping{Shuffle: null}, nil
	case "LOCAL_OR_SHUFFLE":
		return &storm.Grouping{LocalOrShuffle: null}, nil
	case "ALL":
		return &storm.Grouping{All: null}, nil
	case "NONE":
		return &storm.Grouping{None: null}, nil
	case "DIRECT":
		return &storm.Grouping{Direct: null}, nil
	case "GLOBAL": // as Storm writes it: by no field at all
		return &storm.Grouping{Fields: []string{}}, nil
	case "FIELDS":
		if len(fields) == 0 {
			return nil, a.errorf("a fields grouping without fields")
		}
		return &storm.Grouping{Fields: fields}, nil
	case "PARTIAL_KEY":
		if len(fields) == 0 {
			return nil, a.errorf("a partial key grouping without fields")
		}
		return a.partialKey(fields)
	default:
		return nil, a.errorf("unknown grouping %q; known are SHUFFLE, LOCAL_OR_SHUFFLE, FIELDS, PARTIAL_KEY, ALL, GLOBAL, NONE, DIRECT", kind)
	}
}

func (a at) partialKey(fields []string) (*storm.Grouping, error) {
	object, err := engine.PartialKeyGrouping(fields)
	if err != nil {
		return nil, a.errorf("%w", err)
	}
	return &storm.Grouping{CustomSerialized: object}, nil
}

// readCustom reads the one custom grouping that needs no Java, made of nothing or of a reference to Fields.
func (l *loader) readCustom(a at) (*storm.Grouping, error) {
	fields, err := a.fields("className", "constructorArgs", "configMethods", "properties", "factory", "factoryArgs")
	if err != nil {
		return nil, err
	}
	class, err := a.need(fields, "className")
	if err != nil {
		return nil, err
	}
	args, err := fields["constructorArgs"].list()
	if err != nil {
		return nil, err
	}
	if class != partialKeyClass || len(fields) > 2 || len(args) > 1 {
		return nil, a.errorf("grouping of class %s is Java; of custom groupings there is only %s of nothing or of Fields", class, partialKeyClass)
	}
	if len(args) == 0 {
		return a.partialKey(nil)
	}
	names, err := l.fieldsOf(args[0])
	if err != nil {
		return nil, err
	}
	return a.partialKey(names)
}

// fieldsOf follows a reference to a component of class Fields.
func (l *loader) fieldsOf(a at) ([]string, error) {
	ref, err := a.fields("ref")
	if err != nil {
		return nil, err
	}
	id, err := a.need(ref, "ref")
	if err != nil {
		return nil, err
	}
	bean, ok := l.beans[id]
	if !ok {
		return nil, a.errorf("there is no component %s in front of this", id)
	}
	fields, err := bean.fields("id", "className", "constructorArgs")
	if err != nil {
		return nil, err
	}
	class, err := bean.need(fields, "className")
	if err != nil {
		return nil, err
	}
	if class != fieldsClass {
		return nil, bean.errorf("component %s of class %s is Java", id, class)
	}
	args, err := fields["constructorArgs"].list()
	if err != nil {
		return nil, err
	}
	if len(args) == 1 && args[0].isList() {
		return args[0].strings()
	}
	return fields["constructorArgs"].strings()
}

// readInputs reads the inputs of a bolt in gust's lighter form.
func (l *loader) readInputs(v *vertex, a at) error {
	list, err := a.list()
	if err != nil {
		return err
	}
	for _, item := range list {
		fields, err := item.fields("from", "stream", "grouping", "fields")
		if err != nil {
			return err
		}
		s := stream{at: item, to: v.id, id: "default"}
		if s.from, err = item.need(fields, "from"); err != nil {
			return err
		}
		if id := fields["stream"]; !id.empty() {
			if s.id, err = id.string(); err != nil {
				return err
			}
		}
		names, err := fields["fields"].strings()
		if err != nil {
			return err
		}
		kind := "shuffle"
		if len(names) > 0 {
			kind = "fields"
		}
		if g := fields["grouping"]; !g.empty() {
			if kind, err = g.string(); err != nil {
				return err
			}
		}
		if s.grouping, err = item.grouping(kind, names); err != nil {
			return err
		}
		l.streams = append(l.streams, s)
	}
	return nil
}
