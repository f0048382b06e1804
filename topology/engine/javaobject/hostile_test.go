// SPDX-License-Identifier: Apache-2.0

package javaobject_test

// Tests with streams that no Java wrote.

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/gust-stream/gust/topology/engine/javaobject"
)

const head = "\xac\xed\x00\x05"

// object is an object of a class without fields, whose super class is what follows.
func object(super string) string {
	return "sr\x00\x01A12345678\x02\x00\x00x" + super
}

func TestHostileStreams(t *testing.T) {
	t.Parallel()
	const array = "ur\x00\x02[B12345678\x02\x00\x00xp"
	for name, stream := range map[string]string{
		"Empty":             "",
		"NoStream":          "PK\x03\x04",
		"NoObject":          head + "t\x00\x01a",
		"Cut":               head + "sr\x00\x10A",
		"LongArray":         head + array + "\x7f\xff\xff\xff",
		"NegativeArray":     head + array + "\xff\xff\xff\xff",
		"LongString":        head + "\x7c\x7f\xff\xff\xff\xff\xff\xff\xff",
		"LongBlock":         head + "sr\x00\x01A12345678\x03\x00\x00\x7a\x7f\xff\xff\xff",
		"Reference":         head + "q\x00\x7e\x00\x07",
		"NegativeReference": head + "q\xff\xff\xff\xff",
		"OwnSuper":          head + object("q\x00\x7e\x00\x00"),
		"Exception":         head + "\x7b",
		"OwnForm":           head + "sr\x00\x01A12345678\x04\x00\x00xp",
		"Deep":              head + strings.Repeat("sr\x00\x01A12345678\x02\x00\x01L\x00\x01ft\x00\x01Xxp", 300),
		"DeepClasses":       head + "s" + strings.Repeat("r\x00\x01A12345678\x02\x00\x00x", 300),
		"ManyValues":        head + array[:5] + "L" + array[6:] + "\x00\x10\x00\x00" + strings.Repeat("p", 1<<20),
		"HalfCharacter":     head + object("p")[:2] + "\x00\x03\xed\xa0\x80",
		"TooLong":           head + strings.Repeat("p", javaobject.MaxSize),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, _, err := javaobject.Read([]byte(stream))
			if o != nil || !errors.Is(err, javaobject.ErrMalformed) {
				t.Errorf("got %v, %v", o, err)
			}
		})
	}
}

// TestCycles reads an object that holds itself.
func TestCycles(t *testing.T) {
	t.Parallel()
	stream := []byte(head + "sr\x00\x01A12345678\x02\x00\x01L\x00\x01ft\x00\x01Xxpq\x00\x7e\x00\x02")
	o, _, err := javaobject.Read(stream)
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := o.Value("A", "f"); v != any(o) {
		t.Errorf("it holds %v", v)
	}
	again, err := javaobject.Write(o)
	if err != nil || !bytes.Equal(stream, again) {
		t.Errorf("written as %q, %v", again, err)
	}
}
