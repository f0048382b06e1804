// SPDX-License-Identifier: Apache-2.0

package frame

// This file writes and reads tuples: where they come from, their trees, their values.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/gust-stream/gust/messaging/kryo"
	"github.com/gust-stream/gust/tuple"
)

// AppendSource appends the task and the stream of a source as two varints. It is false for a source without a StreamID.
func AppendSource(b []byte, src *tuple.Source) ([]byte, bool) {
	if src.StreamID <= 0 {
		return b, false
	}
	b = binary.AppendUvarint(b, uint64(uint32(src.Task)))              //nolint:gosec // the system's task is -1 in 32 bits
	return binary.AppendUvarint(b, uint64(uint32(src.StreamID))), true //nolint:gosec // above 0
}

// AppendTuple appends the frame of a tuple for a task. On an error b comes back as it was.
func AppendTuple(b []byte, task int32, t *tuple.Tuple) ([]byte, error) {
	if task < 0 || task > MaxTask {
		return b, fmt.Errorf("task %d is not among those that a frame can name", task)
	}
	start := len(b)
	b = binary.BigEndian.AppendUint16(b, uint16(task))
	b = append(b, 0, 0, 0, 0)
	b, ok := AppendSource(b, t.Source)
	if !ok {
		return b[:start], fmt.Errorf("task %d, stream %s: not in the topology", t.Task, t.Stream)
	}
	if n := TreeValues(t); n > 0 {
		b = kryo.AppendTree(append(b, 0), t.Anchor.Root, t.Anchor.Edge, int32(t.Children), n) //nolint:gosec // a task
	} else {
		var err error
		if b, err = kryo.AppendValues(appendAnchors(b, t), t.Values); err != nil {
			return b[:start], err
		}
	}
	n := len(b) - start - headSize
	if n > maxPayload {
		return b[:start], fmt.Errorf("the tuple has %d bytes, more than %d", n, maxPayload)
	}
	binary.BigEndian.PutUint32(b[start+2:], uint32(n)) //nolint:gosec // bounded above
	return b, nil
}

// TreeValues is how many values a message about a tree has that carries them outside of Values, 0 for all other tuples.
func TreeValues(t *tuple.Tuple) int {
	if t.Values != nil || !OfTrees(t.Stream) {
		return 0
	}
	return min(len(t.Fields), 3)
}

// SetTree puts the values of a message about a tree where they belong.
func SetTree(t *tuple.Tuple, vs [3]int64, n int) error {
	if n < len(t.Fields) {
		return fmt.Errorf("%w: %d values on stream %s, which has %d fields", ErrMalformed, n, t.Stream, len(t.Fields))
	}
	t.Anchor, t.More, t.Children = tuple.Anchor{Root: vs[0], Edge: vs[1]}, nil, vs[2]
	return nil
}

// maxPayload is what Storm's own serializer bounds a tuple to.
const maxPayload = 2_000_000_000

func appendAnchors(b []byte, t *tuple.Tuple) []byte {
	if t.Anchor.Root == 0 {
		return append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(t.More)+1))
	b = appendAnchor(b, t.Anchor)
	for _, a := range t.More {
		b = appendAnchor(b, a)
	}
	return b
}

func appendAnchor(b []byte, a tuple.Anchor) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(a.Root))    //nolint:gosec // the same bits
	return binary.LittleEndian.AppendUint64(b, uint64(a.Edge)) //nolint:gosec // the same bits
}

// Tuples reads tuples. It is for one goroutine.
type Tuples struct {
	sources *Sources
	kryo    kryo.Decoder
	slab    Slab
}

// NewTuples is for tuples of a table's sources; names is for the texts of errors.
func NewTuples(sources *Sources, names kryo.Names) *Tuples {
	return &Tuples{sources: sources, kryo: kryo.Decoder{Names: names}}
}

// Read reads the payload of a Task frame. Where only the values cannot be read the tuple comes along with the error, without values, so
// that it can be failed.
func (r *Tuples) Read(payload []byte) (*tuple.Tuple, error) {
	d := &r.kryo
	d.Reset(payload)
	task, err := d.Uvarint()
	if err != nil {
		return nil, fmt.Errorf("%w: source task: %w", ErrMalformed, err)
	}
	place, err := d.Uvarint()
	if err != nil {
		return nil, fmt.Errorf("%w: stream: %w", ErrMalformed, err)
	}
	src, trees := r.sources.At(int32(task), place) //nolint:gosec // the system's task is -1 in 32 bits
	if src == nil {
		return nil, fmt.Errorf("%w: the topology has no task %d with a stream %d", ErrMalformed, int32(task), place) //nolint:gosec // as above
	}
	t := r.slab.Tuple(src)
	if err := r.anchors(t); err != nil {
		return nil, fmt.Errorf("%w: anchors: %w", ErrMalformed, err)
	}
	if trees {
		vs, n, err := d.Tree()
		if err != nil {
			return nil, fmt.Errorf("tuple of task %d, stream %s: %w", src.Task, src.Stream, err)
		}
		return t, errors.Join(r.atEnd(), SetTree(t, vs, n))
	}
	if t.Values, err = d.Values(); err != nil {
		t.Values = nil
		return t, fmt.Errorf("tuple of task %d, stream %s: %w", src.Task, src.Stream, err)
	}
	if err := r.atEnd(); err != nil {
		return nil, err
	}
	return t, CheckSystem(t)
}

func (r *Tuples) atEnd() error {
	if n := r.kryo.Rest(); n != 0 {
		return fmt.Errorf("%w: %d bytes after a tuple", ErrMalformed, n)
	}
	return nil
}

func (r *Tuples) anchors(t *tuple.Tuple) error {
	n, err := r.kryo.Uvarint()
	if err != nil {
		return err
	}
	if uint64(n)*16 > uint64(r.kryo.Rest()) { //nolint:gosec // a length
		return fmt.Errorf("%d announced, %d bytes left", n, r.kryo.Rest())
	}
	if n > 1 {
		t.More = make([]tuple.Anchor, n-1)
	}
	for i := range n {
		a := &t.Anchor
		if i > 0 {
			a = &t.More[i-1]
		}
		if a.Root, err = r.kryo.Fixed64(); err != nil {
			return err
		}
		if a.Edge, err = r.kryo.Fixed64(); err != nil {
			return err
		}
	}
	return nil
}

// CheckSystem refuses tuples of Storm's own streams that have fewer values than fields, since nobody looks twice at those. On other
// streams a component of Storm may send as many as it likes.
func CheckSystem(t *tuple.Tuple) error {
	if len(t.Values) < len(t.Fields) && strings.HasPrefix(t.Stream, "__") {
		return fmt.Errorf("%w: %d values on stream %s, which has %d fields", ErrMalformed, len(t.Values), t.Stream, len(t.Fields))
	}
	return nil
}

// Slab makes tuples a few at a time. Whoever keeps one keeps its neighbours' memory, so there are not many of them.
type Slab struct{ free []tuple.Tuple }

const slabSize = 32

// Tuple is a new tuple of a source.
func (s *Slab) Tuple(src *tuple.Source) *tuple.Tuple {
	if len(s.free) == 0 {
		s.free = make([]tuple.Tuple, slabSize)
	}
	t := &s.free[0]
	s.free = s.free[1:]
	t.Source = src
	return t
}
