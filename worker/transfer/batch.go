// SPDX-License-Identifier: Apache-2.0

package transfer

// This file holds what goes from one executor to another at a time.

import (
	"sync"

	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/acker"
)

// batchSize is how many tuples are handed over at most at a time. A hand-over costs about as much as sending ten of them.
const batchSize = 256

// Batch is a row of tuples, or of messages about trees, for one executor.
type Batch struct {
	Tuples []tuple.Message
	Trees  []acker.Message
}

// Len is how many messages of both kinds it has.
func (b *Batch) Len() int { return len(b.Tuples) + len(b.Trees) }

// Pool keeps empty batches. All inboxes and routers of a worker share one.
type Pool struct{ free sync.Pool }

func (p *Pool) get() *Batch {
	if b, ok := p.free.Get().(*Batch); ok {
		return b
	}
	return &Batch{}
}

// Put takes back a batch that has been worked through.
func (p *Pool) Put(b *Batch) {
	clear(b.Tuples) // else it would keep the tuples alive
	b.Tuples, b.Trees = b.Tuples[:0], b.Trees[:0]
	p.free.Put(b)
}
