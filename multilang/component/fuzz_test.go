// SPDX-License-Identifier: Apache-2.0

package component

// This file gives children anything at all.

import (
	"bytes"
	"fmt"
	"io"
	"testing"
)

// FuzzChild wants an end of every child whatever its parent wrote, and whole messages of it until then.
func FuzzChild(f *testing.F) {
	greeting := fmt.Sprintf(handshakeOf, "") + "\nend\n"
	f.Add(true, []byte(greeting+word+"\nend\n[1]\nend\n"))
	f.Add(false, []byte(greeting+"{\"command\":\"next\"}\nend\n"))
	f.Add(true, []byte{0x82, 0xa4, 'c', 'o', 'n', 'f', 0x80, 0xa7, 'c', 'o', 'n', 't', 'e', 'x', 't', 0x80, 0x81, 0xa5, 't', 'u', 'p', 'l', 'e', 0x90})
	f.Fuzz(func(t *testing.T, bolt bool, text []byte) {
		var out bytes.Buffer
		pipes := Pipes{In: io.NopCloser(bytes.NewReader(text)), Out: &out}
		if bolt {
			_ = ServeBolt(t.Context(), &probe{execute: relay}, pipes) // most inputs are errors
		} else {
			_ = ServeSpout(t.Context(), &talker{next: func(out *SpoutOutput) error { return out.EmitOn("late", 1, "v") }}, pipes) // so are these
		}
		if len(text) > 0 && text[0] < 0x80 && out.Len() > 0 && !bytes.HasSuffix(out.Bytes(), []byte("}\nend\n")) {
			t.Errorf("the child left half a message: %q", out.Bytes())
		}
	})
}
