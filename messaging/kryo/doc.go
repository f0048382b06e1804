// SPDX-License-Identifier: Apache-2.0

// Package kryo writes and reads values as Storm's Java workers do: the part of Kryo 5.6.2 that Storm's own serializers use, with
// references off and registration required. It stands for Storm's KryoValuesSerializer and KryoValuesDeserializer. It knows no tuple
// header and no frame: that is package frame.
//
//	Go                                        Java
//	nil                                       null
//	bool, string, []byte                      Boolean, String, byte[]
//	int8, int16, int32, int64 and int         Byte, Short, Integer, Long
//	uint8, uint16, uint32, uint64 and uint    Short, Integer, Long, Long or BigInteger
//	float32, float64, tuple.Char, *big.Int    Float, Double, Character, BigInteger
//	[]any, other slices                       ArrayList
//	map[string]any, map[any]any, other maps   HashMap
//	tuple.Set                                 HashSet
//	tuple.DataPoint, tuple.TaskInfo           the classes of that name
//	NodeInfo, Status                          NodeInfo, BackPressureStatus
//
// What comes in has the first Go type of each line; ListDelegate, ArrayList and Values are []any, and a HashMap is a
// map[string]any if all its keys are strings. A lone surrogate of Java's is its three bytes of CESU-8 in Go, and the other way round.
package kryo
