// SPDX-License-Identifier: Apache-2.0

package executor

// This file holds the engine: its executors from start to end.

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/gust-stream/gust/multilang"
	"github.com/gust-stream/gust/multilang/component"
	"github.com/gust-stream/gust/tuple"
	"github.com/gust-stream/gust/worker/grouping"
	"github.com/gust-stream/gust/worker/transfer"
)

// Engine runs the executors of one worker. Its methods may be called by any goroutine and do not block, but for Run.
type Engine struct {
	config  Config
	started time.Time
	timeout time.Duration // of messages, 0 if they have none

	ackers     []int32 // tasks, none: nothing is tracked
	tickSource *tuple.Source
	pool       *transfer.Pool
	runners    []runner
	byTask     []*core   // nil where a task is not here
	deliveries sync.Pool // of *transfer.Router

	vigils   *multilang.Vigils // of all children
	killWait time.Duration     // how long children take to end at most, 0 if there are none

	places atomic.Pointer[grouping.Places]
	load   atomic.Pointer[snapshot]
	active atomic.Bool
	// credentials are the latest, nil if there never were any.
	credentials atomic.Pointer[map[string]string]
	state       atomic.Int32
}

// runner is an executor of any kind.
type runner interface {
	base() *core
	// live is one life of the executor's components; nil means that the worker ends.
	live(ctx context.Context) error
	// end puts away what is left of a life.
	end()
	// waiting is how many tuples wait for something that is not in an inbox. The executor's goroutine asks.
	waiting() int
}

// The phases of an engine.
const (
	running  int32 = iota
	draining       // spouts emit no more
	closing        // everything ends
)

func (e *Engine) phase() int32 { return e.state.Load() }

func (e *Engine) enter(phase int32) {
	e.state.Store(phase)
	e.Wake()
}

// Wake has every executor look again at what it waits for.
func (e *Engine) Wake() {
	for _, r := range e.runners {
		transfer.Wake(r.base().wake)
	}
}

// SetActive says whether spouts shall emit. They are opened at the first true.
func (e *Engine) SetActive(active bool) {
	if e.active.Swap(active) != active {
		e.Wake()
	}
}

// SetCredentials has components told of other credentials, which nobody changes from then on.
func (e *Engine) SetCredentials(credentials map[string]string) {
	e.credentials.Store(&credentials)
	e.Wake()
}

// Run runs all executors until ctx ends. Then spouts stop emitting, what is under way gets a while to arrive, and all components are closed. The
// error names executors that did not end in time.
func (e *Engine) Run(ctx context.Context) error {
	ended := make(chan *core, len(e.runners))
	components, cancel := context.WithCancel(context.WithoutCancel(ctx)) // they end in order, not with ctx
	defer cancel()
	for _, r := range e.runners {
		go func() {
			e.supervise(components, r)
			ended <- r.base()
		}()
	}
	<-ctx.Done()
	e.enter(draining)
	e.drain()
	e.enter(closing)
	left := map[*core]bool{}
	for _, r := range e.runners {
		left[r.base()] = true
	}
	limit := time.NewTimer(e.config.Drain + e.grace())
	defer limit.Stop()
	for len(left) > 0 {
		select {
		case c := <-ended:
			delete(left, c)
		case <-limit.C:
			var names []string
			for c := range left {
				names = append(names, c.String())
			}
			return fmt.Errorf("still running after %v: %s", e.config.Drain, strings.Join(names, ", "))
		}
	}
	return nil
}

// grace is how long ends may take beyond what a component gets.
func (e *Engine) grace() time.Duration { return e.killWait + time.Second }

func (c *core) String() string {
	return fmt.Sprintf("%s [%d %d]", c.component, c.first, c.last())
}

// drain waits until nothing is under way any more, or for too long.
func (e *Engine) drain() {
	const look = 2 * time.Millisecond
	limit := time.NewTimer(e.config.Drain)
	defer limit.Stop()
	again := time.NewTicker(look)
	defer again.Stop()
	for quiet := 0; quiet < 2; { // twice, since something may be on its way from one that was asked later
		quiet++
		for _, r := range e.runners {
			if c := r.base(); c.inbox.Size() > 0 || c.underway.Load() > 0 {
				quiet = 0
			}
		}
		select {
		case <-again.C:
		case <-limit.C:
			return
		}
	}
}

// Deliver takes tuples from other workers. The slice is only lent. What is for no task of this worker is dropped, as Storm does.
func (e *Engine) Deliver(batch []tuple.Message) {
	router := e.borrowRouter()
	for _, m := range batch {
		if m.Task < 1 || int(m.Task) >= len(e.byTask) || e.byTask[m.Task] == nil {
			continue
		}
		if c := e.byTask[m.Task]; !c.takesTrees {
			router.Send(m.Task, m.Tuple)
		} else if tree, ok := fromTuple(m.Tuple); ok {
			router.Tell(m.Task, tree)
		}
	}
	router.Flush()
	e.deliveries.Put(router)
}

// supervise gives an executor one life after the other, until the worker ends.
func (e *Engine) supervise(ctx context.Context, r runner) {
	c := r.base()
	for {
		began := time.Now()
		err := guard(func() error { return r.live(ctx) })
		r.end()
		c.router.Flush()
		c.show()
		if err == nil || e.phase() == closing {
			return
		}
		c.tasks[0].Report(err)
		c.show()
		wait := c.backoff.Next(time.Since(began))
		e.config.Log.Warn("executor restarts", zap.String("component_id", c.component), zap.Int32("task_id", c.first),
			zap.Duration("wait", wait), zap.Error(err))
		if !c.pause(wait) {
			return
		}
	}
}

// guard makes an error of a panic.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = component.Panicked(p, debug.Stack())
		}
	}()
	return f()
}

// pause waits; false says that the worker ends.
func (c *core) pause(wait time.Duration) bool {
	alarm := time.NewTimer(wait)
	defer alarm.Stop()
	for {
		select {
		case <-alarm.C:
			return c.engine.phase() != closing
		case <-c.wake:
			if c.engine.phase() == closing {
				return false
			}
		}
	}
}
