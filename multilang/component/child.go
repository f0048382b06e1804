// SPDX-License-Identifier: Apache-2.0

package component

// This file is the child's side of the protocol up to the handshake.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"

	"github.com/gust-stream/gust/tuple"
)

// Pipes are a child's ends of the protocol.
type Pipes struct {
	// In is what the parent writes. It is closed at the end, which must end a Read.
	In  io.ReadCloser
	Out io.Writer
}

// ServeBolt speaks for a bolt until the parent closes its end or ctx ends, and closes the bolt then. An error of Prepare, a panic
// and a broken pipe are returned; the parent has been told of the first two.
func ServeBolt(ctx context.Context, b Bolt, p Pipes) error {
	return serve(ctx, p, func(c *child) error { return c.bolt(b) })
}

// ServeSpout is ServeBolt for a spout.
func ServeSpout(ctx context.Context, s Spout, p Pipes) error {
	return serve(ctx, p, func(c *child) error { return c.spout(s) })
}

// ServeAny speaks for whichever component the parent asks for.
func ServeAny(ctx context.Context, r Registry, p Pipes) error {
	return serve(ctx, p, func(c *child) error {
		if s := r.NewSpout(c.context.Component); s != nil {
			return c.spout(s)
		}
		if b := r.NewBolt(c.context.Component); b != nil {
			return c.bolt(b)
		}
		return fmt.Errorf("this program has no component %q", c.context.Component)
	})
}

// child is one component at the parent's pipes.
type child struct {
	context Context
	streams []*Stream
	sources map[place]*tuple.Source
	fields  map[string]any // component -> stream -> fields

	done     <-chan struct{}
	greeting chan map[string]any // the handshake; closed like incoming
	incoming chan incoming       // closed by the reading goroutine, after it has set broken
	broken   error               // what ended it
	waiting  []incoming          // messages that came while task ids were waited for
	out      *writer
	anchors  []any // of the emit being written
}

// place names a source.
type place struct {
	component, stream string
	task              int32
}

// serve runs a component between handshake and end.
func serve(ctx context.Context, p Pipes, run func(*child) error) error {
	ctx, cancel := context.WithCancel(ctx)
	c := &child{
		sources: map[place]*tuple.Source{}, done: ctx.Done(), greeting: make(chan map[string]any), incoming: make(chan incoming, 128),
		out: newWriter(p.Out),
	}
	var all sync.WaitGroup
	all.Go(func() { c.read(p.In) })
	all.Go(func() { c.out.run(ctx.Done()) })
	err := c.whole(run)
	cancel()
	closing := p.In.Close()
	all.Wait()
	if errors.Is(closing, os.ErrClosed) {
		closing = nil
	}
	return errors.Join(err, closing)
}

// read hands messages to the component's goroutine.
func (c *child) read(in io.Reader) {
	defer close(c.incoming)
	defer close(c.greeting)
	var r reader
	first, err := r.first(in)
	if err != nil {
		c.broken = err
		return
	}
	c.out.format = r.format
	select {
	case c.greeting <- first:
	case <-c.done:
		c.broken = io.EOF
		return
	}
	for {
		m, err := r.message()
		if err != nil {
			c.broken = err
			return
		}
		select {
		case c.incoming <- m:
		case <-c.done:
			c.broken = io.EOF
			return
		}
	}
}

// next is the parent's next message; io.EOF is the end, asked for or met. What was sent is on its way before it waits.
func (c *child) next() (incoming, error) {
	if len(c.waiting) > 0 {
		m := c.waiting[0]
		c.waiting = slices.Delete(c.waiting, 0, 1)
		return m, nil
	}
	return c.fresh()
}

// fresh is next without the messages that have been put off.
func (c *child) fresh() (incoming, error) {
	select {
	case m, ok := <-c.incoming:
		return c.received(m, ok)
	default:
	}
	if err := c.out.flush(); err != nil {
		return incoming{}, err
	}
	select {
	case m, ok := <-c.incoming:
		return c.received(m, ok)
	case <-c.done:
		return incoming{}, io.EOF
	}
}

func (c *child) received(m incoming, ok bool) (incoming, error) {
	if !ok {
		return m, c.broken
	}
	return m, nil
}

// whole is the life of a child: handshake, component, last words.
func (c *child) whole(run func(*child) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Panicked(p, debug.Stack())
		}
		switch {
		case errors.Is(err, io.EOF):
			err = nil
		case err != nil:
			c.Report(err)
		}
		if flushing := c.out.flush(); err == nil {
			err = flushing
		}
	}()
	select {
	case first, ok := <-c.greeting:
		if !ok {
			return c.broken
		}
		if err := c.handshake(first); err != nil {
			return fmt.Errorf("handshake: %w", err)
		}
	case <-c.done:
		return nil
	}
	return run(c)
}

// handshake takes the parent's first message and answers it.
func (c *child) handshake(first map[string]any) error {
	conf, _ := first["conf"].(map[string]any)
	about, ok := first["context"].(map[string]any)
	if !ok || conf == nil {
		return fmt.Errorf("the parent's first message has no conf or no context but %q", slices.Sorted(maps.Keys(first)))
	}
	c.context = Context{Component: text(about["componentid"]), Conf: conf, Topology: text(conf["storm.id"]), Tasks: map[int32]string{}}
	c.context.Task, _ = task(about["taskid"])
	tasks, _ := about["task->component"].(map[string]any)
	for id, component := range tasks {
		n, err := strconv.ParseInt(id, 10, 32)
		if err != nil {
			return fmt.Errorf("task->component: %w", err)
		}
		c.context.Tasks[int32(n)] = text(component)
	}
	c.fields, _ = about["source->stream->fields"].(map[string]any)
	c.streams = streams(about)
	var err error
	if c.context.Dir, err = os.Getwd(); err != nil {
		return err
	}
	pid := os.Getpid()
	if dir := text(first["pidDir"]); dir != "" {
		// Storm finds children to kill by the names of these files.
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(pid)), nil, 0o644); err != nil { //nolint:gosec // others read it
			return err
		}
	}
	c.out.begin("")
	c.out.value("pid", pid)
	return c.out.end()
}

// streams are the component's streams, by name. A parent too old to tell leaves the default stream with any fields.
func streams(about map[string]any) []*Stream {
	declared, ok := about["stream->outputfields"].(map[string]any)
	if !ok {
		return []*Stream{{Name: tuple.DefaultStream}}
	}
	out := make([]*Stream, 0, len(declared))
	for i, name := range slices.Sorted(maps.Keys(declared)) {
		out = append(out, &Stream{Name: name, Fields: texts(declared[name]), Index: i})
	}
	return out
}

// text is a string of a message, "" for what is none.
func text(v any) string {
	s, _ := v.(string)
	return s
}

func texts(v any) []string {
	list, _ := v.([]any)
	out := make([]string, len(list))
	for i := range list {
		out[i] = text(list[i])
	}
	return out
}

// task is a task id of a message.
func task(v any) (int32, bool) {
	n, ok := v.(int64)
	return int32(n), ok && n == int64(int32(n))
}
