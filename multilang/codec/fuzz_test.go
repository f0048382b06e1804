// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"testing"
)

// fuzz reads bytes as a stream of messages; whatever can be read is written, and read again as the same.
func fuzz(f *testing.F, format Format) {
	f.Helper()
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := NewReader(bytes.NewReader(stream), format, 1<<16)
		total := 0
		for {
			raw, err := r.Next()
			if err != nil {
				break
			}
			total += len(raw)
			w := NewWalker(format)
			w.Reset(raw)
			skipped := w.Skip() == nil && w.End() == nil
			v, err := Decode(raw, format)
			if err != nil {
				continue
			}
			if !skipped {
				t.Fatalf("%q can be read but not skipped", raw)
			}
			text, err := Append(nil, format, v)
			if err != nil {
				t.Fatalf("%q was read as what cannot be written: %v", raw, err)
			}
			again, err := Decode(text, format)
			if err != nil {
				t.Fatalf("%q was written as %q: %v", raw, text, err)
			}
			same(t, v, again)
		}
		if total > len(stream) {
			t.Fatalf("%d bytes of messages in %d", total, len(stream))
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"command":"emit","tuple":["a",1,2.5,null,{"k":[true]}],"anchors":["1"]}` + "\nend\n", "[1,2]\nend\n5\nend", "\"\\ud800\\u0041\xff\"\nend\n", "NaN\nend\n-Infinity\r\nend\r\n",
	} {
		f.Add([]byte(seed))
	}
	fuzz(f, JSON)
}

func FuzzMsgpack(f *testing.F) {
	for _, seed := range []string{"\x82\xa7command\xa4emit\xa5tuple\x93\xa1a\x01\xcb\x40\x04\x00\x00\x00\x00\x00\x00", "\xdf\xff\xff\xff\xff", "\xc1\xc7\x01\x02", "\x81\x01\x02\xcf\xff\xff\xff\xff\xff\xff\xff\xff"} {
		f.Add([]byte(seed))
	}
	fuzz(f, Msgpack)
}
