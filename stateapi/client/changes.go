// SPDX-License-Identifier: Apache-2.0

package client

// This file holds changes that the arena does not have yet.

import "github.com/gust-stream/gust/stateapi"

// chunkSize is the piece of memory that values are cut from; a value above a quarter of it is on its own.
const chunkSize = 16 << 10

// changes are the last changes of some keys. The values are its own.
type changes struct {
	index map[string]int
	list  []change
	chunk []byte
	bytes int // of all keys and values
}

type change struct {
	key     string
	value   []byte
	deleted bool
}

func newChanges() *changes { return &changes{index: map[string]int{}} }

// get finds the change of a key.
func (c *changes) get(key []byte) (*change, bool) {
	if len(c.list) == 0 {
		return nil, false
	}
	i, ok := c.index[string(key)]
	if !ok {
		return nil, false
	}
	return &c.list[i], true
}

// at is the change of a key, made if it is not there.
func (c *changes) at(key []byte) *change {
	i, ok := c.index[string(key)]
	if !ok {
		own := string(key)
		i = len(c.list)
		c.list = append(c.list, change{key: own})
		c.index[own] = i
		c.bytes += len(own)
	}
	return &c.list[i]
}

func (c *changes) put(key, value []byte) {
	e := c.at(key)
	c.bytes += len(value) - len(e.value)
	if cap(e.value) < len(value) {
		e.value = c.take(len(value))
	}
	e.value, e.deleted = append(e.value[:0], value...), false
}

func (c *changes) delete(key []byte) {
	e := c.at(key)
	c.bytes -= len(e.value)
	e.value, e.deleted = e.value[:0], true
}

// take is memory for a value.
func (c *changes) take(n int) []byte {
	if n > chunkSize/4 {
		return make([]byte, 0, n)
	}
	if cap(c.chunk)-len(c.chunk) < n {
		c.chunk = make([]byte, 0, chunkSize)
	}
	start := len(c.chunk)
	c.chunk = c.chunk[:start+n]
	return c.chunk[start : start : start+n]
}

// merge makes later changes over these.
func (c *changes) merge(later *changes) {
	for i := range later.list {
		if e := &later.list[i]; e.deleted {
			c.delete([]byte(e.key))
		} else {
			c.put([]byte(e.key), e.value)
		}
	}
}

// into adds the changes to a batch.
func (c *changes) into(b *stateapi.Batch) {
	for i := range c.list {
		if e := &c.list[i]; e.deleted {
			b.Delete([]byte(e.key))
		} else {
			b.Put([]byte(e.key), e.value)
		}
	}
}

// fromBatch reads the changes of a batch.
func fromBatch(encoded []byte) (*changes, error) {
	c := newChanges()
	err := stateapi.Operations(encoded, func(op byte, key, value []byte) error {
		if op == stateapi.OpDelete {
			c.delete(key)
		} else {
			c.put(key, value)
		}
		return nil
	})
	return c, err
}
