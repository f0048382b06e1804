// SPDX-License-Identifier: Apache-2.0

package component

// This file writes a child's messages.

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/gust-stream/gust/multilang/codec"
)

const (
	// flushAt is how many bytes are gathered at most, flushAfter how long at most while the component is busy.
	flushAt    = 64 << 10
	flushAfter = 2 * time.Millisecond
)

// writer gathers messages for the parent and sends them when nothing is left to do, when there are many, or after a moment. A message is
// written with begin, its fields and end, by one goroutine.
type writer struct {
	format codec.Format // set before the first message
	wake   chan struct{}

	mu    sync.Mutex // held from begin to end too
	to    io.Writer
	buf   []byte
	err   error // of the pipe; it stays
	start int   // of the message being written
	count int   // its fields so far
	bad   error // why it cannot be written
}

func newWriter(to io.Writer) *writer {
	return &writer{to: to, buf: make([]byte, 0, 2*flushAt), wake: make(chan struct{}, 1)}
}

func (w *writer) begin(command string) {
	w.mu.Lock()
	w.start, w.count, w.bad = len(w.buf), 0, nil
	w.buf = append(w.buf, '{') // msgpack's mark of a map has the number of fields in it, so it comes with the end
	if command != "" {
		w.text("command", command)
	}
}

func (w *writer) key(name string) {
	if w.format == codec.JSON && w.count > 0 {
		w.buf = append(w.buf, ',')
	}
	w.count++
	w.quoted(name)
	if w.format == codec.JSON {
		w.buf = append(w.buf, ':')
	}
}

// quoted writes a string. An error is kept for the end.
func (w *writer) quoted(s string) {
	if buf, err := codec.AppendString(w.buf, w.format, s); err == nil {
		w.buf = buf
	} else if w.bad == nil {
		w.bad = err
	}
}

func (w *writer) text(name, value string) {
	w.key(name)
	w.quoted(value)
}

func (w *writer) value(name string, value any) {
	w.key(name)
	if buf, err := codec.Append(w.buf, w.format, value); err == nil {
		w.buf = buf
	} else if w.bad == nil {
		w.bad = fmt.Errorf("%s: %w", name, err)
	}
}

// end sends the message. One that could not be written is an error and leaves no trace.
func (w *writer) end() error {
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		w.buf = w.buf[:0]
		return w.err
	case w.bad != nil:
		w.buf = w.buf[:w.start]
		return w.bad
	}
	if w.format == codec.JSON {
		w.buf = append(w.buf, '}')
	} else {
		w.buf[w.start] = 0x80 | byte(w.count)
	}
	w.buf = codec.End(w.buf, w.format)
	if len(w.buf) >= flushAt {
		return w.flushLocked()
	}
	if w.start == 0 {
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
