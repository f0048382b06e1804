// SPDX-License-Identifier: Apache-2.0

package javaobject

// This file holds what a stream is read into.

// Class is a class descriptor.
type Class struct {
	Name   string // with dots; an array's as Java spells it, "[Ljava.lang.String;"
	Super  *Class // the next serializable class above, nil if there is none
	Fields []Field

	flags   byte
	version [8]byte
	written []any // what annotates it
	proxied []string
}

// Field is a field of a class.
type Field struct {
	Name string
	Type byte // as in Java's descriptors: B C D F I J S Z, L for an object, [ for an array
	// class is the descriptor of what an object's field may hold.
	class string
}

// Chain lists a class and the serializable classes above it.
func (c *Class) Chain() []*Class {
	var out []*Class
	for ; c != nil; c = c.Super {
		out = append(out, c)
	}
	return out
}

// Object is an instance of a class.
type Object struct {
	Class *Class
	Parts []Part // one for each class of the chain, the topmost first
}

// Part is what one class of the chain has of an object.
type Part struct {
	Class *Class
	// Values are nil, bool, int8, uint16 (char), int16, int32, int64, float32, float64, string, *Object, *Array, *Enum or *Class.
	Values map[string]any
	// Written is what the class wrote by itself: []byte for primitive data, else as in Values.
	Written []any
}

// Array is an array of objects or primitives.
type Array struct {
	Class  *Class
	Values []any
}

// Enum is a constant of an enumeration.
type Enum struct {
	Class *Class
	Name  string
}

// Value is a field of the named class in an object, and whether it is there.
func (o *Object) Value(class, field string) (any, bool) {
	p := o.Part(class)
	if p == nil {
		return nil, false
	}
	v, ok := p.Values[field]
	return v, ok
}

// Part is what the named class has of an object, nil if it is not one of the object's classes.
func (o *Object) Part(class string) *Part {
	for i := range o.Parts {
		if o.Parts[i].Class.Name == class {
			return &o.Parts[i]
		}
	}
	return nil
}
