// SPDX-License-Identifier: Apache-2.0

package component

// This file holds what a component implements.

import "github.com/gust-stream/gust/tuple"

// Tuple is what a bolt is given.
type Tuple = tuple.Tuple

// Bolt takes tuples.
type Bolt interface {
	// Execute takes one tuple. It, or a later call, acks or fails the tuple through out. An error is reported as the component's and
	// fails the tuple, unless it was acked or failed already.
	Execute(t *Tuple, out *Output) error
}

// Spout makes tuples.
type Spout interface {
	// Next emits what there is, at best a few tuples, and returns soon; emitting nothing is how it says that there is nothing. An error
	// is reported as the component's.
	Next(out *SpoutOutput) error
}

// Preparer is a Bolt that wants to be told where it is before the first tuple. An error keeps it from running.
type Preparer interface {
	Prepare(ctx *Context, out *Output) error
}

// Opener is a Spout that wants to be told where it is before the first Next. An error keeps it from running.
type Opener interface {
	Open(ctx *Context, out *SpoutOutput) error
}

// Acker is a Spout that wants to know how its tuples fared. id is what it gave to Emit; out of a child process an id that was
// a number comes back as int64 or float64, as JSON has it.
type Acker interface {
	Ack(id any)
	Fail(id any)
}

// Activator is a Spout that wants to know when its topology is activated and deactivated.
type Activator interface {
	Activate()
	Deactivate()
}

// CredentialsListener is a component that wants the topology's credentials: before it is prepared or opened, if there are any then, and whenever
// they are renewed. It may keep the map. Only a Go worker calls it, since multilang has no message with credentials.
type CredentialsListener interface {
	SetCredentials(credentials map[string]string)
}

// Closer is a component that has something to put away at the end. A worker that is killed does not call it.
type Closer interface {
	Close() error
}

// Context is where a component runs. It is not changed.
type Context struct {
	Topology  string // the topology's id, "" where the protocol does not tell it
	Component string
	Task      int32
	// Conf is the topology's conf with the component's own on top; numbers are int64 or float64.
	Conf map[string]any
	// Tasks are all tasks of the topology with their components.
	Tasks map[int32]string
	// Dir is the folder with the topology's resources.
	Dir string
}
