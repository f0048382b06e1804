// SPDX-License-Identifier: Apache-2.0

// Buffers for frames: a few sizes, each four times the one before, pooled by size.

package rpc

import "sync"

// smallestBuffer is the first step for a frame that does not fit into its
// connection's own bytes. Each connection may hold one without asking.
const smallestBuffer = 4 << 10

// buffer is pooled memory of one of the sizes.
type buffer struct {
	b    []byte
	step int
}

// bufferPool hands out buffers of growing sizes up to one whole frame.
type bufferPool struct {
	sizes []int
	pools []sync.Pool
}

// newBufferPool makes the sizes smallestBuffer, four times that, and so on,
// the last being exactly largest.
func newBufferPool(largest int) *bufferPool {
	p := &bufferPool{}
	for size := smallestBuffer; size < largest; size *= 4 {
		p.sizes = append(p.sizes, size)
	}
	p.sizes = append(p.sizes, largest)
	p.pools = make([]sync.Pool, len(p.sizes))
	return p
}

// get returns a buffer of the given step; its contents are arbitrary.
func (p *bufferPool) get(step int) *buffer {
	if b, ok := p.pools[step].Get().(*buffer); ok {
		return b
	}
	return &buffer{b: make([]byte, p.sizes[step]), step: step}
}

func (p *bufferPool) put(b *buffer) {
	p.pools[b.step].Put(b)
}
