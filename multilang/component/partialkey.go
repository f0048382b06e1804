// SPDX-License-Identifier: Apache-2.0

package component

// This file writes the one object of Java that a topology can hold: Storm has no name for its partial key grouping but the class.

import "encoding/binary"

// javaStream writes Java's object serialization. Descriptions of classes are written out each time, which readers take like
// references to earlier ones; the few references that it needs lie before anything of variable length.
type javaStream struct{ b []byte }

// Marks of the serialization format.
const (
	javaReference = "q\x00\x7e\x00"
	javaHasMethod = 3 // the class writes data of its own behind its fields
	javaPlain     = 2
)

func (s *javaStream) text(text string) {
	s.b = append(binary.BigEndian.AppendUint16(s.b, uint16(len(text))), text...)
}

func (s *javaStream) int(n int) { s.b = binary.BigEndian.AppendUint32(s.b, uint32(n)) } //nolint:gosec // small

// object opens an object: fields are its type code, name and, for objects, the type as it is on the wire.
func (s *javaStream) object(class string, uid uint64, flags byte, fields ...[3]string) {
	s.b = append(s.b, 's')
	s.class(class, uid, flags, fields...)
	s.b = append(s.b, 'p') // no superclass that is written
}

func (s *javaStream) class(class string, uid uint64, flags byte, fields ...[3]string) {
	s.b = append(s.b, 'r')
	s.text(class)
	s.b = append(binary.BigEndian.AppendUint64(s.b, uid), flags)
	s.b = binary.BigEndian.AppendUint16(s.b, uint16(len(fields)))
	for _, f := range fields {
		s.b = append(s.b, f[0]...)
		s.text(f[1])
		s.b = append(s.b, f[2]...)
	}
	s.b = append(s.b, 'x') // no annotations
}

// javaType is the name of a field's class, written for the first time.
func javaType(name string) string {
	var s javaStream
	s.b = append(s.b, 't')
	s.text(name)
	return string(s.b)
}

// hashMap opens a map of so many pairs, which 'x' ends.
func (s *javaStream) hashMap(pairs int) {
	s.object("java.util.HashMap", 0x0507dac1c31660d1, javaHasMethod, [3]string{"F", "loadFactor"}, [3]string{"I", "threshold"})
	s.b = append(s.b, "\x3f\x40\x00\x00"...) // 0.75
	s.int(0)
	s.b = append(s.b, 'w', 8)
	s.int(16)
	s.int(pairs)
}

// partialKey is org.apache.storm.grouping.PartialKeyGrouping over fields, as Storm 2 has it.
func partialKey(fields []string) []byte {
	const grouping = "org.apache.storm.grouping.PartialKeyGrouping"
	const path = "Lorg/apache/storm/grouping/PartialKeyGrouping$"
	s := javaStream{b: []byte{0xac, 0xed, 0, 5}}
	s.object(grouping, 0xe8ca94eb892f55c0, javaPlain,
		[3]string{"L", "assignmentCreator", javaType(path + "AssignmentCreator;")},
		[3]string{"L", "fields", javaType("Lorg/apache/storm/tuple/Fields;")},
		[3]string{"L", "outFields", javaReference + "\x02"},
		[3]string{"L", "targetSelector", javaType(path + "TargetSelector;")},
		[3]string{"L", "targetTasks", javaType("Ljava/util/List;")})
	s.object(grouping+"$RandomTwoTaskAssignmentCreator", 0xe9d5ac079bbbd5fa, javaPlain)
	s.object("org.apache.storm.tuple.Fields", 0xd11f2ce2c2edfb00, javaPlain,
		[3]string{"L", "fields", javaReference + "\x04"}, [3]string{"L", "index", javaType("Ljava/util/Map;")})
	s.object("java.util.ArrayList", 0x7881d21d99c7619d, javaHasMethod, [3]string{"I", "size"})
	s.int(len(fields))
	s.b = append(s.b, 'w', 4)
	s.int(len(fields))
	for _, name := range fields {
		s.b = append(s.b, javaType(name)...)
	}
	s.b = append(s.b, 'x')
	s.hashMap(len(fields))
	for i, name := range fields {
		s.b = append(append(s.b, javaType(name)...), 's')
		s.class("java.lang.Integer", 0x12e2a0a4f7818738, javaPlain, [3]string{"I", "value"})
		s.class("java.lang.Number", 0x86ac951d0b94e08b, javaPlain)
		s.b = append(s.b, 'p')
		s.int(i)
	}
	s.b = append(s.b, 'x', 'p') // and no outFields
	s.object(grouping+"$BalancedTargetSelector", 0x590faffd990c4335, javaPlain,
		[3]string{"L", "targetTaskStats", javaReference + "\x09"})
	s.hashMap(0)
	return append(s.b, 'x', 'p') // and no targetTasks
}
