// SPDX-License-Identifier: Apache-2.0

package engine

// This file reads the one custom grouping that Go workers know.

import (
	_ "embed" // the objects that Java made
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/gust-stream/gust/thrift/storm"
	"github.com/gust-stream/gust/topology/engine/javaobject"
)

const partialKey = "org.apache.storm.grouping.PartialKeyGrouping"

// PartialKeyFields reads a Grouping's custom_serialized if it is Storm's PartialKeyGrouping with its own choice of tasks. fields are
// those that it groups by, nil for all of the tuple; another grouping is an error that names its class.
func PartialKeyFields(object []byte) (fields []string, err error) {
	top, err := javaobject.ReadClass(object)
	if err != nil {
		return nil, fmt.Errorf("custom grouping: %w", err)
	}
	if top.Name != partialKey {
		return nil, fmt.Errorf("custom grouping of class %s", top.Name)
	}
	o, _, err := javaobject.Read(object)
	if err != nil {
		return nil, fmt.Errorf("custom grouping of class %s: %w", top.Name, err)
	}
	for field, class := range map[string]string{
		"assignmentCreator": partialKey + "$RandomTwoTaskAssignmentCreator", "targetSelector": partialKey + "$BalancedTargetSelector",
	} {
		v, _ := o.Value(partialKey, field)
		if part, ok := v.(*javaobject.Object); !ok || part.Class.Name != class {
			return nil, fmt.Errorf("custom grouping of class %s with %s for its %s", partialKey, describe(v), field)
		}
	}
	v, _ := o.Value(partialKey, "fields")
	if v == nil {
		return nil, nil
	}
	holder, ok := v.(*javaobject.Object)
	if !ok {
		return nil, fmt.Errorf("custom grouping of class %s with %s for its fields", partialKey, describe(v))
	}
	list, _ := holder.Value("org.apache.storm.tuple.Fields", "fields")
	names, ok := list.(*javaobject.Object)
	if !ok {
		return nil, fmt.Errorf("custom grouping of class %s with %s for its fields", partialKey, describe(list))
	}
	part := names.Part("java.util.ArrayList")
	if part == nil || len(part.Written) == 0 {
		return nil, fmt.Errorf("custom grouping of class %s with %s for its fields", partialKey, describe(list))
	}
	fields, err = stringsOf(part.Written[1:]) // after a block with the capacity
	if err != nil {
		return nil, fmt.Errorf("custom grouping of class %s: its fields: %w", partialKey, err)
	}
	return fields, nil
}

// foreign gives what keeps the sender of a stream on Java because of how it is grouped, "" if nothing does.
func foreign(g *storm.Grouping) string {
	switch {
	case g == nil:
		return ""
	case g.CustomSerialized != nil:
		if _, err := PartialKeyFields(g.CustomSerialized); err != nil {
			return err.Error()
		}
		return ""
	case g.CustomObject != nil:
		return "custom grouping of class " + g.CustomObject.FullClassName
	default:
		return ""
	}
}

// What Java makes of new PartialKeyGrouping(new Fields("a", "b")) and of one without fields.
var (
	//go:embed objects/PartialKeyGrouping.ser
	partialKeyObject []byte
	//go:embed objects/PartialKeyGroupingAll.ser
	partialKeyAllObject []byte
)

// PartialKeyGrouping gives a Grouping's custom_serialized that groups by fields, by all of the tuple if there are none.
func PartialKeyGrouping(fields []string) ([]byte, error) {
	if len(fields) == 0 {
		return partialKeyAllObject, nil
	}
	o, _, err := javaobject.Read(partialKeyObject)
	if err != nil {
		return nil, fmt.Errorf("serialized %s: %w", partialKey, err)
	}
	v, _ := o.Value(partialKey, "fields")
	holder, ok := v.(*javaobject.Object)
	if !ok {
		return nil, fmt.Errorf("serialized %s has no fields", partialKey)
	}
	values := holder.Part("org.apache.storm.tuple.Fields").Values
	list, ok := values["fields"].(*javaobject.Object)
	index, also := values["index"].(*javaobject.Object)
	if !ok || !also {
		return nil, fmt.Errorf("serialized %s has no fields", partialKey)
	}
	n := binary.BigEndian.AppendUint32(nil, uint32(len(fields))) //nolint:gosec // far below 4 billion
	names, places := list.Part("java.util.ArrayList"), index.Part("java.util.HashMap")
	place, ok := places.Written[2].(*javaobject.Object) // after a block and the first key
	if !ok {
		return nil, fmt.Errorf("serialized %s has no index", partialKey)
	}
	names.Values["size"] = int32(len(fields)) //nolint:gosec // far below 4 billion
	names.Written = []any{n}
	places.Written = []any{append([]byte{0, 0, 0, 16}, n...)}
	for i, field := range fields {
		number := &javaobject.Object{Class: place.Class, Parts: slices.Clone(place.Parts)}
		last := &number.Parts[len(number.Parts)-1]
		last.Values = map[string]any{"value": int32(i)} //nolint:gosec // far below 4 billion
		names.Written = append(names.Written, field)
		places.Written = append(places.Written, field, number)
	}
	return javaobject.Write(o)
}
