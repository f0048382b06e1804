// SPDX-License-Identifier: Apache-2.0

package engine

// This file reads the one custom grouping that Go workers know.

import (
	"fmt"

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
