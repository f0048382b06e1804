// SPDX-License-Identifier: Apache-2.0

package kryo

// This file writes and reads Storm's own classes, whose fields follow one another in the order of their names, and the two messages
// of a server that are no tuples: its back-pressure and its load.

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/gust-stream/gust/tuple"
)

// Status is Storm's BackPressureStatus: which tasks of a worker want no more tuples, and which want some.
type Status struct {
	ID      int64
	Worker  string
	Blocked []int32
	Free    []int32
}

func appendStruct(b []byte, c class, v any, depth int) ([]byte, error) {
	switch v := v.(type) {
	case tuple.DataPoint:
		// No dimensions is an empty map of a class that Storm itself cannot send; an empty HashMap means the same.
		b = binary.AppendUvarint(append(b, byte(hashMap)), uint64(len(v.Dimensions)+1))
		for k, e := range v.Dimensions {
			b = appendText(appendText(b, k), e)
		}
		b = appendText(b, v.Name)
		return appendObject(b, v.Value, depth-1)
	case tuple.TaskInfo:
		b = appendInt(appendText(b, v.Component), v.Task)
		b = appendInt(appendText(b, v.Host), v.Port)
		return appendInt(appendLong(b, v.Time), v.Interval), nil
	case NodeInfo:
		b = appendFlagged(append(appendText(b, v.Node), byte(hashSet)), false, len(v.Ports)+1)
		for _, port := range v.Ports {
			b = appendLong(b, port)
		}
		return b, nil
	case Status:
		return appendStatus(b, v), nil
	default:
		return b, fmt.Errorf("class %d: %w", c, &TypeError{Type: fmt.Sprintf("%T", v)})
	}
}

func appendStatus(b []byte, s Status) []byte {
	b = appendTasks(b, s.Blocked)
	b = appendLong(b, s.ID)
	b = appendTasks(b, s.Free)
	return appendText(b, s.Worker)
}

func appendTasks(b []byte, tasks []int32) []byte {
	b = append(b, byte(list))
	if len(tasks) == 0 {
		return append(b, 1)
	}
	b = appendFlagged(b, false, len(tasks)+1)
	for _, t := range tasks {
		b = appendInt(b, t)
	}
	return b
}

// AppendLoad appends the load message of a server: how full the inboxes of its tasks are, from 0 to 1.
func AppendLoad(b []byte, load map[int32]float64) []byte {
	b = append(b, mark|2, byte(hashMap), 0)
	b = binary.AppendUvarint(b, uint64(len(load)+1))
	for task, l := range load {
		b = appendInt(append(b, byte(integer)), task)
		b = binary.LittleEndian.AppendUint64(append(b, byte(double)), math.Float64bits(l))
	}
	return b
}

// Load reads a load message.
func (d *Decoder) Load() (map[int32]float64, error) {
	vs, err := d.Values()
	if err != nil {
		return nil, err
	}
	if len(vs) == 0 {
		return nil, d.errorf("a load message without a map")
	}
	m, ok := vs[0].(map[any]any)
	if !ok {
		if empty, isEmpty := vs[0].(map[string]any); isEmpty && len(empty) == 0 {
			return map[int32]float64{}, nil
		}
		return nil, d.errorf("a load message with a %T", vs[0])
	}
	load := make(map[int32]float64, len(m))
	for k, v := range m {
		task, isTask := k.(int32)
		l, isLoad := v.(float64)
		if !isTask || !isLoad {
			return nil, d.errorf("a load of %T for a %T", v, k)
		}
		load[task] = l
	}
	return load, nil
}

// AppendTree appends the first n values of a message about a tuple tree, as AppendValues would: two Longs and an Integer.
func AppendTree(b []byte, root, value int64, task int32, n int) []byte {
	switch n {
	case 1:
		return appendLong(append(b, mark|2, byte(long), 0), root)
	case 2:
		return appendLong(appendLong(append(b, mark|3, byte(long), 0), root), value)
	default:
		b = appendLong(append(b, 4, byte(long)), root)
		b = appendLong(append(b, byte(long)), value)
		return appendInt(append(b, byte(integer)), task)
	}
}

