// SPDX-License-Identifier: Apache-2.0

package multilang

// This file holds what travels from a child to its executor.

// Batch is a row of a child's messages, or news of its end. The executor applies it, once.
type Batch struct {
	from     driver
	messages []message
	up       bool // the handshake is done
	queued   bool // it went through the channel
	end      *ChildError
}

// next gives a message to fill, with the memory of an older one.
func (b *Batch) next() *message {
	n := len(b.messages)
	if n < cap(b.messages) {
		b.messages = b.messages[:n+1]
	} else {
		b.messages = append(b.messages, message{})
	}
	return &b.messages[n]
}

// batch gives an empty batch.
func (c *child) batch() *Batch {
	select {
	case b := <-c.free:
		return b
	default:
		return &Batch{from: c.owner}
	}
}

// recycle takes a batch back, without the values in it.
func (c *child) recycle(b *Batch) {
	for i := range b.messages {
		b.messages[i] = message{refs: b.messages[i].refs[:0]}
	}
	b.messages = b.messages[:0]
	b.up = false
	if b.queued {
		b.queued = false
		c.queued.Add(-1)
	}
	select {
	case c.free <- b:
	default:
	}
}

// Apply carries out what the child said, in its order, by calling the component.Runner. It belongs on the executor's goroutine. A
// *ChildError, which comes once and last, says that the child is over and all its processes are gone: the driver's Outstanding are
// then to be failed, and a new driver made.
func (b *Batch) Apply() error {
	side := b.from.core()
	if b.end != nil {
		side.broken = true
		return b.end
	}
	if b == side.child.wake {
		return nil
	}
	if b.up {
		side.up = true
		b.from.start()
	}
	for i := range b.messages {
		if side.broken {
			break
		}
		if err := b.from.apply(&b.messages[i]); err != nil {
			side.broken = true
			side.child.fault(err)
		}
	}
	b.from.applied()
	side.child.recycle(b)
	return nil
}
