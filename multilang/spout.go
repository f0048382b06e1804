// SPDX-License-Identifier: Apache-2.0

package multilang

// This file drives a spout that is a child process.

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/multilang/codec"
	"github.com/gust-stream/gust/multilang/component"
)

// Spout is one task of a spout that runs in a child. Run has a goroutine of its own; all other methods are for the executor's, and
// none of them waits. The child is told one thing at a time: what comes before it has answered waits its turn.
type Spout struct {
	executorSide
	queue   []command
	busy    bool // the child has not answered the last command
	emitted int
	ids     []byte // lists of task ids on their way out
	text    []byte // scratch
}

type command struct {
	name string
	id   any
}

// NewSpout makes the driver of a spout's task; nothing is opened or started. streams are sorted by name. Batches of several drivers
// may share a channel. log names the component and the task.
func NewSpout(cfg Config, streams []*component.Stream, runner component.Runner, events chan<- *Batch, log *zap.Logger) *Spout {
	s := &Spout{}
	s.runner = runner
	s.child = newChild(cfg, s, newDecoder(cfg.Settings.Format, streams, false), events, log)
	return s
}

// Run starts the child and owns all that goes on around it until ctx ends (nil) or the child does (a *ChildError).
func (s *Spout) Run(ctx context.Context) error { return s.child.run(ctx) }

func (s *Spout) core() *executorSide { return &s.executorSide }

// Ready says whether Next would be sent at once: the child is up and has answered everything. It changes with batches only.
func (s *Spout) Ready() bool { return s.up && !s.broken && !s.busy && len(s.queue) == 0 }

// Emitted is how many tuples the child emitted since it was last asked for the next one.
func (s *Spout) Emitted() int { return s.emitted }

// Next asks for tuples, if Ready.
func (s *Spout) Next() {
	if s.Ready() {
		s.emitted = 0
		s.give(command{"next", ""})
	}
}

// Ack tells that a tuple was processed, by the name that the child gave it.
func (s *Spout) Ack(id any) { s.give(command{"ack", id}) }

// Fail tells that a tuple was not processed.
func (s *Spout) Fail(id any) { s.give(command{"fail", id}) }

// Activate tells that the topology was activated.
func (s *Spout) Activate() { s.give(command{"activate", ""}) }

// Deactivate tells that it was deactivated.
func (s *Spout) Deactivate() { s.give(command{"deactivate", ""}) }

// give queues a command.
func (s *Spout) give(c command) {
	s.queue = append(s.queue, c)
	s.proceed()
}

// proceed sends the next command, if the child has answered the last one.
func (s *Spout) proceed() {
	if !s.up || s.broken || s.busy || len(s.queue) == 0 {
		return
	}
	c := s.queue[0]
	s.queue[0] = command{}
	if s.queue = s.queue[1:]; len(s.queue) == 0 {
		s.queue = s.queue[:0:0]
	}
	text, err := appendCommand(s.text[:0], s.child.out.format, c)
	if err != nil { // an id comes from the child, so that it can be written
		s.broken = true
		s.child.fault(fmt.Errorf("write the id of a tuple: %w", err))
		return
	}
	s.busy = true
	s.child.life.sign(s.child.now())
	s.child.life.waiting.Store(true)
	s.text = s.child.out.put(chunk{text: text})
}

func appendCommand(dst []byte, f codec.Format, c command) ([]byte, error) {
	if f == codec.Msgpack {
		dst = append(dst, 0x82)
		dst, _ = codec.AppendString(dst, f, "command")
		dst, _ = codec.AppendString(dst, f, c.name)
		dst, _ = codec.AppendString(dst, f, "id")
		return codec.Append(dst, f, c.id)
	}
	dst = append(dst, `{"command":"`...)
	dst = append(dst, c.name...)
	dst = append(dst, `","id":`...)
	dst, err := codec.Append(dst, f, c.id)
	return append(dst, "}\nend\n"...), err
}

func (s *Spout) start() { s.proceed() }

func (s *Spout) apply(m *message) error {
	switch m.kind {
	case kindSync:
		s.busy = false
		return nil
	case kindEmit:
		return s.emit(m)
	case kindAck, kindFail:
		return fmt.Errorf("%w: a spout sent a bolt's command", ErrProtocol)
	case kindUnknown:
		return fmt.Errorf("%w: unknown command %q", ErrProtocol, m.text)
	case kindLog:
		s.unsaid(m)
	default:
	}
	return s.say(m)
}

func (s *Spout) emit(m *message) error {
	s.emitted++
	if m.badText != nil {
		s.lose(m.id, fmt.Errorf("the child emitted %w", m.badText))
		if m.want && !m.direct {
			s.ids = appendTaskIDs(s.ids, s.child.out.format, nil)
		}
		return nil
	}
	tasks, err := s.executorSide.emit(m, nil, nil, m.id)
	if err == nil && m.want && !m.direct {
		s.ids = appendTaskIDs(s.ids, s.child.out.format, tasks)
	}
	return err
}

// lose reports a tuple that could not be emitted, and fails it to the child.
func (s *Spout) lose(id any, why error) {
	s.runner.Report(fmt.Errorf("component %s, task %d: %w", s.child.cfg.Component, s.child.cfg.Task, why))
	if id != nil {
		s.queue = append(s.queue, command{"fail", id})
	}
}

// unsaid looks for pystorm's word that it could not write an emit, see Bolt.
func (s *Spout) unsaid(m *message) {
	if l, ok := lostEmit(m); ok {
		s.lose(l.id, errors.New("an emit was lost, since pystorm could not write it: "+l.reason))
		if l.want {
			s.ids = appendTaskIDs(s.ids, s.child.out.format, nil)
		}
	}
}

// applied sends task ids before the next command: the child reads them while it carries out the one that it has.
func (s *Spout) applied() {
	if len(s.ids) > 0 {
		if err := s.child.out.putIDs(s.ids, s.child.cfg.Settings.MaxTaskIDs); err != nil && !s.broken {
			s.broken = true
			s.child.fault(err)
		}
		s.ids = s.ids[:0]
	}
	s.proceed()
}