// Tree reads up to three values that are integers all, and gives how many there are.
func (d *Decoder) Tree() (vs [3]int64, n int, err error) {
	same, n, err := d.flagged()
	if err != nil {
		return vs, 0, err
	}
	n--
	if n < 0 || n > len(vs) {
		return vs, 0, d.errorf("%d values about a tree", n)
	}
	var c class
	if same && n > 0 {
		if c, err = d.class(); err != nil {
			return vs, 0, err
		}
		if nulls, err := d.bool(); err != nil || nulls {
			return vs, 0, d.errorf("a tree without an id")
		}
	}
	for i := range n {
		if !same {
			if c, err = d.class(); err != nil {
				return vs, 0, err
			}
		}
		switch c {
		case long:
			vs[i], err = d.long()
		case integer:
			var v int32
			v, err = d.int()
			vs[i] = int64(v)
		default:
			err = d.errorf("a value of class %d about a tree", c)
		}
		if err != nil {
			return vs, 0, err
		}
	}
	return vs, n, nil
}

// Status reads a message about back-pressure.
func (d *Decoder) Status() (Status, error) {
	v, err := d.Object()
	if err != nil {
		return Status{}, err
	}
	s, ok := v.(Status)
	if !ok {
		return Status{}, d.errorf("a %T for a BackPressureStatus", v)
	}
	return s, nil
}

// record reads a value of one of Storm's own classes.
func (d *Decoder) record(c class) (any, error) {
	switch c {
	case dataPoint:
		return d.dataPoint()
	case taskInfo:
		var t tuple.TaskInfo
		err := d.all(d.name(&t.Component), d.int32(&t.Task), d.name(&t.Host), d.int32(&t.Port), d.int64(&t.Time), d.int32(&t.Interval))
		return t, err
	case nodeInfo:
		var n NodeInfo
		err := d.all(d.name(&n.Node), func() (err error) { n.Ports, err = collection(d, d.long); return err })
		return n, err
	case status:
		var s Status
		err := d.all(
			func() (err error) { s.Blocked, err = collection(d, d.int); return err },
			d.int64(&s.ID),
			func() (err error) { s.Free, err = collection(d, d.int); return err },
			d.name(&s.Worker),
		)
		return s, err
	default:
		return nil, d.unknown(c)
	}
}

func (d *Decoder) dataPoint() (any, error) {
	var p tuple.DataPoint
	err := d.all(
		func() (err error) { p.Dimensions, err = d.dimensions(); return err },
		d.name(&p.Name),
		func() (err error) { p.Value, err = d.object(); return err },
	)
	return p, err
}

// dimensions reads a map whose keys and values Kryo knows to be strings.
func (d *Decoder) dimensions() (map[string]string, error) {
	c, err := d.class()
	if err != nil || c == null {
		return nil, err
	}
	if c != hashMap {
		return nil, d.unknown(c)
	}
	n, err := d.count("a map", 2)
	if err != nil || n <= 0 {
		return nil, err
	}
	if err := d.room("a map", 2*n); err != nil {
		return nil, err
	}
	out := make(map[string]string, n)
	for range n {
		var k, v string
		if err := d.all(d.name(&k), d.name(&v)); err != nil {
			return nil, err
		}
		out[k] = v
	}
	return out, nil
}

// collection reads the class of a collection and its elements, whose class Kryo knows from the field's type.
func collection[T int32 | int64](d *Decoder, element func() (T, error)) ([]T, error) {
	c, err := d.class()
	if err != nil || c == null {
		return nil, err
	}
	if c != list && c != hashSet && c != delegate && c != values {
		return nil, d.unknown(c)
	}
	nulls, n, err := d.flagged()
	if err != nil || n <= 1 {
		return nil, err
	}
	n--
	if err := d.room("a collection", n); err != nil {
		return nil, err
	}
	out := make([]T, 0, n)
	for range n {
		if nulls {
			if there, err := d.bool(); err != nil || !there {
				return nil, d.errorf("a collection of numbers holds null")
			}
		}
		v, err := element()
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// all runs readers until one fails.
func (*Decoder) all(readers ...func() error) error {
	for _, read := range readers {
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

func (d *Decoder) name(into *string) func() error {
	return func() (err error) { *into, _, err = d.text(); return err }
}

func (d *Decoder) int32(into *int32) func() error {
	return func() (err error) { *into, err = d.int(); return err }
}

func (d *Decoder) int64(into *int64) func() error {
	return func() (err error) { *into, err = d.long(); return err }
}
