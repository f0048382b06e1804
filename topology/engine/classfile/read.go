// SPDX-License-Identifier: Apache-2.0

package classfile

// This file reads a class file.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// MaxSize is the size in bytes of the largest class file that is read.
const MaxSize = 4 << 20

// ErrMalformed is in the chain of every error about a class file.
var ErrMalformed = errors.New("not a class file")

// Class is what was read. Names have dots.
type Class struct {
	Name       string
	Super      string // "" for java.lang.Object
	Interfaces []string
	Methods    []Method
	pool       []constant
	names      map[uint16]string // of classes by index, each made once: a few bytes can refer to a long one
}

// Method is a method, constructor ("<init>") or static initializer ("<clinit>").
type Method struct {
	Name       string
	Descriptor string
	Code       []byte // nil if there is none
	Flags      uint16
}

// Kinds of constants.
const (
	utf8Constant                   = 1
	integerConstant                = 3
	floatConstant                  = 4
	longConstant                   = 5
	doubleConstant                 = 6
	classConstant                  = 7
	stringConstant                 = 8
	fieldConstant                  = 9
	methodConstant                 = 10
	interfaceMethodConstant        = 11
	nameAndTypeConstant            = 12
	methodHandleConstant           = 15
	methodTypeConstant             = 16
	dynamicConstant                = 17
	invokeDynamicConstant          = 18
	moduleConstant                 = 19
	packageConstant                = 20
	magic                   uint32 = 0xcafebabe
)

type constant struct {
	kind byte
	text string // of utf8
	a, b uint16 // indexes of other constants
}

type reader struct {
	rest []byte
	err  error
}

// Read reads a class file.
func Read(data []byte) (*Class, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("%w: %d bytes, more than the %d that are looked at", ErrMalformed, len(data), MaxSize)
	}
	r := &reader{rest: data}
	if r.uint32() != magic {
		return nil, fmt.Errorf("%w: it begins with something else", ErrMalformed)
	}
	r.skip(4) // version
	c := &Class{names: map[uint16]string{}}
	c.readPool(r)
	r.skip(2) // access flags
	c.Name = c.class(r)
	if super := r.uint16(); super != 0 {
		c.Super = c.className(r, super)
	}
	for range r.uint16() {
		if r.err != nil {
			break
		}
		c.Interfaces = append(c.Interfaces, c.class(r))
	}
	c.readMembers(r, func(uint16, string, string, []byte) {})
	c.readMembers(r, func(flags uint16, name, descriptor string, code []byte) {
		c.Methods = append(c.Methods, Method{Name: name, Descriptor: descriptor, Code: code, Flags: flags})
	})
	if r.err != nil {
		return nil, r.err
	}
	return c, nil
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrMalformed, what)
	}
}

func (r *reader) take(n uint32) []byte {
	if r.err != nil || uint64(n) > uint64(len(r.rest)) {
		r.fail("it ends too early")
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) skip(n uint32) { r.take(n) }

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (c *Class) readPool(r *reader) {
	n := r.uint16()
	c.pool = append(c.pool, constant{})
	for len(c.pool) < int(n) && r.err == nil {
		k := constant{kind: r.byte()}
		wide := false
		switch k.kind {
		case utf8Constant:
			k.text = string(r.take(uint32(r.uint16())))
		case integerConstant, floatConstant:
			r.skip(4)
		case longConstant, doubleConstant:
			r.skip(8)
			wide = true
		case classConstant, stringConstant, methodTypeConstant, moduleConstant, packageConstant:
			k.a = r.uint16()
		case fieldConstant, methodConstant, interfaceMethodConstant, nameAndTypeConstant, dynamicConstant, invokeDynamicConstant:
			k.a, k.b = r.uint16(), r.uint16()
		case methodHandleConstant:
			r.skip(3)
		default:
			r.fail(fmt.Sprintf("a constant of kind %d", k.kind))
		}
		c.pool = append(c.pool, k)
		if wide { // Java counts these twice
			c.pool = append(c.pool, constant{})
		}
	}
}

// at gives a constant if it is of that kind.
func (c *Class) at(index uint16, kind byte) (constant, bool) {
	if int(index) >= len(c.pool) || c.pool[index].kind != kind {
		return constant{}, false
	}
	return c.pool[index], true
}

func (c *Class) utf8(r *reader, index uint16) string {
	k, ok := c.at(index, utf8Constant)
	if !ok {
		r.fail("a name that is none")
	}
	return k.text
}

func (c *Class) class(r *reader) string { return c.className(r, r.uint16()) }

func (c *Class) className(r *reader, index uint16) string {
	if name, ok := c.names[index]; ok {
		return name
	}
	k, ok := c.at(index, classConstant)
	if !ok {
		r.fail("a class that is none")
		return ""
	}
	c.names[index] = strings.ReplaceAll(c.utf8(r, k.a), "/", ".")
	return c.names[index]
}

// readMembers reads fields or methods.
func (c *Class) readMembers(r *reader, add func(flags uint16, name, descriptor string, code []byte)) {
	for range r.uint16() {
		if r.err != nil {
			return
		}
		flags, name, descriptor := r.uint16(), c.utf8(r, r.uint16()), ""
		descriptor = c.utf8(r, r.uint16())
		var code []byte
		for range r.uint16() {
			if r.err != nil {
				return
			}
			attribute := c.utf8(r, r.uint16())
			body := &reader{rest: r.take(r.uint32())}
			if attribute != "Code" || r.err != nil {
				continue
			}
			body.skip(4) // sizes of stack and locals
			code = body.take(body.uint32())
			if code == nil {
				r.fail("a method whose code ends too early")
			}
		}
		add(flags, name, descriptor, code)
	}
}
