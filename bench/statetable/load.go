// SPDX-License-Identifier: Apache-2.0

// This file makes the entries; StateSizes.java makes the same.

package main

import (
	"encoding/binary"
	"fmt"
)

// load makes entry i, in space that the caller gives.
type load struct {
	key, value func(to []byte, i uint64) []byte
}

// longest is more bytes than a key or value has.
const longest = 32

func newLoad(name string) (load, error) {
	switch name {
	case "numbers":
		return load{number, plain}, nil
	case "strings":
		return load{func(to []byte, i uint64) []byte { return letters(to, i, 16) }, plain}, nil
	case "words":
		return load{
			func(to []byte, i uint64) []byte { return letters(to, i, 8) },
			func(to []byte, i uint64) []byte { return binary.AppendUvarint(to, counter(i)) },
		}, nil
	case "words-kryo":
		return load{
			func(to []byte, i uint64) []byte { return kryoString(to, i, 8) },
			func(to []byte, i uint64) []byte { return kryoLong(to, counter(i)) },
		}, nil
	case "texts-kryo":
		return load{
			func(to []byte, i uint64) []byte { return kryoString(to, i, 8+int(i%17)) },
			kryoLong,
		}, nil
	}
	return load{}, fmt.Errorf("no load %q", name)
}

// scattered is a number of i in which no pattern is left.
func scattered(i uint64) uint64 { return i * 0x9E3779B97F4A7C15 }

func number(to []byte, i uint64) []byte { return binary.LittleEndian.AppendUint64(to, scattered(i)) }

func plain(to []byte, i uint64) []byte { return binary.LittleEndian.AppendUint64(to, i) }

// letters are n characters, of which the first 16 are different for each i; so are the first 8 below 2^32.
func letters(to []byte, i uint64, n int) []byte {
	const alphabet = "abcdefghijklmnop"
	x := scattered(i)
	for j := range n {
		to = append(to, alphabet[x>>(60-4*(j&15))&15])
	}
	return to
}

// counter is what has been counted for a word: most are small.
func counter(i uint64) uint64 { return i % 100 * (i % 100) / 50 }

// kryoString is a String of n characters in Kryo's coding: one byte for the class, the characters, the last one marked.
func kryoString(to []byte, i uint64, n int) []byte {
	to = letters(append(to, 3), i, n)
	to[len(to)-1] |= 0x80
	return to
}

// kryoLong is a Long in Kryo's coding: one byte for the class and seven bits a byte, zigzag.
func kryoLong(to []byte, i uint64) []byte { return binary.AppendVarint(append(to, 9), int64(i)) }
