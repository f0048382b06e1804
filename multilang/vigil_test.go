// SPDX-License-Identifier: Apache-2.0

package multilang

// This file tests when a reader watches its pipe.

import (
	"os"
	"testing"
	"time"
)

func TestVigilsAreBounded(t *testing.T) {
	t.Parallel()
	all := NewVigils(1)
	one, other := vigil{all: all, expect: true}, vigil{all: all, expect: true}
	if !one.begin() || other.begin() {
		t.Error("one watches, the other does not")
	}
	one.end(true)
	if other.begin() {
		t.Error("nothing is expected any more")
	}
	if other.expect = true; !other.begin() {
		t.Error("there is room again")
	}
	none := vigil{expect: true}
	if none.begin() {
		t.Error("there are none")
	}
}

func TestVigilGivesUpOnASlowChild(t *testing.T) {
	t.Parallel()
	v := vigil{all: NewVigils(1)}
	watched := func(hit bool) (n int) {
		for range 1000 {
			if v.expect = true; v.begin() {
				v.end(hit)
				n++
			}
		}
		return n
	}
	if n := watched(false); n < 5 || n > 25 {
		t.Errorf("watched %d times of 1000 for a child that was always too slow", n)
	}
	watched(true)
	if n := watched(true); n != 1000 {
		t.Errorf("watched %d times of 1000 for a child that was never too slow", n)
	}
}

func TestReaderWatchesAndSleeps(t *testing.T) {
	t.Parallel()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	v := vigil{all: NewVigils(1)}
	r, err := newPipeReader(in, &v)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 8)
	for _, late := range []time.Duration{0, 20 * vigilTime} {
		v.expect = true
		timer := time.AfterFunc(late, func() { _, _ = out.WriteString("x") })
		if n, err := r.Read(b); n != 1 || err != nil {
			t.Errorf("read %d bytes, %v", n, err)
		}
		timer.Stop()
		v.skip = 0
	}
	if v.missed == 0 {
		t.Error("a byte that came far too late was taken for one in time")
	}
	v.expect, v.skip = true, 0
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(b); err == nil {
		t.Error("no end")
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	v.expect, v.skip = true, 0
	if _, err := r.Read(b); err == nil {
		t.Error("read from a closed file")
	}
	if v.all.free.Load() != 1 {
		t.Error("a watch did not end")
	}
}
