// SPDX-License-Identifier: Apache-2.0

package native

// This file writes and reads the tuples of one frame. A tuple says only what differs from the one before it: the task that it is for,
// and where it comes from.

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/gust-stream/gust/messaging/frame"
	"github.com/gust-stream/gust/messaging/kryo"
	"github.com/gust-stream/gust/tuple"
)

// The first byte of a tuple.
const (
	anchored   = 1 << 0 // one anchor
	manyTrees  = 1 << 1 // a count of anchors follows
	sameSource = 1 << 2
	sameTask   = 1 << 3
	valueShift = 4  // the number of values in the upper half
	manyValues = 15 // a count of values follows
)

// Writer appends tuples to a frame. Reset begins a frame.
type Writer struct {
	src  *tuple.Source
	task int32
}

// Reset begins a frame.
func (w *Writer) Reset() { *w = Writer{task: -1} }

// Append appends a tuple for a task. On an error b comes back as it was.
func (w *Writer) Append(b []byte, task int32, t *tuple.Tuple) ([]byte, error) {
	start := len(b)
	ofTree := frame.TreeValues(t)
	head := byte(manyValues << valueShift)
	switch {
	case ofTree > 0:
		head = byte(ofTree) << valueShift //nolint:gosec // up to 3
	case len(t.Values) < manyValues:
		head = byte(len(t.Values)) << valueShift //nolint:gosec // below 15
	}
	switch {
	case t.Anchor.Root == 0 || ofTree > 0:
	case t.More == nil:
		head |= anchored
	default:
		head |= manyTrees
	}
	if t.Source == w.src {
		head |= sameSource
	}
	if task == w.task {
		head |= sameTask
	}
	b = append(b, head)
	if head&sameTask == 0 {
		if task < 0 || task > frame.MaxTask {
			return b[:start], fmt.Errorf("task %d is not among those that a frame can name", task)
		}
		b = binary.AppendUvarint(b, uint64(task))
	}
	if head&sameSource == 0 {
		var ok bool
		if b, ok = frame.AppendSource(b, t.Source); !ok {
			return b[:start], fmt.Errorf("task %d, stream %s: not in the topology", t.Task, t.Stream)
		}
	}
	if head&manyTrees != 0 {
		b = binary.AppendUvarint(b, uint64(len(t.More)+1))
	}
	if head&(anchored|manyTrees) != 0 {
		b = appendAnchor(b, t.Anchor)
		for _, a := range t.More {
			b = appendAnchor(b, a)
		}
	}
	if len(t.Values) >= manyValues {
		b = binary.AppendUvarint(b, uint64(len(t.Values)))
	}
	if ofTree > 0 {
		b = appendTree(b, t, ofTree)
	}
	var err error
	for _, v := range t.Values {
		if b, err = appendValue(b, v, maxDepth); err != nil {
			return b[:start], err
		}
	}
	w.src, w.task = t.Source, task
	return b, nil
}

func appendTree(b []byte, t *tuple.Tuple, n int) []byte {
	b = appendInt64(b, t.Anchor.Root)
	if n > 1 {
		b = appendInt64(b, t.Anchor.Edge)
	}
	if n > 2 {
		b = appendZigzag(append(b, tagInt32), t.Children)
	}
	return b
}

func appendAnchor(b []byte, a tuple.Anchor) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(a.Root))    //nolint:gosec // the same bits
	return binary.LittleEndian.AppendUint64(b, uint64(a.Edge)) //nolint:gosec // the same bits
}

// Decoder reads the tuples of frames. It is for one goroutine.
type Decoder struct {
	sources *frame.Sources
	kryo    kryo.Decoder
	free    []cell

	buf    []byte
	at     int
	budget int
}

// cell is a tuple with room for a few values, made several at a time: whoever keeps one keeps its neighbours.
type cell struct {
	t tuple.Tuple
	v [3]any
}

const cells = 16

// NewDecoder is for tuples of a table's sources.
func NewDecoder(sources *frame.Sources) *Decoder { return &Decoder{sources: sources} }

