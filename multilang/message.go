// SPDX-License-Identifier: Apache-2.0

package multilang

// This file reads what a child says.

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/gust-stream/gust/multilang/codec"
	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/tuple"
)

// kind is a child's command.
type kind byte

const (
	kindNone kind = iota
	kindEmit
	kindAck
	kindFail
	kindSync
	kindLog
	kindError
	kindMetrics
	kindUnknown
)

// message is one command of a child. Its strings and values are its own, refs are good until the batch is applied.
type message struct {
	kind    kind
	want    bool // task ids are wanted
	direct  bool
	level   component.Level
	task    int32
	stream  *component.Stream // nil if the component declares no stream of that name
	ref     ref               // bolts: what is acked or failed
	refs    []ref             // bolts: the anchors
	id      any               // spouts: the name of the tuple
	values  []any
	text    string // of a log message or error; the name of an unknown command, stream or id
	name    string // of a metric
	param   any
	badText error // some text of an emit was not UTF-8
}

// ref names a tuple that was given to the child; 0 is none.
type ref uint64

// refOf reads a tuple's id, which is the decimal form of its ref.
func refOf(text []byte) ref {
	if len(text) == 0 || len(text) > 19 || text[0] == '0' {
		return 0
	}
	var n ref
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + ref(c-'0')
	}
	return n
}

// decoder reads the messages of one child. It is for one goroutine.
type decoder struct {
	walker  codec.Walker
	streams []*component.Stream
	bolt    bool
	free    []any // where values of tuples are cut from
	values  []any // scratch
}

// slabSize is how many values are allocated at a time. A kept tuple keeps its slab alive.
const slabSize = 512

func newDecoder(f codec.Format, streams []*component.Stream, bolt bool) *decoder {
	return &decoder{walker: codec.NewWalker(f), streams: streams, bolt: bolt}
}

// errNoCommand is about a message that is an object, but not one of the protocol.
var errNoCommand = errors.New(`a message without "command"`)

// decode reads a message into m, whose slice of refs it reuses.
func (d *decoder) decode(raw []byte, m *message) error {
	*m = message{want: true, level: component.Info, refs: m.refs[:0], stream: d.stream([]byte(tuple.DefaultStream))}
	w := d.walker
	w.Reset(raw)
	if err := w.Map(); err != nil {
		return err
	}
	for {
		key, err := w.Key()
		if err != nil {
			return err
		}
		if key == nil {
			break
		}
		if err := d.field(key, m); err != nil {
			return err
		}
	}
	if err := w.End(); err != nil {
		return err
	}
	if m.kind == kindNone {
		return errNoCommand
	}
	if m.kind == kindEmit {
		if m.values == nil {
			return errors.New(`an emit without "tuple"`)
		}
		m.badText = w.Bad()
	}
	return nil
}

func (d *decoder) field(key []byte, m *message) error {
	w := d.walker
	switch string(key) {
	case "command":
		return d.command(m)
	case "tuple":
		return d.tuple(m)
	case "id":
		return d.id(m)
	case "anchors":
		return d.anchors(m)
	case "stream":
		if w.Peek() != codec.Text {
			return d.null("stream", "a string")
		}
		name, err := w.Text()
		if err != nil {
			return err
		}
		if m.stream = d.stream(name); m.stream == nil {
			m.text = string(name)
		}
		return nil
	case "task":
		return d.task(m)
	case "need_task_ids":
		v, err := w.Value()
		if err != nil {
			return err
		}
		want, ok := v.(bool)
		if v != nil && !ok {
			return fmt.Errorf("need_task_ids is %v, not true or false", v)
		}
		m.want = want || v == nil
		return nil
	case "msg":
		text, err := d.text()
		if m.text == "" {
			m.text = text
		}
		return err
	case "level":
		v, err := w.Value()
		if n, ok := v.(int64); ok && n >= int64(component.Trace) && n <= int64(component.Error) {
			m.level = component.Level(n)
		}
		return err
	case "name":
		var err error
		m.name, err = d.text()
		return err
	case "params":
		var err error
		m.param, err = w.Value()
		return err
	default:
		return w.Skip()
	}
}

// null leaves out a null; anything else is an error, since what was wanted is not there.
func (d *decoder) null(key, want string) error {
	v, err := d.walker.Value()
	if err == nil && v != nil {
		return fmt.Errorf("%s is not %s but %s", key, want, brief(v))
	}
	return err
}

