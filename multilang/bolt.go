// SPDX-License-Identifier: Apache-2.0

package multilang

// This file drives a bolt that is a child process.

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/multilang/codec"
	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/tuple"
)

// Bolt is one task of a bolt that runs in a child. Run has a goroutine of its own; all other methods are for the executor's, and
// none of them waits.
type Bolt struct {
	executorSide
	slots  []slot
	unused []uint32 // places in slots
	held   int      // slots in use
	silent int64    // tuples delivered since the child said something

	out    chunk  // messages on their way to the outbox
	ids    []byte // lists of task ids, the same
	heads  map[*tuple.Source][]byte
	source *tuple.Source // the last one, and its head
	head   []byte
	more   []*tuple.Tuple // scratch
}

// slot is a place for a tuple that was given to the child. Its ref is made of its place and of a number that changes with each use.
type slot struct {
	tuple *tuple.Tuple // nil: failed by us, but the child may still name it
	use   uint64       // 0: free
	next  uint64       // the use to come
}

const (
	// slotBits leaves room for 16 million tuples in one child, and for each place to be used 10^11 times.
	slotBits = 24
	maxUse   = 1<<(63-slotBits) - 1
)

// NewBolt makes the driver of a bolt's task; nothing is opened or started. streams are sorted by name. Batches of several drivers may
// share a channel. log names the component and the task.
func NewBolt(cfg Config, streams []*component.Stream, runner component.Runner, events chan<- *Batch, log *zap.Logger) *Bolt {
	b := &Bolt{heads: map[*tuple.Source][]byte{}}
	b.runner = runner
	b.child = newChild(cfg, b, newDecoder(cfg.Settings.Format, streams, true), events, log)
	return b
}

// Run starts the child and owns all that goes on around it until ctx ends (nil) or the child does (a *ChildError).
func (b *Bolt) Run(ctx context.Context) error { return b.child.run(ctx) }

func (b *Bolt) core() *executorSide { return &b.executorSide }

// Room is how many tuples the child takes now. After a 0 a batch comes when there is room again; look after each.
func (b *Bolt) Room() int {
	if !b.up || b.broken {
		return 0
	}
	c := b.child
	room := c.cfg.Settings.MaxPending - int(c.out.unsent.Load())
	if room <= 0 {
		c.wanting.Store(true)
		room = c.cfg.Settings.MaxPending - int(c.out.unsent.Load())
	}
	return max(room, 0)
}

// Deliver gives the child a tuple, which goes out with the next Flush at the latest. One that cannot be written is failed here.
func (b *Bolt) Deliver(t *tuple.Tuple) {
	r, place := b.hold(t)
	text, err := b.write(b.out.text, r, t)
	if err == nil && len(text)-len(b.out.text) > b.child.cfg.Settings.MaxMessage {
		err = fmt.Errorf("%d bytes, more than %s allows", len(text)-len(b.out.text), keyMessageBytes)
	}
	if err != nil {
		b.release(place)
		b.runner.Report(fmt.Errorf("tuple of component %s, stream %s cannot be given to the child of component %s, task %d: %w",
			t.Component, t.Stream, b.child.cfg.Component, b.child.cfg.Task, err))
		b.runner.Fail(t)
		return
	}
	b.out.text = text
	b.out.tuples++
	b.child.out.unsent.Add(1)
	b.silent++
	if b.silent >= b.child.life.stride.Load() {
		b.silent = 0
		b.child.life.beatSent(b.child.now())
		b.out.text = heartbeat(b.out.text, b.child.out.format)
	}
	if len(b.out.text) >= chunkSize {
		b.Flush()
	}
}

// Flush lets what was delivered go out.
func (b *Bolt) Flush() {
	if b.out.tuples == 0 {
		return
	}
	b.out = chunk{text: b.child.out.put(b.out)}
}

// Outstanding gives the tuples that were delivered and neither acked nor failed, and forgets them.
func (b *Bolt) Outstanding() []*tuple.Tuple {
	var left []*tuple.Tuple
	for i := range b.slots {
		if s := &b.slots[i]; s.use != 0 {
			if s.tuple != nil {
				left = append(left, s.tuple)
			}
			b.release(uint32(i))
		}
	}
	return left
}

// Held is how many tuples the child has.
func (b *Bolt) Held() int { return b.held }

func (b *Bolt) hold(t *tuple.Tuple) (ref, uint32) {
	if len(b.unused) == 0 {
		b.slots = append(b.slots, slot{next: 1})
		b.unused = append(b.unused, uint32(len(b.slots)-1))
	}
	last := len(b.unused) - 1
	place := b.unused[last]
	b.unused = b.unused[:last]
	s := &b.slots[place]
	s.tuple, s.use = t, s.next
	b.held++
	return ref(s.use<<slotBits | uint64(place)), place
}

func (b *Bolt) release(place uint32) {
	s := &b.slots[place]
	s.tuple, s.use, s.next = nil, 0, s.use%maxUse+1
	b.unused = append(b.unused, place)
	b.held--
}

// find gives the slot of a ref that is in use.
func (b *Bolt) find(r ref) (*slot, uint32, bool) {
	place := uint32(r & (1<<slotBits - 1))
	if int(place) >= len(b.slots) {
		return nil, 0, false
	}
	s := &b.slots[place]
	return s, place, s.use != 0 && s.use == uint64(r>>slotBits)
}

// write appends a tuple's message.
func (b *Bolt) write(dst []byte, r ref, t *tuple.Tuple) ([]byte, error) {
	f := b.child.out.format
	if t.Source != b.source {
		if err := b.setSource(t.Source); err != nil {
			return dst, err
		}
	}
	var err error
	if f == codec.Msgpack {
		dst = append(dst, b.head...)
		id := appendRef(nil, r)
		dst, _ = codec.AppendString(dst, f, string(id))
		dst, _ = codec.AppendString(dst, f, "tuple")
		return codec.Append(dst, f, t.Values)
	}
	dst = append(dst, `{"id":"`...)
	dst = appendRef(dst, r)
	dst = append(dst, b.head...)
	dst = append(dst, '[')
	for i, v := range t.Values {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = codec.Append(dst, f, v); err != nil {
			return dst, fmt.Errorf("value %d: %w", i+1, err)
		}
	}
	return append(dst, "]}\nend\n"...), nil
}

// setSource looks up, or writes, what the messages of a source have in common.
func (b *Bolt) setSource(s *tuple.Source) error {
	head, ok := b.heads[s]
	if !ok {
		var err error
		if head, err = writeHead(b.child.out.format, s); err != nil {
			return err
		}
		b.heads[s] = head
	}
	b.source, b.head = s, head
	return nil
}

func writeHead(f codec.Format, s *tuple.Source) ([]byte, error) {
	var head []byte
	var errs []error
	text := func(s string) {
		var err error
		head, err = codec.AppendString(head, f, s)
		errs = append(errs, err)
	}
	number := func(n int64) {
		var err error
		head, err = codec.Append(head, f, n)
		errs = append(errs, err)
	}
	if f == codec.Msgpack {
		head = append(head, 0x85)
		text("comp")
		text(s.Component)
		text("stream")
		text(s.Stream)
		text("task")
		number(int64(s.Task))
		text("id")
		return head, errors.Join(errs...)
	}
	head = append(head, `","comp":`...)
	text(s.Component)
	head = append(head, `,"stream":`...)
	text(s.Stream)
	head = append(head, `,"task":`...)
	number(int64(s.Task))
	head = append(head, `,"tuple":`...)
	return head, errors.Join(errs...)
}
