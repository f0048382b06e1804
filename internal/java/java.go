// SPDX-License-Identifier: Apache-2.0

// Package java does a few things exactly as Java's own classes do them, because what Storm computes with those is seen from
// outside: [Compare] decides task ids, [Hash] and [Bucket] decide folders of blobs and choices between equal slots, [Double]
// stands in error texts and in stored confs.
//
// It is not a library of Java's classes: what only one package needs stays there. It stands for parts of java.lang.String,
// java.lang.Double and java.util.HashMap. The pure packages and config call it; it depends on nothing.
package java

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Compare orders strings by their UTF-16 units. That differs from the order of bytes only when a character beyond the 16-bit
// plane meets one of the last 8192 inside it.
func Compare(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] >= 0x80 || b[i] >= 0x80 {
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		}
		if a[i] != b[i] {
			return cmp.Compare(a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b))
}

// Hash is the hash code of a string, over UTF-16 units: the bits of Java's int.
func Hash(s string) uint32 {
	h := uint32(0)
	for i := range len(s) {
		if s[i] >= 0x80 {
			h = 0
			for _, unit := range utf16.Encode([]rune(s)) {
				h = 31*h + uint32(unit)
			}
			return h
		}
		h = 31*h + uint32(s[i])
	}
	return h
}

// Buckets is the number of buckets of a HashMap that n entries were put into one by one.
func Buckets(n int) uint32 {
	size := uint32(16)
	for n > int(size)/4*3 {
		size *= 2
	}
	return size
}

// Bucket is the one of so many buckets, a power of two, in which a HashMap keeps a key of that hash code. It walks them in
// ascending order.
func Bucket(hash, buckets uint32) uint32 { return (hash ^ hash>>16) & (buckets - 1) }

// Double prints f as Double.toString does (of JDK 19 and newer; older ones now and then print one digit more).
func Double(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case f == 0:
		if math.Signbit(f) {
			return "-0.0"
		}
		return "0.0"
	}
	if a := math.Abs(f); a >= 1e-3 && a < 1e7 {
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	e, err := strconv.Atoi(exponent)
	if err != nil { // FormatFloat always writes an integer there
		return mantissa
	}
	return mantissa + "E" + strconv.Itoa(e)
}
