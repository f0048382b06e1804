// SPDX-License-Identifier: Apache-2.0

package javaobject

// This file reads class descriptors and the objects that follow them.

import "slices"

// class reads a class descriptor, which may be null.
func (r *reader) class() (*Class, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer func() { r.depth-- }()
	tag, err := r.byte()
	if err != nil {
		return nil, err
	}
	switch tag {
	case tcNull:
		return nil, nil //nolint:nilnil // a class without a super class
	case tcClassDesc, tcProxyClass:
		return r.newClass(tag)
	case tcReference:
		v, err := r.reference()
		if err != nil {
			return nil, err
		}
		c, ok := v.(*Class)
		if !ok {
			return nil, malformed("a %T in place of a class", v)
		}
		return c, nil
	default:
		return nil, malformed("type %#x in place of a class", tag)
	}
}

// needClass is class where there must be one.
func (r *reader) needClass() (*Class, error) {
	c, err := r.class()
	if err == nil && c == nil {
		return nil, malformed("no class")
	}
	return c, err
}

func (r *reader) newClass(tag byte) (*Class, error) {
	if tag == tcProxyClass {
		return r.newProxy()
	}
	name, err := r.name()
	if err != nil {
		return nil, err
	}
	version, err := r.take(8)
	if err != nil {
		return nil, err
	}
	c := &Class{Name: name, version: [8]byte(version)}
	r.remember(c)
	r.classes = append(r.classes, c)
	if c.flags, err = r.byte(); err != nil {
		return nil, err
	}
	n, err := r.uint16()
	if err != nil {
		return nil, err
	}
	for range n {
		f, err := r.newField()
		if err != nil {
			return nil, err
		}
		c.Fields = append(c.Fields, f)
	}
	return c, r.finish(c)
}

func (r *reader) newField() (Field, error) {
	if err := r.count(); err != nil {
		return Field{}, err
	}
	kind, err := r.byte()
	if err != nil {
		return Field{}, err
	}
	name, err := r.name()
	if err != nil {
		return Field{}, err
	}
	f := Field{Name: name, Type: kind}
	if kind == 'L' || kind == '[' {
		v, err := r.value()
		if err != nil {
			return Field{}, err
		}
		class, ok := v.(string)
		if !ok {
			return Field{}, malformed("a %T in place of a field's class", v)
		}
		f.class = class
	}
	return f, nil
}

// newProxy reads the class of a dynamic proxy, which has interfaces and no name.
func (r *reader) newProxy() (*Class, error) {
	c := &Class{Name: "a dynamic proxy", flags: scSerializable}
	r.remember(c)
	r.classes = append(r.classes, c)
	n, err := r.int32()
	if err != nil {
		return nil, err
	}
	if n < 0 || n > len(r.rest) {
		return nil, malformed("%d interfaces", n)
	}
	for range n {
		name, err := r.name()
		if err != nil {
			return nil, err
		}
		c.proxied = append(c.proxied, name)
	}
	return c, r.finish(c)
}

// finish reads the end of a descriptor: annotations and the super class.
func (r *reader) finish(c *Class) error {
	var err error
	if c.written, err = r.written(); err != nil {
		return err
	}
	super, err := r.class()
	if err != nil {
		return err
	}
	c.Super = super
	return checkChain(c)
}

// checkChain keeps a class from being its own super class: a descriptor may refer to one that is not finished.
func checkChain(c *Class) error {
	length := 0
	for ; c != nil; c = c.Super {
		if length++; length > maxChain {
			return malformed("a class below more than %d others", maxChain)
		}
	}
	return nil
}

func (r *reader) object() (any, error) {
	c, err := r.needClass()
	if err != nil {
		return nil, err
	}
	if err := checkChain(c); err != nil {
		return nil, err
	}
	o := &Object{Class: c}
	r.remember(o)
	for _, class := range slices.Backward(c.Chain()) {
		part, err := r.part(class)
		if err != nil {
			return nil, err
		}
		o.Parts = append(o.Parts, part)
	}
	return o, nil
}

func (r *reader) part(c *Class) (Part, error) {
	p := Part{Class: c}
	err := r.count()
	switch {
	case err != nil:
		return p, err
	case c.flags&scSerializable != 0:
		if p.Values, err = r.fields(c); err != nil || c.flags&scWriteMethod == 0 {
			return p, err
		}
	case c.flags&scExternalizable == 0:
		return p, nil
	case c.flags&scBlockData == 0:
		return p, malformed("a %s in a form of its own", c.Name)
	}
	p.Written, err = r.written()
	return p, err
}

// fields reads the fields of one class, in the order of the descriptor.
func (r *reader) fields(c *Class) (map[string]any, error) {
	out := make(map[string]any, min(len(c.Fields), len(r.rest)))
	for _, f := range c.Fields {
		v, err := r.field(f.Type)
		if err != nil {
			return nil, err
		}
		out[f.Name] = v
	}
	return out, nil
}

// written reads what a class wrote by itself, up to the mark of its end.
func (r *reader) written() ([]any, error) {
	var out []any
	for {
		if len(r.rest) == 0 {
			return nil, malformed("it ends too early")
		}
		var size int
		var err error
		switch tag := r.rest[0]; tag {
		case tcEndBlock:
			r.rest = r.rest[1:]
			return out, nil
		case tcBlock:
			if len(r.rest) < 2 {
				return nil, malformed("it ends too early")
			}
			size = int(r.rest[1])
			r.rest = r.rest[2:]
		case tcBlockLong:
			r.rest = r.rest[1:]
			if size, err = r.int32(); err != nil {
				return nil, err
			}
		default:
			v, err := r.value()
			if err != nil {
				return nil, err
			}
			out = append(out, v)
			if err := r.count(); err != nil {
				return nil, err
			}
			continue
		}
		if err := r.count(); err != nil {
			return nil, err
		}
		block, err := r.take(size)
		if err != nil {
			return nil, err
		}
		out = append(out, block)
	}
}
