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
	"slices"
)

// Stack holds the parts that run. It is not safe for use by several goroutines.
type Stack struct {
	ctx   context.Context //nolint:containedctx // the base from which each part's own context is made
	parts []*part
	early context.Context //nolint:containedctx // ends when the first part ends
	end   context.CancelCauseFunc
}

type part struct {
	name string
	stop context.CancelFunc
	done chan struct{}
	err  error
}

// New makes an empty stack. The parts get the values of ctx but not its end: Wait and Stop decide when they end.
func New(ctx context.Context) *Stack {
	base := context.WithoutCancel(ctx)
	early, end := context.WithCancelCause(base)
	return &Stack{ctx: base, early: early, end: end}
}

// Start runs a part.
func (s *Stack) Start(name string, work func(context.Context) error) {
	ctx, stop := context.WithCancel(s.ctx)
	p := &part{name: name, stop: stop, done: make(chan struct{})}
	s.parts = append(s.parts, p)
	go func() {
		p.err = work(ctx)
		close(p.done)
		if p.err != nil {
			s.end(fmt.Errorf("%s: %w", p.name, p.err))
		} else {
			s.end(fmt.Errorf("%s ended", p.name))
		}
	}()
}

// Guard returns a context that also ends when a part ends by itself: for the time in which more parts are being started.
// Its cause tells which part that was and why.
func (s *Stack) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	guarded, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.early, func() { cancel(context.Cause(s.early)) })
	return guarded, func() {
		stop()
		cancel(context.Canceled)
	}
}

// Wait returns when ctx ends or a part has ended by itself; all parts have ended then. The error tells which part ended
// although nobody had asked it to, and which failed while they stopped.
func (s *Stack) Wait(ctx context.Context) error {
	var early error
	select {
	case <-ctx.Done():
	case <-s.early.Done():
		early = context.Cause(s.early)
	}
	return errors.Join(early, s.Stop())
}

// Stop ends all parts, the last one started first. A part that ends because it was told to has not failed, and the one that
// ended first by itself is Guard's or Wait's to tell of.
func (s *Stack) Stop() error {
	var errs []error
	for _, p := range slices.Backward(s.parts) {
		p.stop()
		<-p.done
		if p.err != nil && !errors.Is(p.err, context.Canceled) && !errors.Is(context.Cause(s.early), p.err) {
			errs = append(errs, fmt.Errorf("%s: %w", p.name, p.err))
		}
	}
	s.parts = nil
	s.end(nil)
	return errors.Join(errs...)
}
