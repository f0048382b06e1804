// SPDX-License-Identifier: Apache-2.0

package executor

// This file runs spouts that are linked into the binary, and what all spouts share: the tuples that wait for their trees.

import (
	"fmt"
	"time"

	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/acker"
)

// spout is an executor of spouts.
type spout struct {
	*core

	max     int // pending tuples, 0 for any number
	pending *acker.Rotating[pending]
	instant []pending // acked without an acker, not yet told
	old     []pending // scratch: timed out

	on        bool // opened and told to be active
	skips     skips
	idleSince int64
	instances []instance
	made      component.Spout // made already, nil once it is in use
}

// pending is a tuple that waits for its tree.
type pending struct {
	id      any
	task    *task
	out     *out
	started int64 // 0 if its latency is not measured
}

// instance is a linked spout with what it can do.
type instance struct {
	task   *task
	spout  component.Spout
	output *component.SpoutOutput
	acks   component.Acker // nil if it does not want to know
}

// timeoutParts is into how many parts the message timeout is cut: a tuple times out at most one of them late. Storm's may take twice the timeout.
const timeoutParts = 4

func (s *spout) forget() {
	s.pending = acker.NewRotating[pending](timeoutParts + 1)
	s.instant = nil
	s.old = nil // what a panic left of a round of time-outs is the last instance's
}

// track sends a tuple that the spout wants to hear of.
func (s *spout) track(t *task, o *out, to []int32, id any, values []any, sampled bool) {
	wait := pending{id: id, task: t, out: o}
	if sampled {
		wait.started = s.now()
	}
	if len(s.engine.ackers) == 0 || len(to) == 0 {
		for _, task := range to {
			s.router.Send(task, s.tuple(o.source, values))
		}
		s.instant = append(s.instant, wait) // told when the spout is back from its call
		return
	}
	root := s.ids.next()
	p, fresh := s.pending.Put(root)
	for !fresh {
		root = s.ids.next()
		p, fresh = s.pending.Put(root)
	}
	*p = wait
	edges := int64(0)
	for _, task := range to {
		sent := s.tuple(o.source, values)
		sent.Anchor = tuple.Anchor{Root: root, Edge: s.ids.next()}
		edges ^= sent.Anchor.Edge
		s.router.Send(task, sent)
	}
	s.tell(t, acker.Message{Root: root, Value: edges, Task: t.id, Kind: acker.Init})
}

// answers works through what ackers said.
func (s *spout) answers() {
	for s.more() {
		b := s.in.taken[s.in.batch]
		for s.in.at < len(b.Trees) {
			m := b.Trees[s.in.at]
			s.in.at++
			if m.Kind == acker.Reset {
				s.pending.Touch(m.Root)
			} else if p, ok := s.pending.Remove(m.Root); ok {
				s.settle(&p, m.Kind == acker.Ack)
			}
		}
		s.finish()
	}
	s.instants()
}

// instants tells of tuples that were acked without an acker.
func (s *spout) instants() {
	for len(s.instant) > 0 {
		p := s.instant[0]
		s.instant = s.instant[1:]
		s.settle(&p, true)
	}
}

// settle tells a spout how a tuple fared.
func (s *spout) settle(p *pending, acked bool) {
	t := p.task
	if acked {
		t.counts.Acked++
		if p.started != 0 {
			p.out.stats.Acked(s.since(p.started))
		}
	} else {
		t.counts.Failed++
		if p.started != 0 {
			p.out.stats.Failed()
		}
	}
	switch {
	case t.child != nil:
		t.child.settle(p.id, acked)
	case s.instances[t.id-s.first].acks == nil:
	case acked:
		s.instances[t.id-s.first].acks.Ack(p.id)
	default:
		s.instances[t.id-s.first].acks.Fail(p.id)
	}
}

// expire fails what waits for too long. It is a timer's.
func (s *spout) expire(int64) {
	s.pending.Rotate(func(_ int64, p pending) { s.old = append(s.old, p) })
	for len(s.old) > 0 {
		p := s.old[len(s.old)-1]
		s.old = s.old[:len(s.old)-1]
		s.settle(&p, false)
	}
	s.old = nil
}

// may says whether the spouts may be asked for tuples.
func (s *spout) may() bool {
	return s.on && !s.router.Full() && (s.max == 0 || s.pending.Len() < s.max)
}

func (s *spout) emitted() int64 {
	n := int64(0)
	for _, t := range s.tasks {
		n += t.counts.Emitted
	}
	return n
}

