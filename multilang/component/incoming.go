// SPDX-License-Identifier: Apache-2.0

package component

// This file reads the parent's messages.

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/gust-stream/gust/multilang/codec"
)

// maxMessage bounds one message of the parent.
const maxMessage = 512 << 20

// incoming is one message of the parent behind the handshake, by what it holds.
type incoming struct {
	ids []any // of tasks; nil if it is another kind of message
	// A tuple or a command. Of a tuple values is not nil.
	command           string
	id                any
	component, stream string
	task              any
	values            []any
	// bad says that a text was not UTF-8.
	bad error
	// raw is the beginning of a message that is none of these.
	raw string
}

// reader takes messages off the parent's pipe.
type reader struct {
	format  codec.Format
	in      *codec.Reader
	walker  codec.Walker
	strings map[string]string // names of components and streams, which are always the same
}

// first reads the handshake and finds the format by how it begins: JSON with a brace or white space, msgpack with the mark of a map.
func (r *reader) first(in io.Reader) (map[string]any, error) {
	head := bufio.NewReader(in)
	b, err := head.Peek(1)
	if err != nil {
		return nil, err
	}
	if b[0] >= 0x80 {
		r.format = codec.Msgpack
	}
	r.in, r.walker, r.strings = codec.NewReader(head, r.format, maxMessage), codec.NewWalker(r.format), map[string]string{}
	raw, err := r.next()
	if err != nil {
		return nil, err
	}
	v, err := codec.Decode(raw, r.format)
	if err != nil {
		return nil, fmt.Errorf("the parent's first message %q: %w", excerpt(raw), err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the parent's first message is %q", excerpt(raw))
	}
	return m, nil
}

func (r *reader) next() ([]byte, error) {
	raw, err := r.in.Next()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("the parent ended within a message, after %q: %w", excerpt(r.in.Rest()), err)
	}
	return raw, err
}

// message reads one message. io.EOF is the end between two messages.
func (r *reader) message() (incoming, error) {
	raw, err := r.next()
	if err != nil {
		return incoming{}, err
	}
	m, err := r.parse(raw)
	if err != nil {
		return incoming{}, fmt.Errorf("message of the parent %q: %w", excerpt(raw), err)
	}
	m.bad = r.walker.Bad()
	if m.ids == nil && m.values == nil && m.command == "" {
		m.raw = string(excerpt(raw))
	}
	return m, nil
}

func (r *reader) parse(raw []byte) (m incoming, err error) {
	w := r.walker
	w.Reset(raw)
	if w.Peek() != codec.Map {
		v, err := w.Value()
		if err == nil {
			err = w.End()
		}
		m.ids, _ = v.([]any)
		return m, err
	}
	if err := w.Map(); err != nil {
		return m, err
	}
	for {
		key, err := w.Key()
		if err != nil {
			return m, err
		}
		if key == nil {
			return m, w.End()
		}
		switch string(key) {
		case "command":
			m.command, err = r.name()
		case "id":
			m.id, err = w.Value()
		case "comp":
			m.component, err = r.name()
		case "stream":
			m.stream, err = r.name()
		case "task":
			m.task, err = w.Value()
		case "tuple":
			var v any
			v, err = w.Value()
			m.values, _ = v.([]any)
		default:
			err = w.Skip()
		}
		if err != nil {
			return m, err
		}
	}
}

// name reads a string out of few, "" for what is none.
func (r *reader) name() (string, error) {
	if r.walker.Peek() != codec.Text {
		return "", r.walker.Skip()
	}
	b, err := r.walker.Text()
	if err != nil {
		return "", err
	}
	s, ok := r.strings[string(b)]
	if !ok {
		s = string(b)
		r.strings[s] = s
	}
	return s, nil
}

func excerpt(text []byte) []byte {
	const most = 200
	text = bytes.TrimSpace(text)
	return text[:min(len(text), most)]
}
