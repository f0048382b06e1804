// SPDX-License-Identifier: Apache-2.0

package classfile

// This file looks at static initializers.

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Opcodes by name, and how many bytes follow those that are allowed in a harmless initializer.
const (
	ldc             = 18
	ldcWide         = 19
	ldcLong         = 20
	getStatic       = 178
	putStatic       = 179
	invokeVirtual   = 182
	invokeSpecial   = 183
	invokeStatic    = 184
	invokeInterface = 185
	newObject       = 187
	newObjects      = 189
)

// operands is how many bytes follow an instruction; ok is false for those that a harmless initializer does not need.
func operands(op byte) (n int, ok bool) {
	switch {
	case op <= 15, op >= 79 && op <= 95: // constants; stores into arrays; moves on the stack
		return 0, true
	case op == 177: // return
		return 0, true
	case op == 16, op == ldc, op == 188: // a byte as constant, a constant, an array of primitives
		return 1, true
	case op == 17, op == ldcWide, op == ldcLong, op == 154, op == 167: // a short as constant; the branches of an assertion's switch
		return 2, true
	case op >= getStatic && op <= putStatic, op >= invokeVirtual && op <= invokeStatic, op == newObject, op == newObjects, op == 192:
		return 2, true
	case op == invokeInterface:
		return 4, true
	default:
		return 0, false
	}
}

// harmless are the classes whose constructors and methods a harmless initializer may call: those that hold constants.
func harmless(class string) bool {
	return slices.Contains([]string{
		"java.lang.Object", "java.lang.String", "java.lang.Integer", "java.lang.Long", "java.lang.Double", "java.lang.Boolean",
		"java.util.HashMap", "java.util.LinkedHashMap", "java.util.TreeMap", "java.util.ArrayList", "java.util.HashSet",
		"java.util.Map", "java.util.List", "java.util.Set", "java.util.Arrays", "java.util.Collections",
		"org.apache.storm.tuple.Fields", "org.slf4j.LoggerFactory",
	}, class)
}

// OnlyConstants says whether the static initializer, if there is one, only makes constants: no code of the user's or of a library
// runs, and nothing outside the class is changed. Otherwise why tells what else it does.
func (c *Class) OnlyConstants() (ok bool, why string) {
	for _, m := range c.Methods {
		if m.Name != "<clinit>" {
			continue
		}
		if why := c.beyondConstants(m.Code); why != "" {
			return false, why
		}
	}
	return true, ""
}

func (c *Class) beyondConstants(code []byte) string {
	for len(code) > 0 {
		op := code[0]
		n, ok := operands(op)
		if !ok || len(code) < 1+n {
			return fmt.Sprintf("instruction %d", op)
		}
		if n == 1 && op == ldc {
			if why := c.beyond(op, uint16(code[1])); why != "" {
				return why
			}
		}
		if n >= 2 {
			if why := c.beyond(op, binary.BigEndian.Uint16(code[1:])); why != "" {
				return why
			}
		}
		code = code[1+n:]
	}
	return ""
}

// beyond looks at the constant that an instruction refers to.
func (c *Class) beyond(op byte, index uint16) string {
	switch op {
	case ldc, ldcWide, ldcLong:
		if int(index) >= len(c.pool) || c.pool[index].kind < integerConstant || c.pool[index].kind > stringConstant {
			return "a constant that code makes"
		}
	case newObject: // which runs the initializer of its class
		var r reader
		if class := c.className(&r, index); !harmless(class) {
			return "a new " + class
		}
	case getStatic, putStatic:
		if owner, name := c.member(index, fieldConstant); owner != c.Name {
			return fmt.Sprintf("field %s of %s", name, owner)
		}
	case invokeVirtual, invokeSpecial, invokeStatic, invokeInterface:
		owner, name := c.member(index, methodConstant)
		if owner == "" {
			owner, name = c.member(index, interfaceMethodConstant)
		}
		if owner == "java.lang.Class" && name == "desiredAssertionStatus" {
			return ""
		}
		if !harmless(owner) {
			return fmt.Sprintf("a call of %s in %s", name, owner)
		}
	}
	return ""
}

// member gives the class and the name of a field or method, both "" if index is none.
func (c *Class) member(index uint16, kind byte) (owner, name string) {
	var r reader
	m, ok := c.at(index, kind)
	if !ok {
		return "", ""
	}
	pair, ok := c.at(m.b, nameAndTypeConstant)
	if !ok {
		return "", ""
	}
	owner, name = c.className(&r, m.a), c.utf8(&r, pair.a)
	if r.err != nil {
		return "", ""
	}
	return owner, name
}