// Read appends the tuples of a Tuples payload.
func (d *Decoder) Read(into []tuple.Message, payload []byte) ([]tuple.Message, error) {
	d.buf, d.at, d.budget = payload, 0, min(len(payload), maxElements)
	var src *tuple.Source
	var trees bool
	task := int32(-1)
	for n := 0; d.at < len(d.buf); n++ {
		if n == MaxTuples {
			return into, d.errorf("more than %d tuples in a frame", MaxTuples)
		}
		head := d.buf[d.at]
		d.at++
		if head&sameTask == 0 {
			to, err := d.uvarint()
			if err != nil {
				return into, err
			}
			if to > frame.MaxTask {
				return into, d.errorf("a tuple for task %d", to)
			}
			task = int32(to) //nolint:gosec // bounded above
		}
		if head&sameSource == 0 {
			var err error
			if src, trees, err = d.source(); err != nil {
				return into, err
			}
		}
		if src == nil || task < 0 {
			return into, d.errorf("the first tuple names no task or source")
		}
		t, err := d.tuple(head, src, trees)
		if err != nil {
			return into, fmt.Errorf("tuple of task %d, stream %s: %w", src.Task, src.Stream, err)
		}
		into = append(into, tuple.Message{Task: task, Tuple: t})
	}
	return into, nil
}

func (d *Decoder) source() (src *tuple.Source, trees bool, err error) {
	task, err := d.uvarint()
	if err != nil {
		return nil, false, err
	}
	place, err := d.uvarint()
	if err != nil {
		return nil, false, err
	}
	if task > math.MaxUint32 || place > math.MaxUint32 {
		return nil, false, d.errorf("a source of task %d, stream %d", task, place)
	}
	src, trees = d.sources.At(int32(uint32(task)), uint32(place)) //nolint:gosec // bounded above; the system's task is -1 in 32 bits
	if src == nil {
		return nil, false, d.errorf("the topology has no task %d with a stream %d", int32(uint32(task)), place) //nolint:gosec // as above
	}
	return src, trees, nil
}

// tuple reads a tuple after its source.
func (d *Decoder) tuple(head byte, src *tuple.Source, trees bool) (*tuple.Tuple, error) {
	if len(d.free) == 0 {
		d.free = make([]cell, cells)
	}
	c := &d.free[0]
	d.free = d.free[1:]
	c.t.Source = src
	if head&(anchored|manyTrees) != 0 {
		if err := d.anchors(head, &c.t); err != nil {
			return nil, err
		}
	}
	n := int(head >> valueShift)
	if trees {
		return &c.t, d.tree(&c.t, n)
	}
	var err error
	if n == manyValues {
		if n, err = d.count("values"); err != nil {
			return nil, err
		}
	}
	vs := c.v[:min(n, len(c.v)):min(n, len(c.v))]
	if n > len(c.v) {
		if vs, err = d.list(n); err != nil {
			return nil, err
		}
	}
	for i := range vs {
		if vs[i], err = d.value(maxDepth); err != nil {
			return nil, err
		}
	}
	c.t.Values = vs
	return &c.t, frame.CheckSystem(&c.t)
}

// tree reads a message about a tree, whose values are integers.
func (d *Decoder) tree(t *tuple.Tuple, n int) error {
	var vs [3]int64
	if n > len(vs) {
		return d.errorf("%d values about a tree", n)
	}
	for i := range n {
		if d.at >= len(d.buf) {
			return d.short("a value", 1)
		}
		tag := d.buf[d.at]
		d.at++
		switch {
		case tag >= tagSmall:
			vs[i] = int64(tag & maxSmall)
		case tag == tagFixed:
			b, err := d.take("a number", 8)
			if err != nil {
				return err
			}
			vs[i] = int64(binary.LittleEndian.Uint64(b)) //nolint:gosec // the same bits
		case tag == tagVarint, tag == tagInt, tag == tagInt32:
			u, err := d.uvarint()
			if err != nil {
				return err
			}
			vs[i] = unzigzag(u)
		default:
			return d.errorf("a value about a tree begins with %#x", tag)
		}
	}
	return frame.SetTree(t, vs, n)
}

func (d *Decoder) anchors(head byte, t *tuple.Tuple) error {
	n := uint64(1)
	if head&manyTrees != 0 {
		var err error
		if n, err = d.uvarint(); err != nil {
			return err
		}
	}
	if n > uint64(len(d.buf)-d.at)/16 || n == 0 { //nolint:gosec // a length
		return d.errorf("%d anchors in %d bytes", n, len(d.buf)-d.at)
	}
	t.Anchor = d.anchor()
	if n > 1 {
		t.More = make([]tuple.Anchor, n-1)
		for i := range t.More {
			t.More[i] = d.anchor()
		}
	}
	return nil
}

// anchor reads what anchors has counted.
func (d *Decoder) anchor() tuple.Anchor {
	b := d.buf[d.at : d.at+16]
	d.at += 16
	return tuple.Anchor{
		Root: int64(binary.LittleEndian.Uint64(b)),     //nolint:gosec // the same bits
		Edge: int64(binary.LittleEndian.Uint64(b[8:])), //nolint:gosec // the same bits
	}
}
