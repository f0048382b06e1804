// SPDX-License-Identifier: Apache-2.0

// Fuzz tests: whatever a file or client sends, reading it ends with a conf or an error, and a conf that was read can be written.

package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":1.0,"b":[null,true,"x"],"c":{"d":-9223372036854775809}}`, `{"topology.workers":1e400}`, `{"a":"\u2028\ud800"}`, `[[[[`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		conf, err := ParseJSON(data)
		if err != nil {
			return
		}
		roundTrip(t, conf)
	})
}

func FuzzParseYAML(f *testing.F) {
	for _, s := range []string{
		"a: 1", "a: [yes, 010, 1:30, ~, .inf, '1']\nb: &x {c: d}\ne: {<<: *x}", "a: !!float 1", "- a", "a: |\n b", "? {a: b}\n: c", "a: *a",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		conf, err := ParseYAML(data)
		if err != nil {
			return
		}
		out, err := conf.JSON()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseJSON(out)
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		roundTrip(t, again)
	})
}

func FuzzParseOverride(f *testing.F) {
	for _, s := range []string{"k=[a,{b:'c'},1.]", "k={a:b,}", `k="a" b`, "k=1e999", "=", "k=[[[[{{{{a:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, option string) {
		k, v, err := ParseOverride(option)
		if err != nil {
			return
		}
		if _, err := (Conf{k: v}).JSON(); err != nil {
			t.Fatal(err)
		}
	})
}

// roundTrip writes and reads a conf, and runs over it all that must not fail on any conf.
func roundTrip(t *testing.T, conf Conf) {
	t.Helper()
	out, err := conf.JSON()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseJSON(out)
	if err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	if d := cmp.Diff(conf, again); d != "" {
		t.Fatal(d)
	}
	Redact(conf)
	for i := range keyTable { // every check meets every value, not only the one key that it guards
		s := &keyTable[i]
		for _, v := range conf {
			for _, d := range []dialect{fromJSON, fromYAML} {
				if err := s.validate(d, Conf{s.key: v}); err != nil && err.Error() == "" {
					t.Fatalf("%s: an empty text", s.key)
				}
			}
		}
	}
}
