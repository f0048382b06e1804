// SPDX-License-Identifier: Apache-2.0

package component

// This file is the wire of a child: framed messages in, framed messages out.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// maxMessage bounds one message of the parent.
	maxMessage = 512 << 20
	// flushAt is how many bytes are gathered at most, flushAfter how long at most while the component is busy.
	flushAt    = 64 << 10
	flushAfter = 2 * time.Millisecond
)

// errTooLong is a message above maxMessage.
var errTooLong = errors.New("message of the parent is longer than 512 MiB")

// reader takes messages off the parent's pipe.
type reader struct {
	in  *bufio.Reader
	msg []byte
}

// next gives one message: map[string]any, or []any for task ids. io.EOF is the end between two messages, io.ErrUnexpectedEOF one within.
func (r *reader) next() (any, error) {
	r.msg = r.msg[:0]
	start := 0 // of the line
	for {
		part, err := r.in.ReadSlice('\n')
		if len(r.msg)+len(part) > maxMessage {
			return nil, errTooLong
		}
		r.msg = append(r.msg, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(r.msg)) > 0:
			return nil, fmt.Errorf("parent ended within a message, after %q: %w", excerpt(r.msg), io.ErrUnexpectedEOF)
		case err != nil:
			return nil, err
		}
		if string(bytes.TrimRight(r.msg[start:], "\r\n")) == "end" {
			return decodeJSON(r.msg[:start])
		}
		start = len(r.msg)
	}
}

func decodeJSON(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("message of the parent %q: %w", excerpt(text), err)
	}
	return plain(v), nil
}

// plain turns json.Number into int64, or float64 where it is not whole or beyond 64 bits.
func plain(v any) any {
	switch x := v.(type) {
	case json.Number:
		if n, err := x.Int64(); err == nil {
			return n
		}
		f, _ := x.Float64() //nolint:errcheck // out of range gives infinity, which is the nearest that there is
		return f
	case []any:
		for i := range x {
			x[i] = plain(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = plain(x[k])
		}
	}
	return v
}

func excerpt(text []byte) []byte {
	const most = 200
	if len(text) > most {
		return text[:most]
	}
	return text
}

// writer gathers messages for the parent and sends them when nothing is left to do, when there are many, or after a moment.
type writer struct {
	mu   sync.Mutex
	to   io.Writer
	buf  []byte
	err  error         // sticky
	wake chan struct{} // something is in an empty buffer
}

func newWriter(to io.Writer) *writer {
	return &writer{to: to, buf: make([]byte, 0, 2*flushAt), wake: make(chan struct{}, 1)}
}

// send adds a message. What cannot be encoded is an error and leaves no trace.
func (w *writer) send(m message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	before := len(w.buf)
	buf, err := m.appendJSON(w.buf)
	if err != nil {
		return err
	}
	w.buf = append(buf, "\nend\n"...)
	if len(w.buf) >= flushAt {
		return w.flushLocked()
	}
	if before == 0 {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

func (w *writer) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flushLocked()
}

func (w *writer) flushLocked() error {
	if w.err != nil || len(w.buf) == 0 {
		return w.err
	}
	if _, err := w.to.Write(w.buf); err != nil {
		w.err = fmt.Errorf("write to the parent: %w", err)
	}
	w.buf = w.buf[:0]
	if cap(w.buf) > 16*flushAt { // one huge tuple does not stay
		w.buf = make([]byte, 0, 2*flushAt)
	}
	return w.err
}

// run sends what a busy component leaves lying, until done is closed.
func (w *writer) run(done <-chan struct{}) {
	timer := time.NewTimer(flushAfter)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-w.wake:
		}
		timer.Reset(flushAfter)
		select {
		case <-done:
			return
		case <-timer.C:
			_ = w.flush() // the error stays, the loop sees it
		}
	}
}