// brief shows a value, or the beginning of it.
func brief(v any) string {
	text := fmt.Sprint(v)
	return text[:min(len(text), 80)]
}

// text reads a string, or the form in JSON of what is none.
func (d *decoder) text() (string, error) {
	if d.walker.Peek() == codec.Text {
		text, err := d.walker.Text()
		return string(text), err
	}
	v, err := d.walker.Value()
	if err != nil {
		return "", err
	}
	text, err := codec.Append(nil, codec.JSON, v)
	if err != nil {
		return fmt.Sprint(v), nil //nolint:nilerr // what JSON has no form for is still shown
	}
	return string(text), nil
}

func (d *decoder) command(m *message) error {
	if d.walker.Peek() != codec.Text {
		return d.null("command", "a string")
	}
	name, err := d.walker.Text()
	if err != nil {
		return err
	}
	switch string(name) {
	case "emit":
		m.kind = kindEmit
	case "ack":
		m.kind = kindAck
	case "fail":
		m.kind = kindFail
	case "sync":
		m.kind = kindSync
	case "log":
		m.kind = kindLog
	case "error":
		m.kind = kindError
	case "metrics":
		m.kind = kindMetrics
	default:
		m.kind = kindUnknown
		m.text = string(name)
	}
	return nil
}

func (d *decoder) tuple(m *message) error {
	w := d.walker
	if w.Peek() != codec.List {
		return d.null("tuple", "a list")
	}
	if err := w.List(); err != nil {
		return err
	}
	values := d.values[:0]
	for {
		more, err := w.More()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		v, err := w.Stock()
		if err != nil {
			return err
		}
		values = append(values, v)
	}
	if len(d.free) < len(values) {
		d.free = make([]any, max(slabSize, len(values)))
	}
	m.values = d.free[:len(values):len(values)]
	d.free = d.free[len(values):]
	copy(m.values, values)
	clear(values)
	d.values = values
	return nil
}

// id reads the name of a tuple: for a spout whatever it chose, for a bolt what the parent chose.
func (d *decoder) id(m *message) error {
	if d.bolt {
		text, r, err := d.ref()
		if m.ref = r; r == 0 {
			m.text = text
		}
		return err
	}
	v, err := d.walker.Value()
	if err != nil {
		return err
	}
	switch v.(type) {
	case nil, string, int64, float64, bool:
		m.id = v
		return nil
	default:
		return fmt.Errorf("id is not a string and not a number but %s", brief(v))
	}
}

// ref reads a tuple's id, also as a number, which some languages make of it. What is none is given as text.
func (d *decoder) ref() (string, ref, error) {
	if d.walker.Peek() == codec.Text {
		text, err := d.walker.Text()
		if err != nil {
			return "", 0, err
		}
		if r := refOf(text); r != 0 {
			return "", r, nil
		}
		return string(text), 0, nil
	}
	v, err := d.walker.Value()
	if err != nil {
		return "", 0, err
	}
	if n, ok := v.(int64); ok && n > 0 {
		return "", ref(n), nil
	}
	return fmt.Sprint(v), 0, nil
}

func (d *decoder) anchors(m *message) error {
	w := d.walker
	add := func() error {
		text, r, err := d.ref()
		if err != nil {
			return err
		}
		if r == 0 {
			return fmt.Errorf("anchor %q is the id of no tuple", text)
		}
		m.refs = append(m.refs, r)
		return nil
	}
	switch w.Peek() {
	case codec.Text:
		return add()
	case codec.List:
	default:
		return d.null("anchors", "a list")
	}
	if err := w.List(); err != nil {
		return err
	}
	for {
		more, err := w.More()
		if err != nil || !more {
			return err
		}
		if err := add(); err != nil {
			return err
		}
	}
}

// task reads the task of a direct emit; 0 is none, as in Storm.
func (d *decoder) task(m *message) error {
	v, err := d.walker.Value()
	if err != nil || v == nil {
		return err
	}
	n, ok := v.(int64)
	if !ok || n != int64(int32(n)) {
		return fmt.Errorf("task is %v, which is no task's number", v)
	}
	m.task = int32(n)
	m.direct = n != 0
	return nil
}

func (d *decoder) stream(name []byte) *component.Stream {
	for _, s := range d.streams {
		if s.Name == string(name) {
			return s
		}
	}
	return nil
}

// appendRef writes a tuple's id.
func appendRef(dst []byte, r ref) []byte { return strconv.AppendUint(dst, uint64(r), 10) }
