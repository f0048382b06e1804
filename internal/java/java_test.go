// SPDX-License-Identifier: Apache-2.0

package java_test

import (
	"math"
	"testing"

	"github.com/gust-stream/gust/internal/java"
)

func TestStrings(t *testing.T) {
	t.Parallel()
	// Values printed by a JVM: "hello".hashCode(), "zwölf€😀".hashCode().
	for s, want := range map[string]int32{"": 0, "hello": 99162322, "zwölf€😀": -1026354788} {
		if got := int32(java.Hash(s)); got != want {
			t.Errorf("hash of %q is %d, want %d", s, got, want)
		}
	}
	if java.Compare("\uffee", "😀") <= 0 || java.Compare("a", "ab") >= 0 || java.Compare("b", "ab") <= 0 || java.Compare("ab", "ab") != 0 {
		t.Error("order of strings is not Java's")
	}
}

func TestBuckets(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]uint32{0: 16, 12: 16, 13: 32, 24: 32, 25: 64} {
		if got := java.Buckets(n); got != want {
			t.Errorf("%d entries have %d buckets, want %d", n, got, want)
		}
	}
	if got := java.Bucket(java.Hash("hello"), 16); got != 11 {
		t.Errorf("bucket %d", got)
	}
}

func TestDouble(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0.0", 768: "768.0", 0.5: "0.5", 1e7: "1.0E7", 1.25e-5: "1.25E-5", -3: "-3.0", 12345678.5: "1.23456785E7",
		math.Inf(1): "Infinity", math.Inf(-1): "-Infinity", math.Copysign(0, -1): "-0.0", math.MaxFloat64: "1.7976931348623157E308",
	} {
		if got := java.Double(v); got != want {
			t.Errorf("%g is %s, want %s", v, got, want)
		}
	}
	if got := java.Double(math.NaN()); got != "NaN" {
		t.Errorf("not a number is %s", got)
	}
}
