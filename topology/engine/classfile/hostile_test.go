// SPDX-License-Identifier: Apache-2.0

package classfile_test

// Tests with class files that no compiler wrote. The engine's own tests use real ones.

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/gust-stream/gust/topology/engine/classfile"
)

const head = "\xca\xfe\xba\xbe\x00\x00\x00\x37"

// pool has a class "A" (2), of name (1), "Code" (3) and a very long name (4).
func pool() string {
	return "\x00\x05" + "\x01\x00\x01A" + "\x07\x00\x01" + "\x01\x00\x04Code" + "\x01\xff\xff" + strings.Repeat("x", 0xffff)
}

func TestHostileClasses(t *testing.T) {
	t.Parallel()
	self := "\x00\x21\x00\x02\x00\x02"
	for name, file := range map[string]string{
		"Empty":          "",
		"Other":          "PK\x03\x04",
		"CutPool":        head + "\xff\xff\x01\x00\x01A",
		"UnknownKind":    head + "\x00\x02\x63\x00\x00",
		"NoName":         head + pool() + "\x00\x21\x00\x01\x00\x02",
		"BeyondPool":     head + pool() + "\x00\x21\x00\x77\x00\x02",
		"ManyInterfaces": head + pool() + self + "\xff\xff",
		"ManyMethods":    head + pool() + self + "\x00\x00\x00\x00\xff\xff",
		"LongCode": head + pool() + self + "\x00\x00\x00\x00\x00\x01" + "\x00\x09\x00\x01\x00\x01\x00\x01" +
			"\x00\x03\x00\x00\x00\x08\x00\x00\x00\x00\x7f\xff\xff\xff",
		"LongAttribute": head + pool() + self + "\x00\x00\x00\x00\x00\x01" + "\x00\x09\x00\x01\x00\x01\x00\x01" + "\x00\x03\x7f\xff\xff\xff",
		"TooLong":       head + strings.Repeat("x", classfile.MaxSize),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c, err := classfile.Read([]byte(file)); c != nil || !errors.Is(err, classfile.ErrMalformed) {
				t.Errorf("got %v, %v", c, err)
			}
		})
	}
}

// TestLongNamesAreSharedAmongMethods has sixty thousand methods of one long name.
func TestLongNamesAreSharedAmongMethods(t *testing.T) {
	file := head + pool() + "\x00\x21\x00\x02\x00\x02\x00\x00\x00\x00\xf0\x00" + strings.Repeat("\x00\x09\x00\x04\x00\x04\x00\x00", 0xf000) + "\x00\x00"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c, err := classfile.Read([]byte(file))
	runtime.ReadMemStats(&after)
	if err != nil || len(c.Methods) != 0xf000 {
		t.Fatalf("%v, %v", c, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 100<<20 {
		t.Errorf("reading %d bytes takes %d", len(file), used)
	}
}