// begin makes what one life of the component needs.
func (s *spout) begin() {
	s.forget()
	s.on, s.idleSince = false, 0
	s.setTimers()
	if timeout := s.engine.timeout; timeout > 0 {
		s.timers.add(s.now(), int64(timeout)/timeoutParts, s.expire)
	}
}

// runLinked is one life of linked spouts, until the worker ends.
func (s *spout) runLinked() error {
	s.begin()
	s.instances = nil
	for _, t := range s.tasks {
		made := s.made
		if s.made = nil; made == nil {
			made = s.engine.config.Registry.NewSpout(s.component)
		}
		if made == nil {
			return fmt.Errorf("spout %s is not linked into this program", s.component)
		}
		acks, _ := made.(component.Acker) // nil if it does not care
		s.instances = append(s.instances, instance{t, made, component.NewSpoutOutput(t, t.streams), acks})
	}
	opened := false
	for {
		s.answers()
		phase, active := s.engine.phase(), s.engine.active.Load()
		if phase == closing {
			return nil
		}
		if active && phase == running && !opened {
			if err := s.open(); err != nil {
				return err
			}
			opened = true
		}
		if want := active && opened && phase == running; want != s.on {
			s.activate(want)
		}
		if !s.may() {
			s.stand()
			continue
		}
		if s.nexts() {
			s.idleSince = 0
		} else {
			s.rest()
		}
	}
}

func (s *spout) open() error {
	s.credentials = s.engine.credentials.Load()
	for i := range s.instances {
		in := &s.instances[i]
		s.introduce(in.spout)
		if o, ok := in.spout.(component.Opener); ok {
			if err := o.Open(in.task.context(), in.output); err != nil {
				return fmt.Errorf("open: %w", err)
			}
		}
		in.task.linked = in.spout
	}
	return nil
}

func (s *spout) activate(on bool) {
	s.on = on
	for i := range s.instances {
		a, ok := s.instances[i].spout.(component.Activator)
		switch {
		case !ok:
		case on:
			a.Activate()
		default:
			a.Deactivate()
		}
	}
}

// nexts asks the spouts for tuples while they have some and no answer waits; false says that they have none.
func (s *spout) nexts() bool {
	first := s.emitted()
	before := first
	for s.may() && s.inbox.Size() == 0 {
		for i := range s.instances {
			in := &s.instances[i]
			if err := in.spout.Next(in.output); err != nil {
				in.task.Report(err)
			}
		}
		if len(s.instant) > 0 {
			s.instants()
		}
		if now, look, flush := s.step(); look {
			if flush {
				s.router.Flush()
			}
			s.attend(now)
			s.show()
			if !s.engine.active.Load() || s.engine.phase() != running {
				return true
			}
		}
		after := s.emitted()
		if after == before {
			if after != first {
				s.idleSince = 0 // it had some until now
			}
			return false
		}
		before = after
	}
	return true
}

// stand waits while the spouts may not be asked.
func (s *spout) stand() {
	s.router.Flush()
	s.show()
	began, why := s.now(), s.skipping()
	defer func() { s.skipped(why, s.now()-began) }()
	if s.router.Full() && s.router.Room(s.wake) {
		return
	}
	if !s.may() {
		s.sleep(never, true)
	}
	s.awake()
}

// A spout that has nothing is asked again after a 32nd of the time that it had nothing, but not sooner than shortRest and not later than longRest:
// so it is late by little, and an idle worker costs next to nothing. A wake-up costs Go some 100 µs, whatever is done in it, so all spouts of a
// worker wake at the same moments: rests are powers of two of shortRest, and end at multiples of themselves.
const (
	shortRest = int64(time.Millisecond)
	longRest  = 32 * shortRest
)

// nextAsk is when to ask a spout again that has had nothing since then.
func nextAsk(since, now int64) int64 {
	rest := shortRest
	for rest < longRest && 64*rest <= now-since {
		rest *= 2
	}
	return (now/rest + 1) * rest
}

// rest waits because the spouts have nothing.
func (s *spout) rest() {
	s.router.Flush()
	s.show()
	now := s.now()
	if s.idleSince == 0 {
		s.idleSince = now
	}
	s.sleep(nextAsk(s.idleSince, now), true)
	s.awake()
}

// awake is called after each wait.
func (c *core) awake() {
	now := c.now()
	c.resume(now)
	c.attend(now)
}
