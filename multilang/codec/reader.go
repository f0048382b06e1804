// SPDX-License-Identifier: Apache-2.0

package codec

// This file finds the ends of messages in a stream of bytes.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	readSize = 64 << 10
	// keepSize is the largest buffer that is kept after a long message, and how much output that is no message is gathered.
	keepSize = 1 << 20
)

// TooLongError says that a message is longer than the bound.
type TooLongError struct {
	Max int
	// Start is how the message begins.
	Start string
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("a message of more than %d bytes, which begins with %q", e.Max, e.Start)
}

// Reader splits a stream into messages. It is for one goroutine.
type Reader struct {
	src    io.Reader
	format Format
	max    int
	buf    []byte
	from   int   // where the next message begins
	to     int   // where what was read ends
	seen   int   // JSON: where its last known line begins, msgpack: where its last known value ends; both behind from
	looked int   // JSON: how far behind from there is no end of a line
	values int64 // msgpack: how many values are still to come
	err    error
}

// NewReader makes a reader of messages of up to so many bytes.
func NewReader(src io.Reader, f Format, maxBytes int) *Reader {
	return &Reader{src: src, format: f, max: maxBytes, buf: make([]byte, readSize), values: 1}
}

// Next gives the next message, good until the next call. io.EOF is the end between messages, io.ErrUnexpectedEOF one within; Rest then
// has what was read of it. Other errors are *TooLongError or the stream's. Of long output that cannot be a message in JSON it gives a part.
func (r *Reader) Next() ([]byte, error) {
	for {
		if raw, ok := r.cut(); ok {
			return raw, nil
		}
		if raw, ok := r.noise(); ok {
			return raw, nil
		}
		if r.to-r.from > r.max {
			return nil, &TooLongError{r.max, string(r.Rest()[:min(r.to-r.from, excerptLength)])}
		}
		if r.err != nil {
			return r.last()
		}
		r.fill()
	}
}

// Ready says whether a whole message was read already, so that Next does not wait.
func (r *Reader) Ready() bool {
	_, ok := r.find()
	return ok
}

// Rest is what was read behind the last message.
func (r *Reader) Rest() []byte { return r.buf[r.from:r.to] }

// fill reads once, into a buffer that has room.
func (r *Reader) fill() {
	switch {
	case r.from == r.to:
		r.from, r.to = 0, 0
		if len(r.buf) > keepSize {
			r.buf = make([]byte, readSize)
		}
	case r.from > 0 && r.to == len(r.buf):
		r.to = copy(r.buf, r.buf[r.from:r.to])
		r.from = 0
	}
	if r.to == len(r.buf) {
		larger := make([]byte, min(2*len(r.buf), max(r.max, len(r.buf))+readSize))
		copy(larger, r.buf)
		r.buf = larger
	}
	n, err := r.src.Read(r.buf[r.to:])
	r.to += n
	r.err = err
}

// last says how the stream ended. A last "end" may lack its line's end.
func (r *Reader) last() ([]byte, error) {
	rest := r.Rest()
	if !errors.Is(r.err, io.EOF) {
		return nil, r.err
	}
	if r.format == JSON {
		if body, ok := bytes.CutSuffix(rest, []byte("end")); ok && (len(body) == 0 || body[len(body)-1] == '\n') {
			r.from = r.to
			return body, nil
		}
		if len(bytes.TrimSpace(rest)) == 0 {
			return nil, io.EOF
		}
	}
	if len(rest) == 0 {
		return nil, io.EOF
	}
	return nil, io.ErrUnexpectedEOF
}

// cut takes the next message off if it is whole.
func (r *Reader) cut() ([]byte, bool) {
	n, ok := r.find()
	if !ok {
		return nil, false
	}
	raw := r.buf[r.from : r.from+n]
	r.from += n
	r.seen, r.looked, r.values = 0, 0, 1
	if r.format == JSON {
		raw = raw[:bytes.LastIndexByte(raw[:len(raw)-1], '\n')+1]
	}
	return raw, true
}

// noise cuts off what cannot become a message once there is much of it: the lines in front of the first brace.
func (r *Reader) noise() ([]byte, bool) {
	if r.format != JSON || r.to-r.from <= keepSize {
		return nil, false
	}
	rest := r.Rest()
	brace := bytes.IndexByte(rest, '{')
	if brace >= 0 {
		rest = rest[:brace]
	}
	n := bytes.LastIndexByte(rest, '\n') + 1
	if n == 0 && brace < 0 {
		n = len(rest)
	}
	if n == 0 {
		return nil, false
	}
	r.from += n
	r.seen, r.looked = 0, 0
	return rest[:n], true
}

// find gives the length of the next message with its end, if it is whole, and notes how far it looked.
func (r *Reader) find() (int, bool) {
	if r.format == Msgpack {
		return r.findMsgpack()
	}
	rest := r.Rest()
	for r.seen < len(rest) { // seen is the beginning of a line here
		from := max(r.seen, r.looked)
		line := bytes.IndexByte(rest[from:], '\n')
		if line < 0 {
			r.looked = len(rest)
			return 0, false
		}
		next := from + line + 1
		if isEnd(rest[r.seen:next]) {
			return next, true
		}
		r.seen = next
	}
	return 0, false
}

// isEnd takes a line that ends as Windows does it too, as Storm.
func isEnd(line []byte) bool {
	return string(line) == "end\n" || string(line) == "end\r\n"
}

func (r *Reader) findMsgpack() (int, bool) {
	rest := r.Rest()
	for r.values > 0 {
		if r.seen >= len(rest) {
			return 0, false
		}
		h := headOf(rest[r.seen])
		if len(rest)-r.seen-1 < h.bytes {
			return 0, false
		}
		n := h.n
		if h.bytes > 0 {
			n = int64(bigEndian(rest[r.seen+1:r.seen+1+h.bytes]) & (1<<32 - 1)) // lengths have 32 bits at most
		}
		size, values := h.payload(n)
		if size > int64(len(rest)-r.seen-1-h.bytes) {
			return 0, false
		}
		r.seen += 1 + h.bytes + int(size)
		r.values += values - 1
	}
	return r.seen, true
}
