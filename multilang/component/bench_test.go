// SPDX-License-Identifier: Apache-2.0

package component

// This file measures children over pipes of the kernel.

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"
)

// BenchmarkBolt sends a bolt words with 100 unanswered at most, as a worker does; each is emitted again and acked.
func BenchmarkBolt(b *testing.B) {
	in, to, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	from, out, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		err := ServeBolt(b.Context(), &probe{execute: func(t *Tuple, o *Output) error {
			if err := o.Emit(t, t.Values[0], 1); err != nil {
				return err
			}
			o.Ack(t)
			return nil
		}}, Pipes{In: in, Out: out})
		_ = out.Close() // it has been read to the end
		ended <- err
	}()
	if _, err := fmt.Fprintf(to, handshakeOf+"\nend\n", b.TempDir()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	window := make(chan struct{}, 100)
	go func() {
		scanner := bufio.NewScanner(from)
		for scanner.Scan() {
			if bytes.HasPrefix(scanner.Bytes(), []byte(`{"command":"ack"`)) {
				<-window
			}
		}
		close(window)
	}()
	w := bufio.NewWriterSize(to, 64<<10)
	b.ResetTimer()
	for b.Loop() {
		select {
		case window <- struct{}{}:
		default:
			if err := w.Flush(); err != nil {
				b.Fatal(err)
			}
			window <- struct{}{}
		}
		_, _ = io.WriteString(w, word+"\nend\n") // Flush tells
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := to.Close(); err != nil {
		b.Fatal(err)
	}
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	for range window {
		// Until the last answer.
	}
	_ = from.Close() // only read
}
