// SPDX-License-Identifier: Apache-2.0

// Package run starts the parts of a process one after the other and stops them in the opposite order.
//
// A part is a function that works until its context ends. When the process is told to stop, or when any part ends by
// itself, every part is told to stop, the last one started first, and each is waited for before the next is told: what a
// part stands on is there until it has ended. cmd/gust uses it wherever several daemons share a process.
package run

import (
	"context"
	"errors"
	"fmt"
)

// Stack holds the parts that run. It is not safe for use by several goroutines.
type Stack struct {
	ctx   context.Context //nolint:containedctx // the base from which each part's own context is made
	parts []*part
	ended chan *part
}

type part struct {
	name string
	stop context.CancelFunc
	done chan struct{}
	err  error
}

// New makes an empty stack. The parts get the values of ctx but not its end: Wait and Stop decide when they end.
func New(ctx context.Context) *Stack {
	return &Stack{ctx: context.WithoutCancel(ctx), ended: make(chan *part, 16)}
}

// Start runs a part.
func (s *Stack) Start(name string, work func(context.Context) error) {
	ctx, stop := context.WithCancel(s.ctx)
	p := &part{name: name, stop: stop, done: make(chan struct{})}
	s.parts = append(s.parts, p)
	go func() {
		p.err = work(ctx)
		close(p.done)
		select {
		case s.ended <- p:
		default: // somebody else has ended before, which is enough to end the wait
		}
	}()
}

// Wait returns when ctx ends or a part has ended by itself; all parts have ended then. The error tells of parts that
// failed, or that ended although nobody had asked them to.
func (s *Stack) Wait(ctx context.Context) error {
	var early error
	select {
	case <-ctx.Done():
	case p := <-s.ended:
		early = fmt.Errorf("%s ended", p.name)
		if p.err != nil {
			early = nil // Stop tells of its error
		}
	}
	return errors.Join(early, s.Stop())
}

// Stop ends all parts, the last one started first. A part that ends because it was told to has not failed.
func (s *Stack) Stop() error {
	var errs []error
	for i := len(s.parts) - 1; i >= 0; i-- {
		p := s.parts[i]
		p.stop()
		<-p.done
		if p.err != nil && !errors.Is(p.err, context.Canceled) {
			errs = append(errs, fmt.Errorf("%s: %w", p.name, p.err))
		}
	}
	s.parts = nil
	return errors.Join(errs...)
}
