// SPDX-License-Identifier: Apache-2.0

package acker

// This file holds the arithmetic of trees.

import "time"

// Kind is what a message says, a stream of Storm's.
type Kind uint8

// What spouts and bolts tell an acker, and all but Init what an acker answers.
const (
	// Init is a new tree: its spout's task and the XOR of its edges so far.
	Init Kind = iota + 1
	// Ack is a tuple that was acked, with its edge XOR those of what was anchored on it; as an answer a tree that is done.
	Ack
	// Fail is a tree of which a tuple failed.
	Fail
	// Reset is a tree that gets another message timeout.
	Reset
)

// Message is one about a tree, either way.
type Message struct {
	Root int64
	// Value is the XOR of Init and Ack. In an answer it is how long the acker has known the tree, in nanoseconds.
	Value int64
	// Task is the spout's, in Init and in answers.
	Task int32
	// From is the task that says it, which only counts; Storm's task ids have 16 bits.
	From int16
	Kind Kind
}

// Choose is which of n ackers has a tree: Storm's fields grouping over the root id, a Long.
func Choose(root int64, n int) int {
	hash := 31 + int32(root^int64(uint64(root)>>32))
	at := hash % int32(n)
	if at < 0 {
		at += int32(n)
	}
	return int(at)
}

// generations is how many rotations a tree survives, as in Storm. The spout that waits for it has given it up before.
const generations = 3

// tree is what is known of one.
type tree struct {
	value, started int64
	spout          int32 // its task, once its Init was told
	begun, failed  bool
}

// Acker is the trees of one task.
type Acker struct{ trees *Rotating[tree] }

// New makes an acker without trees.
func New() *Acker { return &Acker{NewRotating[tree](generations)} }

// Len is how many trees are known.
func (a *Acker) Len() int { return a.trees.Len() }

// Tell takes a message. If its tree calls for an answer, that is returned. now is nanoseconds of a steady clock.
func (a *Acker) Tell(m Message, now int64) (answer Message, ok bool) {
	t, isNew := a.trees.Put(m.Root)
	if isNew {
		t.started = now
	}
	switch m.Kind {
	case Init:
		t.value ^= m.Value
		t.spout, t.begun = m.Task, true
	case Ack:
		t.value ^= m.Value
	case Fail:
		t.failed = true
		a.trees.Touch(m.Root) // as in Storm
	case Reset:
		a.trees.Touch(m.Root)
	}
	if !t.begun {
		return Message{}, false
	}
	answer = Message{Root: m.Root, Value: now - t.started, Task: t.spout}
	switch {
	case t.value == 0:
		answer.Kind = Ack
	case t.failed:
		answer.Kind = Fail
	case m.Kind == Reset:
		answer.Kind = Reset
		return answer, true
	default:
		return Message{}, false
	}
	a.trees.Remove(m.Root)
	return answer, true
}

// Rotate makes all trees older and forgets those that are too old. Storm does it after each message timeout.
func (a *Acker) Rotate() (forgotten int) {
	a.trees.Rotate(func(int64, tree) { forgotten++ })
	return forgotten
}

// Delta is an answer's time as Storm sends it, in milliseconds.
func (m Message) Delta() int64 { return m.Value / int64(time.Millisecond) }
